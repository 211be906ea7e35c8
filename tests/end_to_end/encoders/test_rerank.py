"""Rerankers: labelled pairs of real messages are learned, and llama.cpp gives the same scores."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.builders.bank_messages import label_pairs
from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranked:
    """A bundle of labelled pairs, one of pairs without wrong texts, and what they said."""

    bundle: Path
    adapted: Path
    ended: Ended

    def read(self, name: str, bundle: Path | None = None) -> Any:
        """Read a JSON file of the first run, or of that of another bundle."""
        return read_json((bundle or self.bundle) / "run" / name)


@pytest.fixture(scope="module")
def reranked(tmp_path_factory: pytest.TempPathFactory, shared: Path, sdist: Path) -> Reranked:
    """Train all weights of an XLM-R on labelled pairs, and an adapter of a BERT on pairs."""
    folder = tmp_path_factory.mktemp("rerank")
    kinds = [f"{kind}={folder / kind}" for kind in ("xlm-roberta", "bert")]
    built = run(
        sys.executable,
        "-m",
        "tests.end_to_end.builders.build_encoders",
        sdist,
        *kinds,
        cwd=Path.cwd(),
    )
    assert built.code == 0, built.said
    rows = label_pairs(shared / "data")
    write_table(folder / "labelled.csv", [["query", "passage", "label"], *rows])
    right = [row[:2] for row in rows if row[2] == "1"]
    write_table(folder / "pairs.csv", [["query", "passage"], *right])
    spec = {
        "name": "ranker",
        "model": "./xlm-roberta",
        "data": "labelled.csv",
        "objective": "rerank",
        "method": "full",
        "hardware": "cpu",
        "training": {
            "epochs": 3,
            "learning_rate": 0.0015,
            "micro_batch": 16,
            "evaluation": {"every_steps": 36},
        },
        "export": ["F16", "Q8_0"],
    }
    bundle = compile_spec(folder, spec)
    quick = {"max_steps": 4, "learning_rate": 0.01, "evaluation": {"allow_worse": True}}
    other = {"name": "adapted", "model": "./bert", "data": "pairs.csv", "method": "lora"}
    adapted = compile_spec(folder, {**spec, **other, "training": quick, "export": []})
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist), "OMP_NUM_THREADS": "2"}
    for each in (bundle, adapted):
        prepared = run(sys.executable, "prepare.py", cwd=each)
        assert prepared.code == 0, prepared.said
    names = ("train.py", "export.py:--merge", "evaluate.py")
    stages = [*(bundle / name for name in (*names, "export.py")), *(adapted / n for n in names)]
    command: list[str | Path] = [sys.executable, "-m", "tests.end_to_end.run_stages", *stages]
    return Reranked(
        bundle=bundle, adapted=adapted, ended=run(*command, cwd=Path.cwd(), extra=extra)
    )


@pytest.mark.prove
def test_ranks_are_learned(reranked: Reranked) -> None:
    """On queries that were held out both measures are above those before training and of BM25."""
    assert reranked.ended.code == 0, reranked.ended.said
    report = reranked.read("evaluate/report.json")

    assert report["changes"]["spearman"]["verdict"] == "better"
    for name in ("spearman", "ndcg_at_10"):
        assert report[name] > max(report[f"bm25_{name}"], report["base"][name])
    assert "BM25" in (reranked.bundle / "run" / "report.md").read_text(encoding="utf-8")


@pytest.mark.prove
def test_files_have_the_scores_of_the_model(reranked: Reranked) -> None:
    """Those of each pair of the test split differ by 0.01 at most at F16, and 0.05 at Q8_0."""
    assert reranked.ended.code == 0, reranked.ended.said
    half, eighth = reranked.read("quantize/quality.json")["files"]
    rows = read_rows(reranked.bundle / "run/data/test.jsonl")

    assert (half["type"], eighth["type"]) == ("F16", "Q8_0")
    assert half["pairs"] == eighth["pairs"] == len(rows)
    assert half["other_pairs"] == 0
    assert half["difference"] <= 0.01
    assert eighth["difference"] <= 0.05
    texts = [row["positive"] for row in rows[:8]]
    asked = run(sys.executable, "ask.py", rows[0]["anchor"], *texts, cwd=reranked.bundle)
    assert asked.code == 0, asked.said
    scores = [float(line.split()[0]) for line in asked.out.splitlines()]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] - scores[-1] > 0.02  # twice the bound


@pytest.mark.prove
def test_an_adapter_is_merged_with_its_head(reranked: Reranked) -> None:
    """Wrong texts are drawn; the folder has the trained head, and no adapter beside it."""
    assert reranked.ended.code == 0, reranked.ended.said
    report = reranked.read("evaluate/report.json", reranked.adapted)
    merged = reranked.adapted / "run" / "merged"

    assert report["pairs"] > report["rows"]
    assert {"ndcg_at_10", "mrr_at_10", "bm25_ndcg_at_10"} < report.keys()
    assert read_json(merged / "config.json")["architectures"] == ["BertForSequenceClassification"]
    assert not (merged / "adapter_config.json").exists()
