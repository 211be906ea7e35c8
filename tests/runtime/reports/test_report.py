"""The report of a run: tables of the same rows, texts that stay texts, and a legible curve."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

from ftc.runtime import events
from ftc.runtime.files import write_json, write_rows
from ftc.runtime.metric import label_metrics, metrics, source_losses
from ftc.runtime.reports import page, report_results
from ftc.runtime.reports.report import write_report
from ftc.runtime.run import Run

# The report of a small bundle

LABELS = ("lost", "late | *soon*", "sent")
HOSTILE = "<script>alert(1)</script> | [x](http://evil.example) `code` www.evil.example\n# title"
STAGES = ("prepare", "train", "merge", "evaluate", "quantize")
DECIDED = {"precision": "fp32", "world": 2, "metric": "accuracy", "lora_rank": 8}
CURVE = {
    "train": [[1, 3.0], [2, 1.0]],
    "validation": [[0, 3.0], [2, 1.2]],
    "before": 3.0,
    "best": 1.1,
    "shipped": 1.2,
    "best_step": 2,
    "stopped_early": "training stops early, at step 2 of 9",
    "metric": "loss",
    "higher": False,
    "peak_bytes": 2**30,
    "planned_bytes": 2**31,
}
REPORT = {
    "settings": {"base model": "org/base", "data": "tickets.csv", "method": "LoRA"},
    "loss": "loss per token (nats)",
    "hashes": {"the spec": "5" * 64, "the data": "d" * 64, "revision of the base": "e" * 40},
}
PREPARED = {
    "rows_read": 90,
    "rows_used": 80,
    "changes": {"duplicate": 7, "blank": 3},
    "splits": {"train": 70, "test": 10},
}
ENTRY = {
    "file": "model-Q8_0.gguf",
    "bytes": 2**20,
    "predicted_bytes": 2**21,
    "tokens": 99,
    "divergence": 0.001,
    "agreement": 0.99,
    "perplexity": 1.3,
    "trained_perplexity": 1.2,
    "perplexity_ratio": 1.0833,
    "asked_rows": 40,
    "accuracy": 0.85,
    "trained_accuracy": 0.9,
    "metric_drop": 0.05,
    "same_answers": 0.95,
    "bounds": {
        "max_divergence": 0.02,
        "min_agreement": 0.97,
        "max_perplexity_ratio": 1.11,
        "max_metric_drop": 0.08,
    },
}


def cells_of(lines: list[str]) -> list[list[str]]:
    """Return the cells' plain text, row by row, as a Markdown parser reads them."""
    rows: list[list[str]] = []
    tokens = MarkdownIt("commonmark").enable("table").parse("\n".join(lines))
    for before, token in itertools.pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if token.type == "inline" and before.type in {"td_open", "th_open"}:
            assert token.children is not None
            assert {child.type for child in token.children} <= {"text", "text_special"}
            rows[-1].append("".join(child.content for child in token.children))
    return rows


def write_bundle(folder: Path, *, stages: tuple[str, ...] = STAGES) -> Path:
    """Write a bundle whose stages of these names are finished; each was trained for 2 s."""
    seconds = {"low": 1.0, "total": 2.0, "high": 3.0}
    plan = {"name": "tickets", "stages": [*STAGES, "report"], "seconds": seconds, "report": REPORT}
    write_json(folder / "plan.json", plan)
    write_json(folder / "spec.json", {"model": "org/base", "data": "tickets.csv"})
    decisions = {name: {"value": value, "source": "spec"} for name, value in DECIDED.items()}
    lock = {"ftc": "1.2.3", "decisions": decisions}
    write_json(folder / "ftc.lock.json", lock)
    for script in ("prepare", "train", "export", "evaluate"):
        text = "LADDER = [[4, 2]]\nLEARNING_RATE = 0.0002\nSEED = 7\n" if script == "train" else ""
        (folder / f"{script}.py").write_text(text, encoding="utf-8")
    for stage in stages:
        finish(folder, stage)
    return folder


def make_run(folder: Path, stage: str) -> Run:
    """Return the run of a stage, of which merge and quantize are in export.py."""
    return Run(folder, stage=stage, script="export.py" if stage in {"merge", "quantize"} else None)


def finish(folder: Path, stage: str) -> None:
    """Write what a stage writes, and its record."""
    run = make_run(folder, stage)
    (folder / "run").mkdir(exist_ok=True)
    outputs = WRITERS[stage](folder / "run")
    before = [folder / "run" / "train" / "curve.json"] if stage not in {"prepare", "train"} else []
    run.mark_done(run.identify(*before), *outputs, trained=stage == "train")
    record = folder / "run" / "done" / f"{stage}.json"
    write_json(record, {**json.loads(record.read_text(encoding="utf-8")), "seconds": 2.0})


def write_prepared(run: Path) -> list[Path]:
    """Write the rows."""
    write_rows(run / "data" / "train.jsonl", [{"answer": "sent"}])
    write_json(run / "data" / "report.json", PREPARED)
    return [run / "data"]


def write_trained(run: Path) -> list[Path]:
    """Write the curve of the training."""
    write_json(run / "train" / "curve.json", CURVE)
    return [run / "train" / "curve.json"]


def write_merged(run: Path) -> list[Path]:
    """Write the weights."""
    (run / "merged").mkdir()
    (run / "merged" / "model.safetensors").write_bytes(bytes(2**20))
    return [run / "merged"]


def write_judged(run: Path) -> list[Path]:
    """Write what evaluate.py notes of a run with labels, whose texts are hostile."""
    draw = np.random.default_rng(0)
    right = draw.choice(LABELS, 80).tolist()
    said = [label if draw.random() < 0.8 else "sent" for label in right]

    def measure(answers: list[str]) -> dict[str, Any]:
        hits = [float(one == other) for one, other in zip(answers, right, strict=True)]
        losses = metrics.loss([1.0 - sum(hits)] * 80, [2] * 80)
        return {"accuracy": metrics.share(hits), "loss": losses}

    base = measure(["nothing"] * 80)
    report = {
        "rows": 80,
        **metrics.describe(measure(said), base, "the model before training"),
        "tokens": 160,
        "perplexity": 1.2,
        "chance": 1 / 3,
        "majority_class": 0.4,
        "majority_verdict": "better",
        "labels": 3,
        "other_answers": 0,
        "sources": source_losses.by_source(
            ["calls.csv"] * 30 + ["mails.csv"] * 50, ([2.0] * 30 + [1.0] * 50, [2] * 80)
        ),
    }
    told = [
        {"prompt": HOSTILE, "answer": one, "said": two, "base_said": "nothing", "score": one == two}
        for one, two in zip(right, said, strict=True)
    ]
    write_json(run / "evaluate" / "report.json", report)
    write_rows(run / "evaluate" / "labels.jsonl", label_metrics.by_label(said, right))
    write_rows(run / "evaluate" / "predictions.jsonl", told)
    names = ("report.json", "labels.jsonl", "predictions.jsonl")
    return [run / "evaluate" / name for name in names]


def write_quantized(run: Path) -> list[Path]:
    """Write what was measured of a GGUF file."""
    write_json(run / "quantize" / "quality.json", {"files": [ENTRY]})
    return [run / "quantize" / "quality.json"]


WRITERS = {
    "prepare": write_prepared,
    "train": write_trained,
    "merge": write_merged,
    "evaluate": write_judged,
    "quantize": write_quantized,
}


def report_of(folder: Path, stage: str) -> str:
    """Return the report that a stage writes at its end."""
    write_report(make_run(folder, stage))
    return (folder / "run" / "report.md").read_text(encoding="utf-8")


def test_numbers_of_one_table_are_of_the_same_rows(tmp_path: Path) -> None:
    """The file's metric stands beside the trained model's on the rows that the file answered."""
    text = report_of(write_bundle(tmp_path), "quantize")
    rows = cells_of(text.splitlines())

    (tested,) = (row for row in rows if row[0] == "accuracy")
    answered, close, _, planned = (row for row in rows if row[0] == "model-Q8_0.gguf")
    assert tested[1] == "80"
    assert tested[2] == "0.0%"
    assert tested[-1] == "better"
    assert answered[1:4] == ["40", "90.0%", "85.0%"]
    assert tested[4] == page.span(metrics.wilson(float(tested[3][:-1]) / 100, 80), share=True)
    assert answered[4] == page.span(metrics.wilson(0.85, 40), share=True)
    assert answered[5:] == ["5.0%", "8.0%", "95.0%"]
    assert close[2:6] == ["0.0010", "0.0200", "99.0%", "97.0%"]
    assert close[-2:] == ["1.0833", "1.1100"]
    assert planned[1:] == ["2.0 MiB", "1.0 MiB"]
    assert "The trained model is better than the model before training" in text
    assert (tmp_path / "run/curve.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_of_benchmarks_are_of_this_training(tmp_path: Path) -> None:
    """The report shows them; after another training it says that they are outdated."""
    write_bundle(tmp_path)
    lock = json.loads((tmp_path / "ftc.lock.json").read_text(encoding="utf-8"))
    lock["decisions"]["harness"] = {"value": ["arc_easy"], "source": "spec"}
    write_json(tmp_path / "ftc.lock.json", lock)
    (tmp_path / "harness.py").write_text("", encoding="utf-8")
    assert "Public benchmarks" not in report_of(tmp_path, "quantize")

    run = Run(tmp_path, stage="harness")
    numbers = {"limit": 100, "tasks": {"arc_easy": {"acc,none": 0.5}}}
    write_json(tmp_path / "run/harness/report.json", numbers)
    identity = run.identify(tmp_path / "run/train/curve.json")
    run.mark_done(identity, tmp_path / "run/harness/report.json")
    text = report_of(tmp_path, "quantize")
    assert ["arc_easy", "acc", "0.5000"] in cells_of(text.splitlines())
    assert "the first 100 questions" in text

    for stage in STAGES[1:]:
        shutil.rmtree(tmp_path / "run/merged") if stage == "merge" else None
        finish(tmp_path, stage)
    text = report_of(tmp_path, "quantize")
    assert "from an earlier training" in text
    assert "arc_easy" not in text


def test_the_checkpoint_is_shown_as_it_is_shipped(tmp_path: Path) -> None:
    """By the number of the weights that were kept, and with the reason why training stopped."""
    text = report_of(write_bundle(tmp_path), "quantize")
    kept = dict(row for row in cells_of(text.splitlines()) if len(row) == 2)

    assert kept["before training"] == "3.0000"
    assert kept["the best checkpoint (step 2)"] == "1.2000"
    assert "\ntraining stops early, at step 2 of 9\n" in text


def test_labels_sources_and_answers_have_tables(tmp_path: Path) -> None:
    """Each label and each source by its own numbers, and answers of both kinds by their text."""
    text = report_of(write_bundle(tmp_path), "quantize")
    rows = cells_of(text.splitlines())

    labels = [row for row in rows if len(row) == 5 and row[0] in LABELS]
    assert len(labels) == 3
    assert sum(int(row[-1]) for row in labels) == 80
    assert {(row[0], *row[1:2], row[3]) for row in rows if row[0].endswith(".csv")} == {
        ("calls.csv", "30", "1.0000"),
        ("mails.csv", "50", "0.5000"),
    }
    told = [row for row in rows if row[0] == " ".join(HOSTILE.split())]
    assert {row[1] == row[2] for row in told} == {True, False}
    assert {row[3] for row in told} == {"nothing"}


def test_a_run_without_a_test_says_that_nothing_was_judged(tmp_path: Path) -> None:
    """Its first sentence would be that of the test split; a run in progress has none yet."""
    folder = write_bundle(tmp_path, stages=("prepare", "train"))
    write_report(make_run(folder, "train"))
    before = (folder / "run" / "report.md").read_text(encoding="utf-8")
    plan = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    write_json(folder / "plan.json", {**plan, "stages": ["prepare", "train", "merge", "report"]})
    write_report(make_run(folder, "train"))
    after = (folder / "run" / "report.md").read_text(encoding="utf-8")
    assert report_results.UNJUDGED not in before
    assert after.splitlines()[2] == report_results.UNJUDGED


def test_settings_are_those_that_trained(tmp_path: Path) -> None:
    """The constants of train.py, the names of the spec, and the plan's decisions."""
    rows = cells_of(report_of(write_bundle(tmp_path), "quantize").splitlines())
    settings = dict(row for row in rows if len(row) == 2)

    assert settings["ftc"] == "1.2.3"
    assert settings["base model"] == "org/base"
    assert settings["data"] == "tickets.csv"
    assert settings["method"] == "LoRA"
    assert settings["learning rate"] == "0.0002"
    assert settings["seed"] == "7"
    assert (
        settings["rows per optimizer step"] == "16 (micro-batch 4 x accumulation 2 x processes 2)"
    )


def test_the_time_of_a_training_adds_up_over_its_starts(tmp_path: Path) -> None:
    """Two starts that were killed, after 30 s and 12 s, and the last one, which its record has."""
    write_bundle(tmp_path)
    log = tmp_path / "run" / "train" / "log.jsonl"
    lines = [(100, "began"), (130, None), (500, "began"), (505, None), (512, None), (900, "began")]
    for time, event in lines:
        events.append(log, time=time, **({"event": event} if event else {}))
    written = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["time"] for line in written] == [time for time, _ in lines]

    rows = cells_of(report_of(tmp_path, "quantize").splitlines())

    times = dict(row for row in rows if len(row) == 2)
    assert times["train"] == "44 s"
    assert times["merge"] == "2 s"
    assert times["in all"] == "52 s"


def test_versions_are_those_of_the_training(tmp_path: Path) -> None:
    """Without a note of them, the report says that they are the ones installed now."""
    write_bundle(tmp_path, stages=())
    write_json(tmp_path / "note.json", {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(CURVE, "versions", {"torch": "0.0.1"})
        for stage in STAGES:
            finish(tmp_path, stage)
    noted = report_of(tmp_path, "quantize")
    other = tmp_path / "other"
    other.mkdir()
    now = report_of(write_bundle(other), "quantize")

    assert "## Versions of the training" in noted
    assert "0.0.1" in noted
    assert "## Versions at the time of this report" in now


def test_files_of_an_earlier_training_are_left_out(tmp_path: Path) -> None:
    """evaluate.py runs before the export: it shows GGUF files only if they are of this model."""
    write_bundle(tmp_path)
    assert "GGUF" in report_of(tmp_path, "evaluate")

    for stage in ("train", "evaluate"):
        finish(tmp_path, stage)
    text = report_of(tmp_path, "evaluate")

    assert "GGUF" not in text
    assert "model.safetensors" in text
    assert "quantize" not in text


def test_a_changed_script_ends_the_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report states settings that it reads from the scripts, so the results must be theirs."""
    write_bundle(tmp_path)
    (tmp_path / "train.py").write_text("LEARNING_RATE = 1\n", encoding="utf-8")

    with pytest.raises(SystemExit, match=r"train\.py has changed since stage `train` ran"):
        write_report(make_run(tmp_path, "quantize"))
    assert not (tmp_path / "run" / "report.md").exists()
    capsys.readouterr()


def test_a_changed_result_ends_the_stage(tmp_path: Path) -> None:
    """No number is shown that a stage did not write."""
    write_bundle(tmp_path)
    write_json(tmp_path / "run" / "evaluate" / "report.json", {"verdict": "perfect"})

    with pytest.raises(
        SystemExit, match=r"report\.json has changed since stage `evaluate` wrote it"
    ):
        write_report(make_run(tmp_path, "evaluate"))


def test_the_curve_has_the_unit_of_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler knows which objectives have a loss per row."""
    drawn: list[dict[str, Any]] = []
    draw = report_results.draw_curve

    def record(points: Any, **words: Any) -> Any:
        drawn.append(words)
        return draw(points, **words)

    monkeypatch.setattr(report_results, "draw_curve", record)
    write_report(make_run(write_bundle(tmp_path), "quantize"))

    assert drawn[0]["unit"] == "loss per token (nats)"
    assert drawn[0]["kept"] == 2


def test_it_is_printed_once_everything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the last stage, only its place is printed."""
    write_bundle(tmp_path, stages=STAGES[:-1])
    capsys.readouterr()
    write_report(make_run(tmp_path, "evaluate"))
    early = capsys.readouterr().out
    finish(tmp_path, "quantize")
    write_report(make_run(tmp_path, "quantize"))

    assert early == "the report is in run/report.md\n"
    assert "| in all" in capsys.readouterr().out


# -----------------------------------------------------------------------------
# The report as one file
