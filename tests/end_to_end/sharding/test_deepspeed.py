"""The same global batch gives the same loss curve, however many processes share it.

One process, copies on two processes, and DeepSpeed's ZeRO-1, ZeRO-2 and ZeRO-3 on two processes,
with what can be offloaded, each from the generated files alone, on a CPU and in fp32. Offload runs
through DeepSpeed's own code for it; that something leaves a GPU is what a CPU cannot show.
"""

import csv
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import compile_spec, read_json, run, train

STEPS = 8
ROWS = 1 + 65  # a line of names, and rows of which 52 are trained on and 6 are validated
SAME = 1e-6  # share of a loss of the same weights
TOLERANCE = 1e-4  # nats per token, at every step; ZeRO-3 measured at 2.1e-5, copies at 1e-6
SPEC: dict[str, Any] = {
    "model": "./model",
    "data": "tickets.csv",
    "method": "full",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 4,
        "learning_rate": 0.002,
        "embedding_learning_rate": 0.0005,
        "evaluation": {"every_steps": 4},
    },
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]) -> Path:
    """Return a folder with the model and rows for an epoch of seven steps, the last not filled.

    The rows of validation fill no batches of two processes either.
    """
    folder = tmp_path_factory.mktemp("deepspeed")
    (folder / "model").symlink_to(model)
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tickets[:ROWS])
    return folder


def curve(
    folder: Path, processes: int, strategy: str, offload: str = "none", *, rows: str = "single"
) -> dict[str, list[list[float]]]:
    """Compile for some processes, prepare and train; return the curve as (step, loss) pairs."""
    return train_bundle(make_bundle(folder, processes, strategy, offload, rows=rows))


def make_bundle(
    folder: Path,
    processes: int,
    strategy: str,
    offload: str,
    *,
    rows: str = "single",
    nvme: Path | None = None,
) -> Path:
    """Compile for some processes and prepare."""
    name = f"{strategy}-{processes}" if offload == "none" else f"{strategy}-{offload}"
    spec = {
        **SPEC,
        **({"data": {"source": "tickets.csv", "packing": "best-fit"}} if rows == "packed" else {}),
        "name": name if rows == "single" else f"{name}-{rows}",
        "training": {
            **SPEC["training"],
            "micro_batch": min(4, 8 // processes),
            "group_by_length": rows == "grouped",
        },
        "hardware": f"{processes}x cpu",
        "distribution": {
            "strategy": strategy,
            "offload": offload,
            "nvme_path": None if nvme is None else str(nvme),
        },
    }
    if nvme is not None:
        spec["name"] += "-disk"
    bundle = compile_spec(folder, spec, name=f"{spec['name']}.json")
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    return bundle


def train_bundle(bundle: Path) -> dict[str, list[list[float]]]:
    """Train on as many processes as the bundle says; return the curve."""
    processes = read_json(bundle / "ftc.lock.json")["decisions"]["world"]["value"]
    trained = train(bundle)
    assert trained.code == 0, trained.said
    assert f"x {processes} processes" in trained.out
    losses: dict[str, list[list[float]]] = read_json(bundle / "run/train/curve.json")
    return losses


@pytest.fixture(scope="session")
def alone(folder: Path) -> dict[str, list[list[float]]]:
    """Return the curve of one process."""
    return curve(folder, 1, "auto")


def hold_equal(alone: dict[str, list[list[float]]], together: dict[str, list[list[float]]]) -> None:
    """Assert that two curves have the same steps and, within the tolerance, the same losses."""
    assert [step for step, _ in alone["train"]] == list(range(1, STEPS + 1))
    assert alone["train"][-1][1] < alone["train"][0][1] - 1
    for name in ("train", "validation"):
        for (step, one), (other_step, other) in zip(alone[name], together[name], strict=True):
            assert step == other_step
            assert abs(one - other) < TOLERANCE, (name, step, one, other)
    before, together_before = alone["validation"][0][1], together["validation"][0][1]
    assert together_before == pytest.approx(before, rel=SAME)


@pytest.mark.prove
def test_zero2_on_two_processes(folder: Path, alone: dict[str, list[list[float]]]) -> None:
    """Shared optimizer states and gradients change no loss."""
    together = curve(folder, 2, "zero2")

    assert read_json(folder / "zero2-2/deepspeed.json")["zero_optimization"]["stage"] == 2
    hold_equal(alone, together)


@pytest.mark.prove
def test_zero3_on_two_processes(folder: Path, alone: dict[str, list[list[float]]]) -> None:
    """Shared weights change no loss."""
    together = curve(folder, 2, "zero3")

    assert read_json(folder / "zero3-2/deepspeed.json")["zero_optimization"]["stage"] == 3
    hold_equal(alone, together)


@pytest.mark.prove
def test_copies_on_two_processes(folder: Path, alone: dict[str, list[list[float]]]) -> None:
    """Two copies that average their gradients change no loss."""
    together = curve(folder, 2, "ddp")

    assert not (folder / "ddp-2/deepspeed.json").exists()
    hold_equal(alone, together)


@pytest.mark.prove_all
def test_zero1_on_two_processes(folder: Path, alone: dict[str, list[list[float]]]) -> None:
    """Shared optimizer states change no loss."""
    together = curve(folder, 2, "zero1")

    assert read_json(folder / "zero1-2/deepspeed.json")["zero_optimization"]["stage"] == 1
    hold_equal(alone, together)


@pytest.mark.prove_all
def test_an_offloaded_optimizer_on_one_process(
    folder: Path, alone: dict[str, list[list[float]]]
) -> None:
    """ZeRO for the sake of offload alone, with torch's AdamW on the host, changes no loss."""
    offloaded = curve(folder, 1, "zero2", "optimizer")

    settings = read_json(folder / "zero2-optimizer/deepspeed.json")
    assert settings["zero_optimization"]["offload_optimizer"]["device"] == "cpu"
    hold_equal(alone, offloaded)


@pytest.mark.prove
def test_offloaded_weights_on_two_processes(
    folder: Path, alone: dict[str, list[list[float]]]
) -> None:
    """Weights and optimizer states that wait on the host change no loss."""
    together = curve(folder, 2, "zero3", "parameters")

    settings = read_json(folder / "zero3-parameters/deepspeed.json")["zero_optimization"]
    assert settings["offload_param"]["device"] == settings["offload_optimizer"]["device"] == "cpu"
    hold_equal(alone, together)


@pytest.mark.prove_all
@pytest.mark.parametrize("offload", ["optimizer", "parameters"])
def test_what_a_disk_holds_changes_no_loss(
    folder: Path, alone: dict[str, list[list[float]]], tmp_path: Path, offload: str
) -> None:
    """States and weights in files of a folder give the same curve, and so does a resumed run."""
    needs_libaio()
    bundle = make_bundle(folder, 2, "zero3", offload, nvme=tmp_path)
    hold_equal(alone, train_bundle(bundle))

    files = list((tmp_path / bundle.name / "zero_stage_3").rglob("*.swp"))
    kinds = {path.parent.parent.name for path in files if path.stat().st_size >= 2**20}
    assert kinds == {"optimizer", *(["float32params"] if offload == "parameters" else [])}

    trained = bundle / "run/train/model/model.safetensors"
    weights = trained.read_bytes()
    shutil.rmtree(trained.parent)
    shutil.rmtree(bundle / f"run/train/checkpoints/checkpoint-{STEPS}")
    hold_equal(alone, train_bundle(bundle))
    assert trained.read_bytes() == weights


def needs_libaio() -> None:
    """Skip where DeepSpeed cannot compile its reader of files; else it does so here, once."""
    imported = "from deepspeed.ops.op_builder import AsyncIOBuilder as a; "
    looks = f"{imported}print(a().is_compatible())"
    on_cpu = {"DS_ACCELERATOR": "cpu"}
    if "True" not in run("python", "-c", looks, cwd=Path(), extra=on_cpu).out.split():
        pytest.skip("libaio is not here: apt install libaio-dev")
    compiled = run("python", "-c", f"{imported}a().load()", cwd=Path(), extra=on_cpu)
    assert compiled.code == 0, compiled.said


@pytest.mark.prove_all
def test_rows_grouped_by_length_on_two_processes(folder: Path) -> None:
    """Rows that are grouped by length make the same steps on two processes as on one."""
    hold_equal(curve(folder, 1, "auto", rows="grouped"), curve(folder, 2, "ddp", rows="grouped"))


@pytest.mark.prove_all
@pytest.mark.parametrize("strategy", ["ddp", "zero2", "zero3"])
def test_four_processes(folder: Path, alone: dict[str, list[list[float]]], strategy: str) -> None:
    """The spec that one process trained gives the same curve on four."""
    hold_equal(alone, curve(folder, 4, strategy))


@pytest.mark.prove_all
@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("rows", ["packed", "grouped"])
def test_arranged_rows_on_more_processes(folder: Path, rows: str, processes: int) -> None:
    """Packed rows, and rows grouped by length, give the same curve on any number of processes."""
    hold_equal(curve(folder, 1, "auto", rows=rows), curve(folder, processes, "zero2", rows=rows))
