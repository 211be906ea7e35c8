"""Image-text models learn to name drawn shapes, are merged, converted, and answer in llama.cpp."""

import base64
import json
import random
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import gguf
import pyarrow as pa
import pytest
import torch
from PIL import Image
from pyarrow import parquet

from ftc.runtime.merge.safetensors_files import read_weights
from ftc.runtime.vision.image_store import find_images
from tests.compiler.resolve.local_hub import serve
from tests.compiler.seeing import write_rows
from tests.end_to_end.process import (
    ROOT,
    Ended,
    compile_spec,
    read_json,
    read_rows,
    run,
    write_json,
)

DRAW: Final = ROOT / "examples" / "vision" / "draw.py"
HERE: Final = Path(__file__).parent
SEEING: Final = ("projector", "vision_tower")
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
    shapes = folder / "shapes.jsonl"
    build_base(folder, family, shapes, sdist, vision)
    source = write_parquet(shapes) if is_stored else shapes
    source = write_pairs(shapes) if spec.get("objective") == "dpo" else source
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


def build_base(
    folder: Path, family: str, shapes: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """Build the miniature of a family in `folder`/base."""
    script = HERE.parent / "builders/build_seeing.py"
    extra = {**vision, "PYTHONPATH": f"{vision['PYTHONPATH']}:{ROOT}"}
    built = run(
        sys.executable, script, family, folder / "base", shapes, sdist, cwd=folder, extra=extra
    )
    assert built.code == 0, built.said


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


def write_pairs(shapes: Path) -> Path:
    """Write the right answer beside a wrong one, after the picture itself; return the file."""
    rows = read_rows(shapes)
    names, draw = sorted({row["answer"] for row in rows}), random.Random(0)  # noqa: S311
    pairs = []
    for row in rows:
        data = base64.b64encode((shapes.parent / row["image"]).read_bytes()).decode()
        shown = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        content = [shown, {"type": "text", "text": row["question"]}]
        wrong = draw.choice([name for name in names if name != row["answer"]])
        said = (("chosen", row["answer"]), ("rejected", wrong))
        pairs.append(
            {
                name: [
                    {"role": "user", "content": content},
                    {"role": "assistant", "content": answer},
                ]
                for name, answer in said
            }
        )
    path = shapes.with_name("pairs.jsonl")
    write_rows(path, pairs)
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
        method={"type": "full", "parts": ["language_model", *SEEING]},
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


@pytest.mark.prove_all
def test_a_hybrid_with_a_tower_learns_too(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """An LFM2-VL, whose language model has short convolutions."""
    check_learned(tmp_path, sdist, vision, "lfm2_vl")


@pytest.mark.prove_all
def test_a_model_that_reads_tiles_learns_too(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """An InternVL."""
    check_learned(tmp_path, sdist, vision, "internvl")


@pytest.mark.prove_all
def test_adapters_of_every_part_are_resumed_and_merged(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """LoRA on a Qwen2.5-VL: a stopped run ends in the same bits, and its GGUF file sees as it."""
    bundle = make_bundle(
        tmp_path,
        "qwen2_5_vl",
        sdist,
        vision,
        is_stored=False,
        rows=600,
        method={"type": "lora", "rank": 16, "parts": ["language_model", *SEEING]},
        training={
            "max_steps": 60,
            "global_batch": 16,
            "learning_rate": 0.003,
            "gradient_checkpointing": True,
            "evaluation": {"allow_worse": True},
        },
    )
    start(bundle, vision, "prepare.py")
    other = Path(shutil.copytree(bundle, bundle.with_name("other")))
    (bundle / "run/stop").touch()
    stopped = run(sys.executable, "train.py", cwd=bundle, extra=vision)
    assert "stopped by a signal at step 1 of 60" in stopped.out + stopped.err, stopped.said
    for folder in (bundle, other):
        start(folder, vision, "train.py")
    for script in (["export.py", "--merge"], ["evaluate.py"], ["export.py"]):
        start(bundle, vision, *script)

    adapter = "run/train/model/adapter_model.safetensors"
    assert (bundle / adapter).read_bytes() == (other / adapter).read_bytes()
    old, new = (read_weights(folder) for folder in (tmp_path / "base", bundle / "run/merged"))
    changed = {name for name in old.entries if not torch.equal(old.read(name), new.read(name))}
    linears = {"model.": 2 * 7, "visual.blocks.": 4 * 5, "visual.merger.": 2}
    assert len(changed) == sum(linears.values())
    for begins, count in linears.items():
        assert sum(name.startswith(begins) for name in changed) == count
    assert read_json(bundle / "run/projector/report.json")["cosine"] > 0.999
    converted = read_tensor(bundle / "run/projector/seer-mmproj.gguf", "v.blk.0.attn_out.weight")
    name = "visual.blocks.0.attn.proj.weight"
    assert torch.allclose(converted, new.read(name).float(), atol=1e-4)
    assert not torch.allclose(converted, old.read(name).float(), atol=1e-4)


@pytest.mark.prove_all
def test_an_adapter_on_a_base_of_four_bits(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """QLoRA: the language model's linear weights change, in 16 bits, and nothing that sees does."""
    bundle = make_bundle(
        tmp_path,
        "qwen2_5_vl",
        sdist,
        vision,
        is_stored=False,
        rows=200,
        method={"type": "qlora", "rank": 8},
        training={
            "max_steps": 10,
            "global_batch": 16,
            "learning_rate": 0.003,
            "evaluation": {"allow_worse": True},
        },
    )
    for script in ("prepare.py",), ("train.py",), ("export.py", "--merge"), ("evaluate.py",):
        start(bundle, vision, *script)
    start(bundle, vision, "export.py")

    old, new = (read_weights(folder) for folder in (tmp_path / "base", bundle / "run/merged"))
    changed = {name for name in old.entries if not torch.equal(old.read(name), new.read(name))}
    assert len(changed) == 2 * 7
    assert all(name.startswith("model.") for name in changed)
    assert read_json(bundle / "run/projector/report.json")["cosine"] > 0.999


@pytest.mark.prove_all
def test_pairs_of_answers_to_pictures(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """DPO: a stopped run ends in the same bits, and the right answer becomes the likelier one.

    The texts do not tell right from wrong; only the pictures do.
    """
    bundle = make_bundle(
        tmp_path,
        "gemma3",
        sdist,
        vision,
        is_stored=False,
        rows=1200,
        objective="dpo",
        method={"type": "full", "parts": ["language_model", *SEEING]},
        training={
            "max_steps": 100,
            "global_batch": 16,
            "learning_rate": 0.001,
            "evaluation": {"every_steps": 100, "allow_worse": True},
        },
    )
    start(bundle, vision, "prepare.py")
    other = Path(shutil.copytree(bundle, bundle.with_name("other")))
    (bundle / "run/stop").touch()
    stopped = run(sys.executable, "train.py", cwd=bundle, extra=vision)
    assert "stopped by a signal at step 1 of 100" in stopped.out + stopped.err, stopped.said
    for folder in (bundle, other):
        start(folder, vision, "train.py")
    for script in (["export.py", "--merge"], ["evaluate.py"], ["export.py"]):
        start(bundle, vision, *script)

    trained = "run/train/model/model.safetensors"
    assert (bundle / trained).read_bytes() == (other / trained).read_bytes()
    report = read_json(bundle / "run/evaluate/report.json")
    assert report["reward_accuracy"] > 0.7
    assert report["chance_verdict"] == "better"
    judged = read_rows(bundle / "run/evaluate/predictions.jsonl")
    assert json.loads(judged[0]["images"])[0].keys() == {"stored", "width", "height"}
    assert read_json(bundle / "run/projector/report.json")["cosine"] > 0.999
    said = (bundle / "run/report.md").read_text(encoding="utf-8")
    assert "![](evaluate/pictures/" in said


def read_tensor(path: Path, name: str) -> Any:
    """Return a tensor of a GGUF file."""
    (found,) = (tensor for tensor in gguf.GGUFReader(path).tensors if tensor.name == name)
    return torch.tensor(found.data).float()


@pytest.mark.prove
def test_images_of_several_data_sets(
    tmp_path: Path, sdist: Path, vision: Mapping[str, str]
) -> None:
    """Files of two folders and parquet on the Hub: every reference opens the row's own picture."""
    files, stored = tmp_path / "files", tmp_path / "stored"
    for folder in (files, stored):
        drawn = run(sys.executable, DRAW, "--rows", "60", "--out", folder, cwd=tmp_path)
        assert drawn.code == 0, drawn.said
    rows = read_rows(files / "shapes.jsonl")
    write_rows(files / "shapes.jsonl", rows[:30])
    more = {"question": "And in this one?", "image": "0059.png", "answer": rows[59]["answer"]}
    write_rows(files / "pictures/more.jsonl", [more])
    held = write_parquet(stored / "shapes.jsonl").read_bytes()
    build_base(tmp_path, "qwen2_5_vl", files / "shapes.jsonl", sdist, vision)
    spec = {
        "name": "mixed",
        "model": "./base",
        "data": {
            "sources": ["files/shapes.jsonl", "files/pictures/more.jsonl", "acme/shapes"],
            "cleaning": {"drop_duplicates": False},
        },
        "hardware": "cpu",
        "method": "lora",
    }
    write_json(tmp_path / "spec.json", spec)
    with serve() as hub:
        hub.add("datasets/acme/shapes", {"train.parquet": held, "README.md": b"# shapes"})
        online = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
        }
        compiled = run("ftc", "compile", "spec.json", cwd=tmp_path, extra=online)
        assert compiled.code == 0, compiled.said
        bundle = tmp_path / "mixed"
        start(bundle, {**vision, **online}, "prepare.py")
        again = start(bundle, {**vision, **online}, "prepare.py")
        shutil.copy(files / "pictures/0000.png", files / "pictures/0059.png")
        replaced = start(bundle, {**vision, **online}, "prepare.py")

    assert "runs again" not in again.said
    assert "runs again, because" in replaced.said
    assert "0059.png" in replaced.said
    data = bundle / "run/data"
    splits = ("train", "validation", "test")
    records = [row for name in splits for row in read_rows(data / f"{name}.jsonl")]
    opened, found = find_images(data), [json.loads(row["images"])[0] for row in records]
    assert len(found) == 30 + 1 + 60
    assert sum("stored" in reference for reference in found) == 60
    assert {opened(reference).size for reference in found} == {opened(found[0]).size}
    (alone,) = (one for one in found if one.get("path", "").endswith("0059.png"))
    with Image.open(files / "pictures/0059.png") as picture:
        assert opened(alone).tobytes() == picture.convert("RGB").tobytes()
