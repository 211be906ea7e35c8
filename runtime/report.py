"""Writes the report of a run: run/report.md, with the curve of the training in run/curve.png.

evaluate.py and export.py call it at their end. It states how good the result is and how certain
that is, which files there are, and how they were made. Everything is read from what the stages
wrote, and from spec.json, plan.json, ftc.lock.json and the constants of train.py.
"""

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import events, metrics, overlap, regression, stages, versions
from . import markdown_page as page
from .files import write_lines
from .run import Run

SHOWN_LABELS = 15  # the worst; all are in run/evaluate/labels.jsonl
SHOWN_ANSWERS = 4  # of each kind; all are in run/evaluate/predictions.jsonl
SHOWN_LETTERS = 100  # of a setting
PER_ROW = {
    "classification",
    "reward",
    "dpo",
    "kto",
    "orpo",
    "cpo",
    "simpo",
    "embed",
    "rerank",
}  # objectives with a loss per row
GRADED = {"rouge_l", "chrf"}  # metrics by which an answer is neither right nor wrong
SHARES = {"accuracy", "exact_match", "numeric_match"}
SETTINGS = (
    *("LEARNING_RATE", "SCHEDULE", "WARMUP_STEPS", "EPOCHS", "MAX_STEPS", "WEIGHT_DECAY"),
    *("LORA_RANK", "LORA_ALPHA", "LORA_TARGETS", "TEACHER", "BETA", "SEED"),
)

INTERVALS = (
    "Intervals of shares are Wilson's, all others bootstrapped over the rows; those of a change are"
    " paired. A verdict needs an interval of the change without zero, and at least"
    f" {metrics.LEAST_ROWS} rows that differ."
)

Lines = list[str]
Numbers = Mapping[str, Any]


def write_report(run: Run) -> None:
    """Write the report of the stages so far.

    The stages of plan.json up to the one of `run` must be up to date, or this ends the stage. Of
    the later ones, those that are up to date are shown. The report is printed if the last stage is
    among them.
    """
    results = _read_results(run)
    lines = ["# Report", ""]
    if "evaluate" in results.records:
        lines += _describe_test(results)
    if "train" in results.records:
        lines += _describe_validation(results.read("train/curve.json"))
    lines += _describe_files(results)
    if "evaluate" in results.records:
        lines += _list_samples(results)
    lines += _list_times(results)
    lines += _list_settings(results)
    lines += _list_versions(results)
    lines += _list_batch_changes(results)
    if "train" in results.records:
        lines += _draw_curve(results)
    write_lines(run.folder / "report.md", ["\n".join(lines).encode()])
    run.say("\n".join(lines) if results.is_complete else "the report is in run/report.md")


# -----------------------------------------------------------------------------
# What the stages wrote


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The records of the stages that are shown, in their order, and what the bundle says."""

    run: Run
    records: Mapping[str, stages.Record]
    spec: Numbers
    decided: Numbers  # the values of the plan's decisions
    version: str  # of ftc
    is_complete: bool  # the last stage of the plan is among the records

    def read(self, name: str) -> Any:
        """Return a JSON file of the run folder; ends the stage if it is missing or was changed."""
        path = self.run.folder / name
        if not path.is_file():
            self.run.stop(f"run/{name} is missing: run the stages before this one (see run.sh)")
        self.run.check_outputs(path)
        return json.loads(path.read_text(encoding="utf-8"))

    def read_rows(self, name: str) -> list[Any]:
        """Return the rows of a file that evaluate.py wrote, or none if it did not."""
        path = self.run.folder / "evaluate" / name
        if f"run/evaluate/{name}" not in self.records["evaluate"].read["outputs"]:
            return []
        self.run.check_outputs(path)
        return self.run.read_rows(path)


def _read_results(run: Run) -> Results:
    plan, spec, lock = (
        json.loads((run.bundle / name).read_text(encoding="utf-8"))
        for name in ("plan.json", "spec.json", "ftc.lock.json")
    )
    names = [name for name in plan["stages"] if name != "report"]
    first = names[: names.index(run.stage) + 1] if run.stage in names else names
    records: dict[str, stages.Record] = {}
    for name in names:
        record = stages.read_record(run.bundle, name)
        if record is None:
            continue
        if name in first:
            run.check_current(name)
            run.check_outputs(*(run.bundle / output for output in record.read["outputs"]))
        elif not _is_current(record, records.get("train")):
            continue
        records[name] = record
    decided = {name: entry["value"] for name, entry in lock["decisions"].items()}
    return Results(
        run=run,
        records=records,
        spec=spec,
        decided=decided,
        version=lock["ftc"],
        is_complete=names[-1] in records,
    )


def _is_current(record: stages.Record, train: stages.Record | None) -> bool:
    is_older = train and not set(train.read["trainings"]) <= set(record.read["trainings"])
    changed = stages.find_changed_source(record) or stages.find_changed_input(record)
    changed = changed or stages.find_changed_output(record, record.bundle, bundle=record.bundle)
    return not is_older and not changed


def _read_constants(script: Path) -> dict[str, Any]:
    """Return the constants of a script as they are now: a user may have changed them."""
    found = {}
    for node in ast.parse(script.read_bytes()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue  # computed, so not a setting
    return found


# -----------------------------------------------------------------------------
# How good it is


def _describe_test(results: Results) -> Lines:
    judged = results.read("evaluate/report.json")
    lines = [page.escape(judged["verdict"]), "", "## On the test split", ""]
    lines += page.comparison(judged, metrics.TITLES)
    lines += _describe_chance(judged)
    if "perplexity" in judged:
        said = f"The loss is a mean over the {judged['tokens']:,} learned tokens of the split"
        lines += [f"{said}: a perplexity of {judged['perplexity']:,.2f}.", ""]
    lines += [INTERVALS, ""]
    if "sources" in judged:
        lines += ["## Loss per source", "", *page.by_source(judged["sources"])]
    if "run/evaluate/regression.json" in results.records["evaluate"].read["outputs"]:
        lines += _describe_kept(results.read("evaluate/regression.json")["checks"])
    if labels := results.read_rows("labels.jsonl"):
        lines += ["## Labels, the worst first", ""]
        lines += page.by_label(labels, SHOWN_LABELS, "run/evaluate/labels.jsonl")
    return lines


def _describe_kept(checks: Sequence[Numbers]) -> Lines:
    """Return what the model lost of what it was not trained for, and what it had been taught."""
    titles = ["file", "measure", "questions", "before training", "trained"]
    titles += ["lost", "95 % interval", "at most", "verdict"]
    cells = [list(map(page.escape, regression.cells(check))) for check in checks]
    lines = ["## What it was not trained for", "", *page.table(titles, cells)]
    explained = (
        "A check fails if even the smaller end of the interval is above what may be lost. Of a text"
        " the questions are stretches of it, and the loss is the rise of the perplexity."
    )
    found = [f"{page.escape(c['file'])}: {overlap.describe(c['overlap'])}." for c in checks]
    rule = (
        f"A question is in a training row if they share {overlap.WORDS} words in a row, or all of a"
        f" shorter question of at least {overlap.LEAST_WORDS} words."
    )
    return [*lines, explained, "", *(f"- {line}" for line in found), "", rule, ""]


def _describe_chance(judged: Numbers) -> Lines:
    """Return what an answer without understanding would reach."""
    if "majority_verdict" in judged:
        answers = next(iter(judged["judged"].values()))
        text = (
            f"The most common answer of the training split is right in"
            f" {judged['majority_class']:.1%} of these rows, a random label in"
            f" {judged['chance']:.1%}. Against the most common answer, the accuracy of the trained"
            f" model is {judged['majority_verdict']}. Of {answers:,} answers"
            f" {judged['other_answers']:,} are no label."
        )
    elif "labels" in judged:
        text = f"A random label would be right in {judged['chance']:.1%} of these rows."
    elif "bm25_verdict" in judged:
        name = next(iter(judged["judged"]))
        text = (
            f"BM25, which compares words, has {metrics.title(name)}"
            f" {judged[f'bm25_{name}']:.4f} on the same rows. Against it, the trained model is"
            f" {judged['bm25_verdict']}."
        )
    elif "chance_verdict" in judged:
        text = (
            "A reward is how much more likely training made an answer, so the model before training"
            f" has none. By chance the better answer is rewarded more in {judged['chance']:.0%} of"
            f" pairs: the trained model is {judged['chance_verdict']}."
        )
    elif "chance" in judged:
        text = f"By chance the better answer is rewarded more in {judged['chance']:.0%} of pairs."
    else:
        return []
    return [text, ""]


def _describe_validation(curve: Numbers) -> Lines:
    if "before" not in curve:
        return []
    higher = "higher is better" if curve["higher"] else "lower is better"
    gained = [
        ("before training", page.number(curve["before"])),
        (f"the best checkpoint (step {curve['best_step']:,})", page.number(curve["shipped"])),
    ]
    lines = [f"## On the validation split, by which the checkpoint was chosen ({higher})", ""]
    lines += page.table(("model", page.escape(curve["metric"].replace("_", " "))), gained)
    if stopped := curve.get("stopped_early"):
        lines += [page.escape(stopped), ""]
    return lines


def _list_samples(results: Results) -> Lines:
    """Return some rows of the test split, the good ones apart from the bad ones."""
    rows = results.read_rows("predictions.jsonl")
    if not rows:
        return []
    if "chosen" in rows[0]:
        columns = {"prompt": "end of the prompt", "chosen": "chosen", "rejected": "rejected"}
        titles = "Pairs ranked incorrectly", "Pairs ranked correctly"
        lost, won = ([row for row in rows if (row["margin"] > 0) == good] for good in (False, True))
    else:
        columns = {"prompt": "text", "answer": "label", "said": "trained model"}
        if "base_said" in rows[0]:
            columns |= {"prompt": "end of the prompt", "answer": "right answer"}
            columns["base_said"] = "before training"
        titles = "Wrong answers", "Right answers"
        lost, won = ([row for row in rows if row["score"] == score] for score in (0, 1))
        if results.decided.get("metric") in GRADED:
            rows.sort(key=lambda row: row["score"])
            titles = "The worse half of the answers", "The better half of the answers"
            lost, won = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    lines = page.samples(titles[0], lost, columns, SHOWN_ANSWERS)
    lines += page.samples(titles[1], won, columns, SHOWN_ANSWERS)
    return lines + page.pictures([row for row in rows if row.get("pictures")], "evaluate/pictures")


# -----------------------------------------------------------------------------
# The files


def _describe_files(results: Results) -> Lines:
    lines, merged = [], results.run.folder / "merged"
    sizes = {path.name: path.stat().st_size for path in merged.glob("*.safetensors")}
    if "quantize" in results.records:
        files = results.read("quantize/quality.json")["files"]
        sizes = {entry["file"]: entry["bytes"] for entry in files}
        lines += ["## GGUF files against the trained model", ""]
        if all("asked_rows" in entry for entry in files):
            lines += _list_answers(files, str(results.decided["metric"]))
        lines += _choose_table(files)(files)
    cells = [(page.escape(name), f"{size / 2**20:,.1f} MiB") for name, size in sizes.items()]
    return lines + page.table(("file", "size"), sorted(cells))


def _list_answers(files: Sequence[Numbers], metric: str) -> Lines:
    """Return the table of how good the answers of each file are, with the bound of the loss."""
    name, is_share = metrics.title(metric), metric in SHARES
    cells = [
        [
            page.escape(entry["file"]),
            f"{entry['asked_rows']:,}",
            page.number(entry[f"trained_{metric}"], share=True),
            page.number(entry[metric], share=True),
            *([page.span(_find_interval(entry, metric), share=True)] if is_share else []),
            page.number(entry["metric_drop"], share=True),
            page.number(entry["bounds"].get("max_metric_drop"), share=True),
            page.number(entry["same_answers"], share=True),
        ]
        for entry in files
    ]
    titles = ["file", "rows", f"{name}, trained", f"{name}, file"]
    titles += ["95 % interval"] if is_share else []
    titles += ["lost", "at most", "same answers"]
    return ["Both answered the same rows of the test split.", "", *page.table(titles, cells)]


def _find_interval(entry: Numbers, metric: str) -> list[float]:
    return metrics.wilson(entry[metric], entry["asked_rows"])


def _choose_table(files: Sequence[Numbers]) -> Callable[[Sequence[Numbers]], Lines]:
    """Return what lists files by what was compared: vectors, scores or predicted tokens."""
    if all("cosine" in entry for entry in files):
        return _list_cosines
    return _list_scores if all("difference" in entry for entry in files) else _list_fidelity


def _list_scores(files: Sequence[Numbers]) -> Lines:
    """Return the table of how close the scores of each file are, with their bounds."""
    cells = [
        [
            page.escape(entry["file"]),
            f"{entry['pairs']:,}",
            page.number(entry["difference"]),
            page.number(entry["bounds"]["max_difference"]),
            page.number(entry["mean_difference"]),
            f"{entry['other_pairs']:,}",
        ]
        for entry in files
    ]
    titles = "file", "pairs", "largest difference", "at most", "mean", "read as other tokens"
    return page.table(titles, cells)


def _list_cosines(files: Sequence[Numbers]) -> Lines:
    """Return the table of how close the vectors of each file are, with their bounds."""
    cells = [
        [
            page.escape(entry["file"]),
            f"{entry['texts']:,}",
            page.number(entry["cosine"]),
            page.number(entry["bounds"]["min_cosine"]),
            page.number(entry["mean_cosine"]),
            f"{entry['other_texts']:,}",
        ]
        for entry in files
    ]
    titles = "file", "texts", "least cosine", "at least", "mean cosine", "read as other tokens"
    return page.table(titles, cells)


def _list_fidelity(files: Sequence[Numbers]) -> Lines:
    """Return the table of how close the predictions of each file are, with their bounds."""
    cells = []
    for entry in files:
        bounds = entry["bounds"]
        row = [page.escape(entry["file"]), f"{entry['tokens']:,}"]
        row += [page.number(entry["divergence"]), page.number(bounds["max_divergence"])]
        row += [page.number(entry["agreement"], share=True)]
        row += [page.number(bounds["min_agreement"], share=True)]
        row += [page.number(entry["trained_perplexity"]), page.number(entry["perplexity"])]
        row += [page.number(entry["perplexity_ratio"])]
        cells.append([*row, page.number(bounds["max_perplexity_ratio"])])
    titles = ["file", "tokens", "KL divergence, nats", "at most", "same next token", "at least"]
    titles += ["perplexity, trained", "perplexity, file", "ratio", "at most"]
    return page.table(titles, cells)


# -----------------------------------------------------------------------------
# How it was made


def _list_times(results: Results) -> Lines:
    seconds = {name: record.read["seconds"] for name, record in results.records.items()}
    if "train" in seconds:
        seconds["train"] += _sum_interrupted(results.run.folder / "train" / "log.jsonl")
    times = [(stage, f"{spent:,.0f} s") for stage, spent in seconds.items()]
    times += [("in all", f"{sum(seconds.values()):,.0f} s")]
    return ["## Time", "", *page.table(("stage", "wall time"), times)]


def _sum_interrupted(log: Path) -> float:
    """Return the seconds of training before the last start, whose time is in its record.

    Each start logs that it began; a start lasted until the last event that it logged.
    """
    starts: list[list[float]] = []
    for event in events.read(log):
        if event.get("event") == "began":
            starts.append([])
        if starts and "time" in event:
            starts[-1].append(event["time"])
    return sum(times[-1] - times[0] for times in starts[:-1] if times)


def _list_settings(results: Results) -> Lines:
    settings, decided = _read_constants(results.run.bundle / "train.py"), results.decided
    size = decided.get("micro_batch"), decided.get("accumulation")
    if "LADDER" in settings:
        tried = results.run.folder / "train" / "batch.json"
        size = settings["LADDER"][results.read("train/batch.json")["row"] if tried.is_file() else 0]
    shown = {
        "base model": settings.get("MODEL") or _name(results.spec.get("model"), "id"),
        "data": _name(results.spec.get("data"), "source"),
        "method": _name_method(decided),
        "precision": decided["precision"],
    }
    if size[0] and size[1]:
        rows = size[0] * size[1] * decided["world"]
        shown["rows per optimizer step"] = (
            f"{rows:,} (micro-batch {size[0]} x accumulation {size[1]} x processes"
            f" {decided['world']})"
        )
    constants = {name.lower().replace("_", " "): settings.get(name) for name in SETTINGS}
    shown |= {name: value for name, value in constants.items() if value is not None}
    cells = [
        (page.escape(name), page.escape(page.shorten(str(value), SHOWN_LETTERS)))
        for name, value in shown.items()
    ]
    return ["## Settings", "", *page.table(("setting", "value"), cells)]


def _name(section: Any, key: str) -> str:
    """Return the name in a section of the spec, whose short form is the name itself."""
    if isinstance(section, Mapping):
        parts = section.get("sources") or [section]
        return ", ".join(
            str(part.get(key) if isinstance(part, Mapping) else part) for part in parts
        )
    return str(section)


def _name_method(decided: Numbers) -> str:
    if decided.get("trained_layers"):
        return "some layers, the others frozen"
    if not decided.get("lora_rank"):
        return "full: all weights"
    if not decided.get("quantization"):
        return "LoRA"
    if decided["quantization"] == "int8":
        return "LoRA on a base in 8 bits"
    return "QLoRA: LoRA on a base in 4 bits"


def _list_versions(results: Results) -> Lines:
    curve = results.read("train/curve.json") if "train" in results.records else {}
    noted = curve.get("versions")
    title = "## Versions of the training" if noted else "## Versions at the time of this report"
    cells = [("ftc", results.version), *(noted or versions.list_versions()).items()]
    rows = [(package, page.escape(version)) for package, version in cells]
    return [title, "", *page.table(("package", "version"), rows)]


def _list_batch_changes(results: Results) -> Lines:
    if not (results.run.folder / "train" / "batch.json").is_file():
        return []
    lines = []
    for change in results.read("train/batch.json")["changes"]:
        (rows, passes), (less, more) = change["from"], change["to"]
        size = f"{change['held_bytes'] / 2**30:.2f} GiB held"
        what = f"{rows} rows x {passes} passes, since then {less} x {more}: the same batch"
        lines += [f"Out of memory after step {change['step']:,} ({size}) with {what}.", ""]
    return lines


def _draw_curve(results: Results) -> Lines:
    """Draw run/curve.png, and return the lines that show it."""
    curve = results.read("train/curve.json")
    is_loss = "reward" not in curve
    trained, validated = ("train", "validation") if is_loss else ("reward", "validation_reward")
    objective = results.spec.get("objective", "sft")
    kind = objective.get("type", "sft") if isinstance(objective, Mapping) else objective
    title = f"{'Loss' if is_loss else 'Mean reward'} during training"
    unit = "loss per row" if kind in PER_ROW else "loss per token (nats)"
    figure = page.draw_curve(
        {"training": curve[trained], "validation": curve.get(validated, ())},
        title=title,
        unit=unit if is_loss else "mean reward",
        kept=curve.get("best_step"),
        is_loss=is_loss,
    )
    figure.savefig(results.run.folder / "curve.png", dpi=120)
    return ["## Curve", "", f"![{title}](curve.png)", ""]
