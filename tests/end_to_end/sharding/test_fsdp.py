"""Bundles that FSDP2 shards, on two processes of a CPU by accelerate's own code for it.

They are compiled for two GPUs, in fp32, and run as they are but for `shard_on_cpu.py`.
"""

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from tests.end_to_end.process import Ended, compile_spec, read_json, run

SHIM = Path(__file__).with_name("shard_on_cpu.py")
STEPS = 4
TOLERANCE = 1e-4  # nats per token, at every step; measured at 1e-6
LAUNCH = ("accelerate", "launch", "--config_file", "accelerate.yaml")
SPEC = {
    "model": "./model",
    "data": "tickets.csv",
    "hardware": {"gpu": "A100-80GB", "count": 2, "ram_gib": 200},
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 2,
        "precision": "fp32",
        "gradient_checkpointing": True,
        "learning_rate": 0.002,
        "evaluation": {"every_steps": 2},
    },
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]) -> Path:
    """Return a folder with the model and enough rows for the steps."""
    folder = tmp_path_factory.mktemp("fsdp")
    (folder / "model").symlink_to(model)
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tickets[:65])
    return folder


def prepare(folder: Path, name: str, **changed: Any) -> Path:
    """Compile a spec and prepare its data; return the bundle."""
    bundle = compile_spec(folder, {**SPEC, "name": name, **changed}, name=f"{name}.json")
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    return bundle


def train(bundle: Path, *runner: str | Path) -> Ended:
    """Run the stage that trains, a thread per process."""
    return run(*LAUNCH, *runner, "train.py", cwd=bundle, extra={"OMP_NUM_THREADS": "1"})


def losses(bundle: Path) -> list[float]:
    """Return the losses of training, and those of validation after them."""
    curve = read_json(bundle / "run/train/curve.json")
    return [loss for name in ("train", "validation") for _, loss in curve[name]]


@pytest.mark.prove
def test_a_full_fine_tune_in_shards(folder: Path) -> None:
    """Every weight is a shard, the curve is that of copies, and a resumed run ends the same."""
    bundle = prepare(folder, "shards", method="full", distribution="fsdp")
    trained = train(bundle, SHIM)
    assert trained.code == 0, trained.said
    whole = losses(bundle)
    copies = prepare(folder, "copies", method="full", hardware="2x cpu", distribution="ddp")
    ended = train(copies)
    assert ended.code == 0, ended.said
    for one, other in zip(whole, losses(copies), strict=True):
        assert abs(one - other) < TOLERANCE

    model = read_model(bundle)
    shutil.rmtree(bundle / "run/train/checkpoints/checkpoint-4")
    (bundle / "run/done/train.json").unlink()
    resumed = train(bundle, SHIM)
    assert "resuming from run/train/checkpoints/checkpoint-2" in resumed.out, resumed.said
    assert losses(bundle)[-1] == whole[-1]
    assert read_model(bundle) == model


@pytest.mark.prove
def test_an_adapter_of_a_4_bit_base_in_shards(folder: Path) -> None:
    """A 4-bit base in a type that shards trains, and its adapter is saved whole."""
    bundle = prepare(folder, "qlora", method="qlora", distribution="fsdp")
    trained = train(bundle, SHIM)

    assert trained.code == 0, trained.said  # the post-conditions: shards, an adapter that moved
    with safe_open(bundle / "run/train/model/adapter_model.safetensors", framework="pt") as file:
        sizes = [file.get_slice(name).get_shape() for name in file.keys()]  # noqa: SIM118
    assert len(sizes) == 2 * 7 * 2  # A and B of seven linear modules, in two layers
    assert all(len(size) == 2 and min(size) > 0 for size in sizes)


@pytest.mark.prove
def test_copies_in_place_of_shards_are_told(folder: Path) -> None:
    """Where the launcher starts copies instead, training ends before its first step."""
    bundle = prepare(folder, "told", method="lora", distribution="fsdp")
    launch = (bundle / "accelerate.yaml").read_text(encoding="utf-8")
    (bundle / "accelerate.yaml").write_text(launch.replace("_type: FSDP", "_type: MULTI_GPU"))
    ended = train(bundle, SHIM)

    assert ended.code != 0
    assert "post-condition failed: the processes divide every weight, but " in ended.err
    assert "training loss" not in ended.out


def read_model(bundle: Path) -> bytes:
    """Return the trained weights as they were written."""
    return (bundle / "run/train/model/model.safetensors").read_bytes()
