"""Training that is killed, stopped or left with half a checkpoint ends as if nothing had been."""

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ftc.runtime.exit_codes import PREEMPTED
from tests.end_to_end.faults.kills import kill_along
from tests.end_to_end.process import compile_spec, environment, run, train

pytestmark = pytest.mark.prove

STEPS = 40
EVERY = 8
WAIT_SECONDS = 120
WEIGHTS = "run/train/model/model.safetensors"


@pytest.fixture(scope="module")
def prepared(
    tmp_path_factory: pytest.TempPathFactory, model: Path, tickets: list[list[str]]
) -> Path:
    """Return a bundle whose data are prepared, and nothing more."""
    folder = tmp_path_factory.mktemp("interrupted")
    (folder / "model").symlink_to(model)
    rows = [f'"{text.replace(chr(34), "")}",{intent}' for text, intent in tickets[:201]]
    (folder / "tickets.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    spec = {
        "name": "whole",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": {
            "max_steps": STEPS,
            "global_batch": 8,
            "learning_rate": 0.002,
            "embedding_learning_rate": 0.0005,
            "evaluation": {"every_steps": EVERY},
        },
    }
    bundle = compile_spec(folder, spec)
    ended = run("python", "prepare.py", cwd=bundle)
    assert ended.code == 0, ended.said
    return bundle


@pytest.fixture(scope="module")
def uninterrupted(prepared: Path) -> bytes:
    """Return the weights of a training that nothing disturbed."""
    bundle = shutil.copytree(prepared, prepared.with_name("uninterrupted"))
    trained = train(bundle, cold=True)
    assert trained.code == 0, trained.said
    return (bundle / WEIGHTS).read_bytes()


def start(bundle: Path) -> subprocess.Popen[bytes]:
    """Start `run.sh` in the background; its words go to a file beside the bundle."""
    with bundle.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            ["./run.sh"], cwd=bundle, env=environment(), stdout=log, stderr=subprocess.STDOUT
        )


def wait_for(bundle: Path, text: str) -> None:
    """Wait until the log holds a text."""
    log = bundle.with_suffix(".log")
    for _ in range(WAIT_SECONDS * 20):
        if text in log.read_text(encoding="utf-8"):
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8")[-3000:])


def find_trainer(bundle: Path) -> int:
    """Return the process id of the `train.py` that works in this bundle, not its launcher's."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            here = (entry / "cwd").resolve() == bundle.resolve()
        except OSError:
            continue
        if here and b"train.py" in words and b"launch" not in words:
            return int(entry.name)
    raise AssertionError("no train.py is at work")


def test_killed_with_half_a_checkpoint(prepared: Path, uninterrupted: bytes) -> None:
    """Killed in three stages, the newest checkpoint cut short, it ends in the same weights."""
    unprepared = shutil.ignore_patterns("run")
    bundle = Path(shutil.copytree(prepared, prepared.with_name("killed"), ignore=unprepared))
    early = list(kill_along(bundle, ["prepare"], random.Random(1)))  # noqa: S311
    started = start(bundle)
    wait_for(bundle, f"step {3 * EVERY + 2} of")
    os.kill(find_trainer(bundle), signal.SIGKILL)
    code = started.wait(WAIT_SECONDS)
    whole, half = (bundle / f"run/train/checkpoints/checkpoint-{n * EVERY}" for n in (2, 3))
    weights = half / "model.safetensors"
    with weights.open("rb+") as file:
        file.truncate(weights.stat().st_size // 2)
    late = list(kill_along(bundle, ["merge"], random.Random(1)))  # noqa: S311

    again = run("./run.sh", cwd=bundle, cold=True)

    assert code == 1
    assert [kill.struck for kill in early + late] == ["prepare", "merge"]
    killed = bundle.with_suffix(".log").read_text(encoding="utf-8")
    assert "without an error message, as if killed by signal 9" in killed
    assert f"./run.sh resumes from run/train/checkpoints/{half.name}\n" in killed
    assert again.code == 0, again.said
    assert "prepare: already done" in again.out
    assert f"resuming from run/train/checkpoints/{whole.name}\n" in killed
    assert (bundle / WEIGHTS).read_bytes() == uninterrupted


def test_told_to_stop(prepared: Path, uninterrupted: bytes) -> None:
    """SIGTERM leaves a checkpoint and exit code 75; started again, it ends in the same bits."""
    bundle = Path(shutil.copytree(prepared, prepared.with_name("stopped")))
    started = start(bundle)
    wait_for(bundle, f"step {2 * EVERY + 2} of")
    started.terminate()
    code = started.wait(WAIT_SECONDS)
    kept = sorted((bundle / "run/train/checkpoints").glob("checkpoint-*"))

    again = run("./run.sh", cwd=bundle, cold=True)

    assert code == PREEMPTED
    assert len(kept) == 2
    assert again.code == 0, again.said
    assert "resuming from run/train/checkpoints/checkpoint-" in again.out
    assert f"checkpoint-{2 * EVERY}\n" not in again.out
    assert (bundle / WEIGHTS).read_bytes() == uninterrupted
