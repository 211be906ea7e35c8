"""Image-text models learn to name drawn shapes, are merged, converted, and answer in llama.cpp."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.end_to_end.process import ROOT, Ended, compile_spec, read_json, read_rows, run

DRAW: Final = ROOT / "examples" / "vision" / "draw.py"
HERE: Final = Path(__file__).parent
CHANCE: Final = 1 / 36  # six shapes in six colours
VERIFY: Final = {
    "max_divergence": 0.05,
    "min_agreement": 0.9,
    "max_perplexity_ratio": 1.1,
    "max_metric_drop": 0.2,
    "tokens": 64,
}


def make_bundle(
    folder: Path,
    family: str,
    sdist: Path,
    vision: Mapping[str, str],
    *,
    is_stored: bool,
    **spec: Any,
) -> Path:
    """Draw pictures, build a miniature and compile a bundle; pictures may be stored in the data."""
    rows = spec.pop("rows")
    drawn = run(sys.executable, DRAW, "--rows", str(rows), "--out", folder, cwd=folder)
    assert drawn.code == 0, drawn.said
    script, shapes = HERE / "build_seeing.py", folder / "shapes.jsonl"
    extra = {**vision, "PYTHONPATH": f"{vision['PYTHONPATH']}:{ROOT}"}
    built = run(
        sys.executable, script, family, folder / "base", shapes, sdist, cwd=folder, extra=extra
    )
    assert built.code == 0, built.said
    source = write_parquet(shapes) if is_stored else shapes
    data = {"source": source.name, "splits": {"test": 0.05, "validation": 0.05}}
    return compile_spec(
        folder,
        {
            "name": "seer",
            "model": "./base",
            "data": data,
            "hardware": "cpu",
            "export": {"types": ["F16"], "verify": VERIFY},
            **spec,
        },
    )


def start(bundle: Path, vision: Mapping[str, str], *command: str | Path) -> Ended:
    """Run a script of the bundle to its end."""
    done = run(sys.executable, *command, cwd=bundle, extra=vision)
    assert done.code == 0, done.said
    return done


def write_parquet(shapes: Path) -> Path:
    """Write the rows with the bytes of their pictures; return the file."""
    rows = read_rows(shapes)
    for row in rows:
        row["image"] = {"bytes": (shapes.parent / row["image"]).read_bytes(), "path": None}
    path = shapes.with_suffix(".parquet")
    parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def check_learned(
    folder: Path,
    sdist: Path,
    vision: Mapping[str, str],
    family: str,
    *,
    is_stored: bool = False,
) -> None:
    """Run every stage, and hold the results to the pictures."""
    bundle = make_bundle(
        folder,
        family,
        sdist,
        vision,
        is_stored=is_stored,
        rows=1200,
        method={"type": "full", "parts": ["language_model", "projector", "vision_tower"]},
        training={
            "max_steps": 150,
            "global_batch": 16,
            "learning_rate": 0.001,
            "evaluation": {"metric": "exact_match", "every_steps": 150},
        },
    )
    for script in (["prepare.py"], ["train.py"], ["export.py", "--merge"], ["evaluate.py"]):
        start(bundle, vision, *script)
    start(bundle, vision, "export.py")
    records = read_rows(bundle / "run/data/train.jsonl")
    asked = read_rows(bundle / "run/evaluate/predictions.jsonl")
    (picture,) = json.loads(asked[0]["images"])
    place = (
        bundle / "run/data/images" / picture["stored"] if is_stored else folder / picture["path"]
    )
    said = start(bundle, vision, "ask.py", "What is in the picture?", "--image", place)

    assert "pixel_values" not in records[0]
    assert json.loads(records[0]["images"])[0].keys() == picture.keys()
    assert sum(row["score"] for row in asked) / len(asked) > 4 * CHANCE
    report = read_json(bundle / "run/projector/report.json")
    assert report["cosine"] > 0.999
    assert report["files"]["F16"]["same_answers"] > 0.7
    assert len(said.out.split()) <= 4
    assert "![](evaluate/pictures/" in (bundle / "run/report.md").read_text(encoding="utf-8")
    base, merged = folder / "base", bundle / "run/merged"
    assert (merged / "config.json").read_bytes() == (base / "config.json").read_bytes()
    modelfile = (bundle / "Modelfile").read_text(encoding="utf-8")
    assert [line for line in modelfile.splitlines() if line.startswith("FROM ")] == [
        "FROM ./run/quantize/seer-F16.gguf",
        "FROM ./run/projector/seer-mmproj.gguf",
    ]


@pytest.mark.prove
def test_a_model_learns_to_name_shapes(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """A Gemma 3: far above chance, in transformers and in llama.cpp."""
    check_learned(tmp_path, sdist, vision, "gemma3")


@pytest.mark.prove_all
def test_another_family_learns_too(tmp_path: Path, sdist: Path, vision: Mapping[str, str]) -> None:
    """A Qwen2.5-VL, whose images have a token for each part, from pictures inside the data."""
    check_learned(tmp_path, sdist, vision, "qwen2_5_vl", is_stored=True)
