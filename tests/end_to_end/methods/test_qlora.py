"""QLoRA on a CPU: it learns, survives SIGKILL to the bit, and leaves the base as it was."""

import csv
import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.end_to_end.faults.test_interrupted import WAIT_SECONDS, find_trainer, start, wait_for
from tests.end_to_end.process import compile_spec, read_json, run, train

pytestmark = pytest.mark.prove

STEPS = 18
EVERY = 6
ADAPTER = "run/train/model/adapter_model.safetensors"


@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]
) -> Path:
    """Return a bundle whose data are prepared, and nothing more."""
    folder = tmp_path_factory.mktemp("qlora")
    (folder / "model").symlink_to(model)
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tickets[:161])
    spec = {
        "name": "whole",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": {"type": "qlora", "rank": 8},
        "training": {
            "max_steps": STEPS,
            "global_batch": 8,
            "learning_rate": 0.005,
            "evaluation": {"every_steps": EVERY},
        },
        "export": ["Q8_0"],
    }
    bundle = compile_spec(folder, spec)
    ended = run("python", "prepare.py", cwd=bundle)
    assert ended.code == 0, ended.said
    return bundle


@pytest.fixture(scope="module")
def uninterrupted(prepared: Path) -> Path:
    """Return a bundle whose training nothing disturbed."""
    bundle = Path(shutil.copytree(prepared, prepared.with_name("uninterrupted")))
    trained = train(bundle, cold=True)
    assert trained.code == 0, trained.said
    return bundle


@pytest.fixture(scope="module")
def resumed(prepared: Path, sdist: Path) -> Path:
    """Return a bundle that was killed between two checkpoints and then ran to its end."""
    bundle = Path(shutil.copytree(prepared, prepared.with_name("resumed")))
    started = start(bundle)
    wait_for(bundle, f"step {2 * EVERY + 2} of")
    os.kill(find_trainer(bundle), signal.SIGKILL)
    assert started.wait(WAIT_SECONDS) == 1
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    again = run("./run.sh", cwd=bundle, extra=extra, cold=True)
    assert again.code == 0, again.said
    assert f"resuming from run/train/checkpoints/checkpoint-{2 * EVERY}\n" in again.out
    return bundle


def test_the_loss_falls(uninterrupted: Path) -> None:
    """Both losses fall by more than the batches differ."""
    curve = read_json(uninterrupted / "run/train/curve.json")

    assert curve["train"][-1][1] < curve["train"][0][1] - 1
    assert curve["validation"][-1][1] < curve["validation"][0][1]


def test_a_killed_run_ends_in_the_same_bits(uninterrupted: Path, resumed: Path) -> None:
    """The adapter has the values and the dtype of a training that nothing disturbed."""
    torch = pytest.importorskip("safetensors.torch")
    weights = torch.load_file(resumed / ADAPTER)

    assert {str(weight.dtype) for weight in weights.values()} == {"torch.bfloat16"}
    assert (resumed / ADAPTER).read_bytes() == (uninterrupted / ADAPTER).read_bytes()


def test_the_merge_starts_from_the_original_weights(resumed: Path, model: Path) -> None:
    """What has no adapter is the base to the bit; what has one moved from it."""
    torch = pytest.importorskip("safetensors.torch")
    base = torch.load_file(model / "model.safetensors")
    merged = torch.load_file(resumed / "run/merged/model.safetensors")
    moved = {name for name, weight in merged.items() if not weight.equal(base[name].to(weight))}

    assert moved
    assert {name.split(".")[-2] for name in moved} <= {
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    }  # fmt: skip


def test_the_gguf_is_there(resumed: Path) -> None:
    """The merged model was converted and quantized, and held against the trained one."""
    (gguf,) = (resumed / "run/quantize").glob("*-Q8_0.gguf")

    assert gguf.read_bytes()[:4] == b"GGUF"
