"""The parts of a report that some bundles have: tables of what their stages measured."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.evaluate import regression
from ftc.runtime.files import write_json
from ftc.runtime.metric import metrics, source_losses
from ftc.runtime.report_parts import (
    benchmarks,
    kept,
    pairs,
    pictures,
    prompts,
    served,
    sources,
    texts,
)
from ftc.runtime.reports import page
from ftc.runtime.reports.page import Parts
from ftc.runtime.reports.results import Results
from ftc.runtime.run import Run

NAN = float("nan")


def table_of(parts: Parts) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return the titles and the rows of the only table; each row has a cell for each title."""
    (table,) = (part for part in parts if isinstance(part, page.Table))
    assert {len(row) for row in table.rows} == {len(table.titles)}
    assert page.to_markdown(parts)
    return table.titles, list(table.rows)


def texts_of(parts: Parts) -> list[str]:
    """Return the paragraphs."""
    return [part.text for part in parts if isinstance(part, page.Paragraph)]


# -----------------------------------------------------------------------------
# What was not trained for


def judge(kind: str, before: list[float], after: list[float]) -> dict[str, Any]:
    """Return the entry of a check, as evaluate.py writes it."""
    scores = {"measure": kind, "higher": kind != "text", "percent": kind != "text"}
    scores |= {"tokens": [10] * len(after)} if kind == "text" else {}
    check = {"kind": kind, "path": f"kept/{kind}.jsonl", "max_drop": 0.05}
    models = ([{**scores, "values": values}] for values in (before, after))
    (entry,) = regression.judge([check], *models)
    overlap = {"questions": 9, "compared": 8, "overlapping": 1, "example": "x"}
    return entry | {"overlap": overlap}


def test_each_check_is_a_row() -> None:
    """Its numbers, its verdict, and how many of its questions were in the training rows."""
    checks = [
        judge("prompts", [1.0] * 40, [1.0] * 20 + [0.0] * 20),
        judge("text", [20.0 + n % 3 for n in range(30)], [20.0 + n % 3 for n in range(30)]),
        judge("text", [20.0] * 30, [NAN] * 30),
    ]
    parts = kept.describe_kept(regression.describe(checks))
    titles, rows = table_of(parts)

    assert titles[0] == "file"
    assert [row[0] for row in rows] == ["prompts.jsonl", "text.jsonl", "text.jsonl"]
    assert [row[-1] for row in rows] == ["FAILED", "kept", "FAILED"]
    assert rows[0][3:5] == ("100.0%", "50.0%")
    assert rows[2][4] == "not a finite number"
    assert sum("1 of 8 compared questions are in training rows" in t for t in texts_of(parts)) == 3


# -----------------------------------------------------------------------------
# Answers in pairs, and answers alone


def test_pairs_are_divided_by_their_margin() -> None:
    """A margin of zero and one that is no number are not ranked correctly."""
    rows = [{"margin": margin} for margin in (0.5, 0.0, -0.5, NAN, 1e-9)]
    groups, columns = pairs.divide(rows)

    assert groups["Pairs ranked correctly"] == [rows[0], rows[4]]
    assert groups["Pairs ranked incorrectly"] == rows[1:4]
    assert list(columns) == ["prompt", "chosen", "rejected"]


def test_chance_in_pairs() -> None:
    """A reward model has no verdict against chance, because the model before it has a reward."""
    assert pairs.describe_chance({"chance": 0.5}).endswith("rewarded more in 50% of pairs.")
    verdict = {"chance": 0.5, "chance_verdict": "better"}
    assert pairs.describe_chance(verdict).endswith("the trained model is better.")


@pytest.mark.parametrize(("name", "sign"), [("reward", 1), ("divergence", -1)])
def test_answers_to_prompts_are_halved(name: str, sign: int) -> None:
    """The worse half has the low rewards, or the high divergences; one answer is a better one."""
    rows: list[Any] = [{"prompt": "p", name: sign * number} for number in (3.0, 1.0, 2.0)]
    groups, columns = prompts.divide(rows)
    worse, better = groups.values()

    assert [sign * row[name] for row in worse] == [1.0]
    assert [sign * row[name] for row in better] == [2.0, 3.0]
    assert "answer" not in columns
    alone, _ = prompts.divide(rows[:1])
    assert [len(group) for group in alone.values()] == [0, 1]


# -----------------------------------------------------------------------------
# Images


@pytest.mark.parametrize("names", [("answer", "said"), ("chosen", "rejected")])
def test_images_are_shown_beside_their_answers(names: tuple[str, str]) -> None:
    """Small copies of all images of a row, and the end of its prompt."""
    row = {name: f"the {name}" for name in names}
    rows = [{**row, "prompt": "x" * 400 + "end", "pictures": ["0-0.png", "0-1.png"]}]
    titles, cells = table_of(pictures.list_pictures(rows))

    assert titles[:2] == ("images", "end of the prompt")
    assert cells[0][0] == ("evaluate/pictures/0-0.png", "evaluate/pictures/0-1.png")
    assert cells[0][1].startswith("… ")
    assert cells[0][1].endswith("end")
    assert cells[0][2:] == (f"the {names[0]}", f"the {names[1]}")


# -----------------------------------------------------------------------------
# Files


def entry(file: str, **more: Any) -> dict[str, Any]:
    """Return what was measured of a folder for vLLM."""
    bounds = {"max_divergence": 0.1, "min_agreement": 0.9, "max_perplexity_ratio": 1.1}
    return {
        "file": file,
        "tokens": 2000,
        "divergence": 0.01,
        "agreement": 0.98,
        "perplexity": 2.0,
        "trained_perplexity": 1.9,
        "perplexity_ratio": 1.05,
        "bounds": bounds,
        "rounding": {"error": 0.02, "expected": 0.02},
        "input_divergence": None,
        **more,
    }


def test_folders_for_vllm_have_two_tables() -> None:
    """A type that keeps its inputs has no cost of them; without a metric no answer is compared."""
    results: Any = SimpleNamespace(decided={"metric": "exact_match"})
    folders = [entry("a-FP8", input_divergence=0.004), entry("a-W4A16")]
    parts = served.describe_folders(folders, results)
    close, rounded = (part for part in parts if isinstance(part, page.Table))

    assert [row[0] for row in close.rows] == ["a-FP8", "a-W4A16"]
    assert rounded.rows == (
        ("a-FP8", "2.0%", "2.0%", "0.0040"),
        ("a-W4A16", "2.0%", "2.0%", "-"),
    )


def test_folders_that_answered_have_their_metric() -> None:
    """It is that of the plan."""
    results: Any = SimpleNamespace(decided={"metric": "exact_match"})
    answered = {"asked_rows": 40, "exact_match": 0.8, "trained_exact_match": 0.9}
    answered |= {"metric_drop": 0.1, "same_answers": 0.85}
    parts = served.describe_folders([entry("a-FP8", **answered)], results)
    first = next(part for part in parts if isinstance(part, page.Table))

    assert first.rows[0][:4] == ("a-FP8", "40", "90.0%", "80.0%")


def test_files_of_vectors_and_of_scores() -> None:
    """An embedding model's by the least cosine, a reranker's by the largest difference."""
    vector = {"file": "a.gguf", "texts": 1200, "other_texts": 1, "cosine": 0.9991}
    vector |= {"mean_cosine": 0.9999, "bounds": {"min_cosine": 0.999}}
    score = {"file": "a.gguf", "pairs": 1200, "other_pairs": 0, "difference": 0.004}
    score |= {"mean_difference": NAN, "bounds": {"max_difference": 0.01}}

    assert table_of(texts.list_files([vector]))[1] == [
        ("a.gguf", "1,200", "0.9991", "0.9990", "0.9999", "1")
    ]
    assert table_of(texts.list_files([score]))[1] == [
        ("a.gguf", "1,200", "0.0040", "0.0100", "-", "0")
    ]


def test_words_alone_are_compared_by_the_first_number() -> None:
    """BM25 is what a model has to beat."""
    judged = {"judged": {"ndcg_at_10": 9}, "bm25_ndcg_at_10": 0.25, "bm25_verdict": "better"}

    assert texts.describe_chance(judged) == (
        "BM25, which compares words, has nDCG@10 0.2500 on the same rows. Against it, the trained"
        " model is better."
    )


# -----------------------------------------------------------------------------
# Sources


def test_sources_have_their_losses() -> None:
    """A source with few rows has no interval, and no verdict without the model before training."""
    names, sizes = ["calls.csv"] * 30 + ["mails.csv"] * 2, [2] * 32
    after, before = [1.0 + n % 2 for n in range(32)], [3.0 + n % 2 for n in range(32)]
    judged = source_losses.by_source(names, (after, sizes), (before, sizes))
    _, rows = table_of(sources.list_losses(judged))

    assert [row[:3] for row in rows] == [
        ("calls.csv", "30", "1.7500"),
        ("mails.csv", "2", "1.7500"),
    ]
    assert rows[0][-1] == "better"
    assert rows[1][-2:] == ("-", "not distinguishable")
    alone = source_losses.by_source(names, (after, sizes))
    assert {row[-1] for row in table_of(sources.list_losses(alone))[1]} == {"-"}
    assert metrics.LEAST_ROWS > 2


def test_rows_of_sources_are_counted() -> None:
    """A name stays as it is, a number gets separators."""
    row = {"source": "1234", "read": 1234, "used": 5, "train": 3, "validation": 1, "test": 1}

    assert table_of(sources.count_rows([row]))[1] == [("1234", "1,234", "5", "3", "1", "1")]
    assert sources.count_rows([]) == []


# -----------------------------------------------------------------------------
# Public benchmarks


def test_benchmarks_are_those_of_the_present_script(tmp_path: Path) -> None:
    """The report shows current numbers, marks outdated ones, and has no part without any."""
    (tmp_path / "harness.py").write_text("TASKS = ['arc']\n", encoding="utf-8")
    run = Run(tmp_path, stage="harness")
    results = Results(
        run=run, records={}, decided={}, plan={}, lock={}, stages=(), is_complete=False
    )
    assert benchmarks.describe_benchmarks(results) == []
    report = run.folder / "harness/report.json"
    report.parent.mkdir(parents=True)
    write_json(report, {"limit": 1000, "tasks": {"arc": {"acc,none": 0.5}}})
    run.mark_done(run.identify(), report)
    parts = benchmarks.describe_benchmarks(results)

    assert table_of(parts)[1] == [("arc", "acc", page.number(0.5))]
    assert texts_of(parts) == ["Only the first 1,000 questions of each task were asked."]

    (tmp_path / "harness.py").write_text("TASKS = ['other']\n", encoding="utf-8")
    (text,) = texts_of(benchmarks.describe_benchmarks(results))
    assert "an earlier training" in text
