"""Embedding models: pairs of real messages are learned, resumed and read alike by llama.cpp."""

import csv
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.builders.bank_messages import pair_by_intent
from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run

ROWS = 640
PREEMPTED = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """A bundle that was stopped and resumed, another that ran through, and what they said."""

    bundle: Path
    straight: Path
    stopped: Ended
    ended: Ended

    def read(self, name: str) -> Any:
        """Read a JSON file of the run."""
        return read_json(self.bundle / "run" / name)


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory, sdist: Path) -> Path:
    """Write miniatures of BERT and Qwen3."""
    folder = tmp_path_factory.mktemp("encoders")
    made = [f"{kind}={folder / kind}" for kind in ("bert", "qwen3")]
    ended = run(
        sys.executable,
        "-m",
        "tests.end_to_end.builders.build_encoders",
        sdist,
        *made,
        cwd=Path.cwd(),
    )
    assert ended.code == 0, ended.said
    return folder


@pytest.fixture(scope="module")
def embedded(
    tmp_path_factory: pytest.TempPathFactory, encoders: Path, shared: Path, sdist: Path
) -> Embedded:
    """Train all weights on pairs of messages; once through, and once with a stop in between."""
    folder = tmp_path_factory.mktemp("embed")
    (folder / "model").symlink_to(encoders / "bert")
    rows = list(pair_by_intent(shared / "data"))
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["anchor", "positive"], *rows[:: len(rows) // ROWS]])
    spec = {
        "name": "search",
        "model": "./model",
        "data": "pairs.csv",
        "objective": {"type": "embed", "matryoshka_dimensions": [16, 32]},
        "method": "full",
        "hardware": "cpu",
        "training": {"epochs": 3, "learning_rate": 0.003, "micro_batch": 16},
        "export": ["F16", "Q8_0"],
    }
    bundle = compile_spec(folder, spec)
    straight = folder / "straight"
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist), "OMP_NUM_THREADS": "2"}
    stages = [sys.executable, "-m", "tests.end_to_end.run_stages"]
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    shutil.copytree(bundle, straight)
    (bundle / "run" / "stop").touch()  # as run.sh does: training stops after its first step
    stopped = run(*stages, straight / "train.py", bundle / "train.py", cwd=Path.cwd(), extra=extra)
    names = ("train.py", "export.py:--merge", "evaluate.py", "export.py")
    ended = run(*stages, *(bundle / name for name in names), cwd=Path.cwd(), extra=extra)
    return Embedded(bundle=bundle, straight=straight, stopped=stopped, ended=ended)


@pytest.mark.prove
def test_the_result_reads_texts_as_long_as_its_base(embedded: Embedded, encoders: Path) -> None:
    """The longest row of the training does not cut the texts of those who use the model."""
    trained, base, merged = (
        read_json(folder / "tokenizer_config.json").get("model_max_length")
        for folder in (
            embedded.bundle / "run/train/model",
            encoders / "bert",
            embedded.bundle / "run/merged",
        )
    )
    assert trained < merged
    assert base in (merged, None)


@pytest.mark.prove
def test_search_is_learned(embedded: Embedded) -> None:
    """On held-out messages nDCG@10 is above that of BM25 and of the model before training."""
    assert embedded.ended.code == 0, embedded.ended.said
    report = embedded.read("evaluate/report.json")

    assert report["changes"]["ndcg_at_10"]["verdict"] == "better"
    assert report["bm25_verdict"] == "better"
    assert report["ndcg_at_10"] > max(report["bm25_ndcg_at_10"], report["base"]["ndcg_at_10"])
    assert {"mrr_at_10", "recall_at_10"} < report.keys()
    assert "BM25" in (embedded.bundle / "run" / "report.md").read_text(encoding="utf-8")


@pytest.mark.prove
def test_short_vectors_search_too(embedded: Embedded) -> None:
    """Vectors cut to 32 and to 16 numbers are evaluated like the full ones of 64."""
    report = embedded.read("evaluate/report.json")
    page = (embedded.bundle / "run" / "report.md").read_text(encoding="utf-8")

    for size in (32, 16):
        name = f"ndcg_at_10_first_{size}"
        assert report["changes"][name]["verdict"] == "better"
        assert report[name] > max(report["base"][name], report["bm25_ndcg_at_10"])
        assert f"first {size} numbers" in page


@pytest.mark.prove
def test_hard_negatives_are_found_by_the_result(embedded: Embedded) -> None:
    """A model that tells texts apart finds them, and the next training learns from them."""
    folder = embedded.bundle.parent
    spec = {
        "name": "again",
        "model": "./search",
        "data": "pairs.csv",
        "objective": {"type": "embed", "hard_negatives": 2},
        "method": "full",
        "hardware": "cpu",
        "training": {
            "max_steps": 2,
            "learning_rate": 1e-5,
            "micro_batch": 16,
            "evaluation": {"allow_worse": True},
        },
    }
    bundle = compile_spec(folder, spec)
    stages = [sys.executable, "-m", "tests.end_to_end.run_stages"]
    scripts = (bundle / "prepare.py", bundle / "train.py")
    ended = run(*stages, *scripts, cwd=Path.cwd(), extra={"OMP_NUM_THREADS": "2"})
    assert ended.code == 0, ended.said
    rows = read_rows(bundle / "run/data/train.jsonl")
    found = read_json(bundle / "run/data/hard_negatives.json")
    own: dict[str, set[str]] = {}
    for row in rows:
        own.setdefault(row["anchor"], set()).add(row["positive"])

    assert found["mined"] > 0.9 * found["per_row"] * len(rows)
    texts = {row["positive"] for row in rows}
    for row in rows:
        wrong = {row["negative_1"], row["negative_2"]}
        assert len(wrong) == 2
        assert wrong <= texts - own[row["anchor"]]
    assert "negative_1" not in read_rows(bundle / "run/data/validation.jsonl")[0]
    assert (bundle / "run/train/model/model.safetensors").is_file()


@pytest.mark.prove
def test_a_stopped_training_ends_with_the_same_weights(embedded: Embedded) -> None:
    """It is resumed from its checkpoint, and the kept weights are those of the run through."""
    assert embedded.stopped.code == PREEMPTED, embedded.stopped.said
    assert "resuming from run/train/checkpoints/checkpoint-1" in embedded.ended.err
    kept = "run/train/model/model.safetensors"
    assert (embedded.bundle / kept).read_bytes() == (embedded.straight / kept).read_bytes()


@pytest.mark.prove
def test_files_have_the_vectors_of_the_model(embedded: Embedded) -> None:
    """Each text of the test split has a cosine of at least 0.999 at F16, and 0.99 at Q8_0."""
    assert embedded.ended.code == 0, embedded.ended.said
    half, eighth = embedded.read("quantize/quality.json")["files"]
    rows = read_rows(embedded.bundle / "run/data/test.jsonl")
    texts = {row[name] for row in rows for name in ("anchor", "positive")}

    assert (half["type"], eighth["type"]) == ("F16", "Q8_0")
    assert half["texts"] == eighth["texts"] == len(texts)
    assert half["other_texts"] == 0
    assert half["cosine"] >= 0.999
    assert eighth["cosine"] >= 0.99


@pytest.mark.prove
def test_the_nearest_text_is_told_first(embedded: Embedded) -> None:
    """`ask.py` ranks texts by the GGUF file, and a wrong call ends before anything is loaded."""
    rows = read_rows(embedded.bundle / "run/data/train.jsonl")
    asked, right = rows[0]["anchor"], rows[0]["positive"]
    others = list({row["positive"] for row in rows} - {right})[:3]
    ended = run(sys.executable, "ask.py", asked, *others, right, cwd=embedded.bundle)

    assert ended.code == 0, ended.said
    first = ended.out.splitlines()[0]
    assert first.endswith(right)
    assert run(sys.executable, "ask.py", asked, cwd=embedded.bundle).code == 2


@pytest.mark.prove
def test_no_text_is_wrapped_in_a_chat_template(encoders: Path, converter: Path) -> None:
    """The vectors of a Qwen3 are those of its GGUF, before and after it was saved.

    Wrapped in the template, as sentence-transformers does by default, they are others.
    """
    found = compare(converter, [], encoders, "qwen3")

    assert found["qwen3"] >= 0.999
    assert found["qwen3 reloaded"] >= 0.999
    assert found["qwen3 wrapped"] < 0.9


@pytest.mark.prove_all
def test_every_encoder_has_the_vectors_of_its_file(
    embedded: Embedded, converter: Path, tmp_path: Path, sdist: Path
) -> None:
    """They agree with llama.cpp on the test split and on texts that are hard to tokenize."""
    kinds = ("distilbert", "xlm-roberta", "modernbert")
    made = [f"{kind}={tmp_path / kind}" for kind in kinds]
    build = (sys.executable, "-m", "tests.end_to_end.builders.build_encoders", sdist)
    assert run(*build, *made, cwd=Path.cwd()).code == 0
    rows = read_rows(embedded.bundle / "run/data/test.jsonl")
    texts = sorted({row[name] for row in rows for name in ("anchor", "positive")})
    found = compare(converter, texts, tmp_path, *kinds)

    assert len(texts) > 60
    for kind in kinds:
        assert found[kind] >= 0.999
        assert found[f"{kind} tokens"] == 1


@pytest.mark.prove_all
def test_an_encoder_that_llama_cpp_does_not_know_is_trained(
    embedded: Embedded, tmp_path: Path, sdist: Path
) -> None:
    """MPNet is merged and not converted to GGUF; it uses eager attention."""
    made = ("-m", "tests.end_to_end.builders.build_encoders", sdist, f"mpnet={tmp_path / 'model'}")
    assert run(sys.executable, *made, cwd=Path.cwd()).code == 0
    shutil.copy(embedded.bundle.parent / "pairs.csv", tmp_path)
    spec = {
        "name": "search",
        "model": "./model",
        "data": "pairs.csv",
        "objective": "embed",
        "method": "lora",
        "hardware": "cpu",
        "training": {"max_steps": 2, "micro_batch": 16, "evaluation": {"allow_worse": True}},
    }
    bundle = compile_spec(tmp_path, spec)
    assert 'ATTENTION = "eager"' in (bundle / "train.py").read_text(encoding="utf-8")
    stages = [sys.executable, "-m", "tests.end_to_end.run_stages"]
    names = ("prepare.py", "train.py", "export.py:--merge", "evaluate.py", "export.py")
    scripts = (bundle / name for name in names)
    ended = run(*stages, *scripts, cwd=Path.cwd(), extra={"OMP_NUM_THREADS": "2"})
    assert ended.code == 0, ended.said
    assert read_json(bundle / "run/merged/config.json")["architectures"] == ["MPNetModel"]


def compare(converter: Path, texts: list[str], folder: Path, *kinds: str) -> dict[str, float]:
    """Return the least cosine of each kind's vectors to those of its F16 GGUF."""
    listed = folder / "texts.json"
    listed.write_text(json.dumps(texts), encoding="utf-8")
    ended = run(
        *(sys.executable, "-m", "tests.end_to_end.encoders.compare_vectors", converter, listed),
        *(f"{kind}={folder / kind}" for kind in kinds),
        cwd=Path.cwd(),
        extra={"OMP_NUM_THREADS": "2"},
    )
    assert ended.code == 0, ended.said
    found: dict[str, float] = json.loads(ended.out.splitlines()[-1])
    return found
