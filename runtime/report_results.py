"""The part of a report about how good a model is: metrics, curve, labels and sample answers."""

from collections.abc import Mapping
from functools import partial

from . import curve as curves
from . import metrics, page
from .page import Parts
from .results import Numbers, Results

SHOWN_LABELS = 15  # the worst; all are in run/evaluate/labels.jsonl
SHOWN_ANSWERS = 4  # of each kind; all are in run/evaluate/predictions.jsonl
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

INTERVALS = (
    "Intervals of shares are Wilson's, all others bootstrapped over the rows; those of a change are"
    " paired. A verdict needs an interval of the change without zero, and at least"
    f" {metrics.LEAST_ROWS} rows that differ."
)


def describe_test(results: Results) -> Parts:
    """Return the result on the test split against the base and chance, with its uncertainty."""
    judged = results.read("evaluate/report.json")
    parts: Parts = [page.Paragraph(text=judged["verdict"], is_headline=True)]
    parts.append(page.Heading(text="On the test split"))
    parts += page.comparison(judged, metrics.TITLES)
    parts += _describe_chance(judged)
    if "perplexity" in judged:
        said = f"The loss is a mean over the {judged['tokens']:,} learned tokens of the split"
        said += f": a perplexity of {judged['perplexity']:,.2f}."
        parts.append(page.Paragraph(text=said))
    parts.append(page.Paragraph(text=INTERVALS))
    if "sources" in judged:
        parts += [page.Heading(text="Loss per source"), *page.by_source(judged["sources"])]
    if "run/evaluate/regression.json" in results.records["evaluate"].read["outputs"]:
        parts += _describe_kept(results.read("evaluate/regression.json"))
    if labels := results.read_rows("labels.jsonl"):
        parts.append(page.Heading(text="Labels, the worst first"))
        parts += page.by_label(labels, SHOWN_LABELS, "run/evaluate/labels.jsonl")
    return parts


def _describe_kept(kept: Numbers) -> Parts:
    """Return what the model lost of what it was not trained for, and what it had been taught."""
    titles = ["file", "measure", "questions", "before training", "trained"]
    titles += ["lost", "95 % interval", "at most", "verdict"]
    explained = (
        "A check fails if even the smaller end of the interval is above what may be lost. Of a text"
        " the questions are stretches of it, and the loss is the rise of the perplexity."
    )
    parts: Parts = [page.Heading(text="What it was not trained for")]
    parts += page.table(titles, kept["rows"], left=2)
    told = (explained, *kept["overlaps"], kept["rule"])
    return parts + [page.Paragraph(text=text) for text in told]


def _describe_chance(judged: Numbers) -> Parts:
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
    return [page.Paragraph(text=text)]


def describe_validation(curve: Numbers) -> Parts:
    """Return the number by which the checkpoint was chosen, before and after training."""
    if "before" not in curve:
        return []
    higher = "higher is better" if curve["higher"] else "lower is better"
    gained = [
        ("before training", page.number(curve["before"])),
        (f"the best checkpoint (step {curve['best_step']:,})", page.number(curve["shipped"])),
    ]
    title = f"On the validation split, by which the checkpoint was chosen ({higher})"
    parts: Parts = [page.Heading(text=title)]
    parts += page.table(("model", curve["metric"].replace("_", " ")), gained)
    if stopped := curve.get("stopped_early"):
        parts.append(page.Paragraph(text=stopped))
    return parts


def list_samples(results: Results) -> Parts:
    """Return some rows of the test split, the good ones apart from the bad ones."""
    rows = results.read_rows("predictions.jsonl")
    if not rows:
        return []
    if "chosen" in rows[0]:
        columns = {"prompt": "end of the prompt", "chosen": "chosen", "rejected": "rejected"}
        titles = "Pairs ranked incorrectly", "Pairs ranked correctly"
        lost, won = ([row for row in rows if (row["margin"] > 0) == good] for good in (False, True))
    elif "answer" not in rows[0]:  # of prompts alone
        columns = {"prompt": "end of the prompt", "said": "trained model"}
        columns["base_said"] = "before training"
        is_reward = "reward" in rows[0]
        rows.sort(key=lambda row: row["reward"] if is_reward else -row["divergence"])
        titles = "The worse half of the answers", "The better half of the answers"
        lost, won = rows[: len(rows) // 2], rows[len(rows) // 2 :]
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
    parts = page.samples(titles[0], lost, columns, SHOWN_ANSWERS)
    parts += page.samples(titles[1], won, columns, SHOWN_ANSWERS)
    return parts + page.pictures([row for row in rows if row.get("pictures")], "evaluate/pictures")


def draw_training(results: Results) -> Parts:
    """Draw run/curve.png, and return the figure."""
    curve = results.read("train/curve.json")
    is_loss = "reward" not in curve
    trained, validated = ("train", "validation") if is_loss else ("reward", "validation_reward")
    objective = results.spec.get("objective", "sft")
    kind = objective.get("type", "sft") if isinstance(objective, Mapping) else objective
    title = f"{'Loss' if is_loss else 'Mean reward'} during training"
    unit = "loss per row" if kind in PER_ROW else "loss per token (nats)"
    draw = partial(
        curves.draw_curve,
        {"training": curve[trained], "validation": curve.get(validated, ())},
        title=title,
        unit=unit if is_loss else "mean reward",
        kept=curve.get("best_step"),
        is_loss=is_loss,
    )
    draw().savefig(results.run.folder / "curve.png", dpi=120)
    svg = curves.to_svg(draw(ink=curves.INK))
    return [page.Heading(text="Curve"), page.Figure(file="curve.png", title=title, svg=svg)]
