"""`ftc rehearse` of an embedding model and of a reranker: from a config to files that rank."""

import csv
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.process import read_json, rehearse, run, write_json

STAGES: Final = (
    *("compile", "miniature", "prepare", "train", "resume", "merge", "evaluate", "convert"),
    *("quantize", "report", "compare", "answer"),
)
#: The sizes of a published model; the folder that is written has a small one.
SIZES: Final = {
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_size": 768,
}
#: As a published modules.json has them, by their places.
POOLED: Final = [
    {"idx": idx, "name": str(idx), "path": path, "type": f"sentence_transformers.models.{kind}"}
    for idx, (path, kind) in enumerate(
        (("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize"))
    )
]


def write_inputs(folder: Path, kind: str, shared: Path, sdist: Path) -> None:
    """Write the config and the tokenizer of an encoder without its weights, and pairs of texts."""
    model = folder / kind
    script = "tests.end_to_end.builders.build_encoders"
    written = run(sys.executable, "-m", script, sdist, f"{kind}={model}", cwd=Path.cwd())
    assert written.code == 0, written.said
    (model / "model.safetensors").unlink()
    write_json(model / "config.json", {**read_json(model / "config.json"), **SIZES})
    if kind == "bert":
        (model / "1_Pooling").mkdir()
        write_json(model / "modules.json", POOLED)
        pooling = {"word_embedding_dimension": 768, "pooling_mode_cls_token": True}
        write_json(model / "1_Pooling" / "config.json", pooling)
    with (shared / "data" / "banking77_train.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    firsts = {row["category"]: row["text"] for row in reversed(rows)}
    with (folder / "pairs.csv").open("w", encoding="utf-8", newline="") as file:
        pairs = [[row["text"], firsts[row["category"]]] for row in rows[1::20]]
        csv.writer(file).writerows([["query", "passage"], *pairs])


@pytest.mark.prove_all
@pytest.mark.parametrize(("objective", "kind"), [("embed", "bert"), ("rerank", "xlm-roberta")])
def test_every_stage_ends_well(
    tmp_path: Path, shared: Path, sdist: Path, objective: str, kind: str
) -> None:
    """Training is killed and resumed, and the F16 file differs by rounding alone."""
    write_inputs(tmp_path, kind, shared, sdist)
    spec: dict[str, Any] = {
        "name": "texts",
        "model": f"./{kind}",
        "data": "pairs.csv",
        "objective": objective,
        "method": "lora",
        "hardware": "1x RTX-4090",
        "export": ["Q8_0"],
    }
    stages = rehearse(tmp_path, spec, sdist)

    assert tuple(stages) == STAGES
    assert "nDCG@10" in stages["evaluate"]["result"]
    assert stages["compare"]["result"].startswith("F16: ")
