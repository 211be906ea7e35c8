"""Verdicts on GGUF files: which rows are judged, what fails a file, and what is reported."""

import itertools
import json
import os
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.compare import reference
from ftc.runtime.run import Run

pytest.importorskip("llama_cpp")
pytest.importorskip("matplotlib")
from ftc.runtime.compare import fidelity, noise_response, rounding, token_comparison
from ftc.runtime.export import gguf_answers, quantizing
from ftc.runtime.llama_cpp import gguf_file

BOUNDS = {"max_divergence": 0.02, "min_agreement": 0.9, "max_perplexity_ratio": 1.05}
FOUND: dict[str, Any] = {
    "answers": True,
    "divergence": 0.0049,
    "agreement": 0.966,
    "perplexity_ratio": 1.001,
}
ENTRY: dict[str, Any] = {
    **FOUND,
    "type": "Q4_K_M",
    "bytes": 2**21,
    "bounds": BOUNDS,
    "fault": None,
    "prompt_tokens_per_second": 6947.0,
    "generation_tokens_per_second": 271.0,
    "resident_bytes": 2**23,
}


def make_row(length: int, learned: int) -> dict[str, Any]:
    """Return a row of so many tokens whose last ones are learned."""
    labels = [-100] * (length - learned) + [7] * learned
    return {"input_ids": [7] * length, "labels": labels, "prompt_ids": [7] * (length - learned)}


def test_a_sound_file_has_no_fault() -> None:
    """Every measure is within its bound."""
    assert token_comparison.find_fault(FOUND, BOUNDS) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"divergence": 0.03}, "its divergence is 0.03, and export.verify.max_divergence is 0.02"),
        ({"agreement": 0.5}, "its agreement is 0.5, and export.verify.min_agreement is 0.9"),
        ({"perplexity_ratio": None}, "its perplexity ratio is no number"),
        ({"answers": False}, "it writes nothing after any prompt"),
    ],
)
def test_the_first_fault_is_named(change: dict[str, Any], words: str) -> None:
    """With what was measured, and with the bound by its name in the spec."""
    fault = token_comparison.find_fault(FOUND | change, BOUNDS)
    assert fault is not None
    assert fault.startswith(words)


@pytest.mark.parametrize(
    ("row", "said", "answers"),
    [
        ({}, "a word", True),
        ({}, "", True),  # as the trained model, which writes a space and another
        ({"best": [5, 3, 6, 7]}, "", False),
        ({"prompt_ids": [1, 2, 3, 4, 5, 6]}, "", False),
        ({"prompt_ids": [1]}, "", False),  # nothing was noted there
        ({"prompt_ids": [9, 9, 9]}, "", False),  # not the beginning of the row
    ],
)
def test_a_file_may_be_as_silent_as_the_trained_model(
    monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], said: str, answers: bool
) -> None:
    """The trained model was noted at the last four of seven tokens; the file begins with token 4.

    The prompt is the first half of a row without one, with the token in the middle.
    """
    monkeypatch.setattr(gguf_file, "answer", lambda *_: said)
    monkeypatch.setattr(gguf_file, "write", lambda *_: iter([4]))
    whole = {"ids": [1, 2, 3, 4, 5, 6, 7], "best": [5, 4, 6, 7], **row}

    assert fidelity._answers(None, None, whole, 8) == answers  # type: ignore[arg-type]


def test_rows_stay_within_the_budgets() -> None:
    """Judged tokens and read tokens are limited; one long row is judged in part."""
    rows = [make_row(300, 20) for _ in range(50)]
    chosen = reference.choose_rows(rows, 1000)

    assert sum(len(row["learned"]) for row in chosen) <= 1000
    assert all(len(row["learned"]) <= reference.ROW_TOKENS for row in chosen)
    assert sum(len(row["ids"]) for row in chosen) <= 4000
    assert {sum(row["learned"]) for row in chosen} == {20}
    assert len(reference.choose_rows([make_row(90_000, 10)], 100)) == 1
    assert reference.choose_rows([make_row(1, 1)], 100) == []
    assert reference.choose_rows(rows, 1000) == chosen


def test_a_job_survives_its_file() -> None:
    """The process that measures reads it as JSON."""
    job = reference.Job(
        rows="test", tokens=9, answer_tokens=3, attention="sdpa", on_gpu=True, answered={"a": "b"}
    )
    assert reference.Job(**json.loads(json.dumps(asdict(job)))) == job
    assert job.source_error > reference.Job(**{**asdict(job), "on_gpu": False}).source_error


def test_the_table_has_every_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside what was measured; a number that is missing is a dash."""
    run = Run(tmp_path, stage="quantize", script="export.py")
    metric = {"metric_drop": None, "trained_exact_match": 0.5}
    bounds = BOUNDS | {"max_metric_drop": 0.016}
    quantizing.print_table(run, [ENTRY | metric | {"bounds": bounds}], "exact_match")

    out = capsys.readouterr().out
    for cell in ("0.0049 (max 0.02)", "96.6% (min 90.0%)", "1.001 (max 1.050)", "- (max 1.6%)"):
        assert cell in out
    assert "exact match lost" in out
    assert len({len(line) for line in out.splitlines()[:2]}) == 1
    assert re.search(r"perplexity ratio\s+exact match lost\s+read/s", out)
    assert out.splitlines()[1].endswith("sound")
    assert "exact match of the trained model: 50.0%" in out


@pytest.mark.parametrize("count", [2, 29])
def test_the_picture_is_legible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """A title, a line of its own for each type, and its bound beside what was measured."""
    pictures: list[Any] = []
    matplotlib: Any = pytest.importorskip("matplotlib.figure")
    save = matplotlib.Figure.savefig

    def note(figure: Any, *given: Any, **settings: Any) -> None:
        pictures.append(figure)
        save(figure, *given, **settings)

    monkeypatch.setattr(matplotlib.Figure, "savefig", note)
    entries = [ENTRY | {"type": f"Q{n}", "bytes": n * 2**20} for n in range(1, count)]
    quantizing.draw(tmp_path / "quality.png", [*entries, ENTRY | {"divergence": None}])

    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")
    (axes,) = pictures[0].axes
    assert axes.get_title() == "How far each GGUF file is from the trained model"
    marks = [line for line in axes.lines if line.get_marker() == "|"]
    assert [line.get_xdata()[0] for line in marks] == [BOUNDS["max_divergence"]] * count
    heights = sorted(
        tuple(label.get_window_extent().extents[[1, 3]]) for label in axes.get_yticklabels()
    )
    assert len(heights) == count
    assert all(top < bottom for (_, top), (bottom, _) in itertools.pairwise(heights))


def test_what_c_prints_is_redirected(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Both streams go to the log, and come back afterwards."""
    with gguf_file.redirect_output(tmp_path / "llama.log"):
        os.write(1, b"loader\n")
        os.write(2, b"gemm\n")
    os.write(1, b"after\n")

    assert (tmp_path / "llama.log").read_text() == "loader\ngemm\n"
    assert capfd.readouterr() == ("after\n", "")


@pytest.mark.parametrize("error", [0.0054, 0.02])
def test_a_matrix_with_more_noise_than_its_type_makes_fails_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: float
) -> None:
    """Where bounds are measured, also if every measure of the whole file is within them."""
    matrix = {"name": "blk.0.attn_v.weight", "type": "Q8_0", "weights": 64, "expected": 0.0054}
    monkeypatch.setattr(fidelity, "note_reference", lambda *_: None)
    monkeypatch.setattr(fidelity, "judge", lambda *_, **__: FOUND)
    monkeypatch.setattr(reference, "read_response", lambda *_: ({}, 0.001))
    monkeypatch.setattr(gguf_file, "quantize", lambda _, __, path, *___: path.write_bytes(b"1"))
    monkeypatch.setattr(rounding, "measure", lambda *_: [{**matrix, "error": error}])
    monkeypatch.setattr(noise_response, "derive", lambda *_: (0.005, BOUNDS))
    job: Any = SimpleNamespace(
        run=Run(tmp_path, stage="quantize", script="export.py"),
        out=tmp_path,
        name="triage",
        types=["Q8_0"],
        predicted_bytes={"Q8_0": 1},
        bounds=dict.fromkeys(BOUNDS, "measured"),
        weighed=(),
        fidelity=None,
        measure_importance=None,
    )
    (tmp_path / "work").mkdir()

    ((entry,), _) = quantizing._write_types(job, tmp_path / "work/source.gguf")

    if error == matrix["expected"]:
        assert (entry["file"], entry["fault"]) == ("triage-Q8_0.gguf", None)
    else:
        assert entry["file"] == "triage-Q8_0.failed"
        assert "blk.0.attn_v.weight has a relative error of 0.0200" in entry["fault"]
    assert entry["bounds"] == BOUNDS


def test_a_script_with_several_stages_keeps_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stage has its events; the folder stays locked from the first to the last."""
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    other = Run(tmp_path, stage="train")
    first = Run(tmp_path, stage="merge", script="export.py")
    first.begin()
    second = first.begin_next("quantize")
    try:
        with pytest.raises(SystemExit, match="another stage is running"):
            other.begin()
        lines = (tmp_path / "run/stages.jsonl").read_text().splitlines()
        told = [(event["stage"], event["event"]) for event in map(json.loads, lines)]
        assert told == [("merge", "began"), ("merge", "done"), ("quantize", "began")]
        assert second.script == "export.py"
    finally:
        other.release_lock()
        second.finish()
        second.release_lock()


def test_answers_need_the_evaluation(tmp_path: Path) -> None:
    """Before anything is converted, the sentence names the script that has to run."""
    run = Run(tmp_path, stage="quantize", script="export.py")
    with pytest.raises(SystemExit, match=r"export\.py: .*run evaluate\.py first"):
        gguf_answers.find_predictions(run)


def test_answers_are_scored_beside_the_trained_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most as many rows as the budgets hold; the scorer is a module with a name."""
    scorer = ModuleType("scorer")
    vars(scorer).update(measure=lambda said, right: sum(map(str.__eq__, said, right)) / len(said))
    monkeypatch.setitem(sys.modules, "scorer", scorer)
    answered = {"module": gguf_answers.__name__, "scorer": "scorer", "metric": "accuracy"}
    job = reference.Job(rows="test", tokens=100, answer_tokens=512, attention="sdpa", on_gpu=False)
    job = replace(job, answered=answered)
    rows = [{"prompt_ids": [n], "answer": "a", "said": "ab"[n % 2]} for n in range(40)]
    run = Run(tmp_path, stage="quantize", script="export.py")
    path = tmp_path / "run/evaluate/predictions.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    asked = gguf_answers.choose_rows(run, job)
    found = gguf_answers.examine(job, asked, lambda ids, _: "b" if ids[0] == 0 else "a")

    assert len(asked) <= 8192 // 512
    assert found["accuracy"] == pytest.approx(1 - 1 / len(asked))
    assert found["trained_accuracy"] == pytest.approx(
        sum(row["said"] == "a" for row in asked) / len(asked)
    )
    assert found["metric_drop"] == pytest.approx(found["trained_accuracy"] - found["accuracy"])
    assert found["asked_rows"] == len(asked)
    assert found["changed_answers"] >= 1
    assert found["answers"]
    silent = gguf_answers.examine(job, asked, lambda *_: "")
    assert not silent["answers"]
    both = [{**row, "said": ""} for row in asked]
    assert gguf_answers.examine(job, both, lambda *_: "")["answers"]
