"""A pilot of the quickstart on this machine's CPU: its measurements, and untouched files."""

import csv
import hashlib
import re
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import (
    QUICKSTART,
    ROOT,
    Ended,
    compile_spec,
    read_json,
    read_rows,
    run,
)

ROWS = 400
SPEC = {
    "name": "triage",
    "model": "./model",
    "data": "tickets.csv",
    "hardware": "cpu",
    "method": "lora",
    "training": {"max_steps": 12, "global_batch": 16, "evaluation": {"every_steps": 6}},
}
BOTH = (
    "import sys; from pathlib import Path; from tests.end_to_end.stages import run_stage\n"
    "for name in sys.argv[1:]: run_stage(Path(name), 'train.py')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piloted:
    """A bundle after a pilot, how that ended, its seconds and the most memory of a process."""

    bundle: Path
    ended: Ended
    seconds: float
    peak_bytes: int

    @property
    def pilot(self) -> Any:
        """What it wrote."""
        return read_json(self.bundle / "run/pilot/pilot.json")


@pytest.fixture(scope="module")
def piloted(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Piloted:
    """Compile a part of the quickstart and run its pilot."""
    folder = tmp_path_factory.mktemp("pilot")
    (folder / "model").symlink_to(model)
    with (QUICKSTART / "tickets.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[: ROWS + 1]
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    bundle = compile_spec(folder, SPEC)
    before, is_over = time.monotonic(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        peak = pool.submit(watch_memory, bundle, is_over)
        ended = run("./run.sh", "--pilot", cwd=bundle)
        is_over.set()
    seconds = time.monotonic() - before
    return Piloted(bundle=bundle, ended=ended, seconds=seconds, peak_bytes=peak.result())


def watch_memory(folder: Path, is_over: threading.Event) -> int:
    """Return the most memory that a process in a folder had, as the kernel notes it (VmHWM)."""
    peak = 0
    while not is_over.wait(0.02):
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended
                if (process / "cwd").readlink() == folder:
                    status = (process / "status").read_text(encoding="utf-8")
                    noted = re.search(r"VmHWM:\s*(\d+) kB", status)
                    peak = max(peak, int(noted[1]) * 1024 if noted else 0)
    return peak


@pytest.mark.prove
def test_what_a_pilot_measures(piloted: Piloted) -> None:
    """The numbers are those of a process that ran: its memory, and seconds that went by."""
    assert piloted.ended.code == 0, piloted.ended.said
    pilot, said = piloted.pilot, piloted.ended.out
    measured, planned = pilot["measured"], pilot["planned"]

    assert (pilot["version"], pilot["machine"]["kind"], pilot["machine"]["count"]) == (1, "cpu", 1)
    assert pilot["micro_batch"] * pilot["accumulation"] == 16
    assert 2**28 < measured["memory_bytes"] <= piloted.peak_bytes < pilot["machine"]["memory_bytes"]
    assert 0 < 6 * measured["step_seconds"] + measured["longest_step_seconds"] < piloted.seconds
    assert len(pilot["spans"]) == measured["steps"]
    assert 0 < sum(pilot["spans"]) < piloted.seconds
    assert measured["training_seconds"] > 12 * measured["step_seconds"]
    assert measured["tokens_per_second"] > 0
    assert (measured["steps"], measured["allocated_bytes"]) == (8, None)
    assert 0 <= planned["margin_bytes"] < planned["memory_bytes"]
    assert planned["calibration"] == {"memory": 1.0, "time": 1.0}
    assert "step 8 of 8" in said
    sizes = [f"{each['memory_bytes'] / 2**30:.2f} GiB" for each in (planned, measured)]
    (line,) = [each for each in said.splitlines() if each.startswith("  peak memory")]
    assert line.split("  ")[-1].startswith(" x ")
    assert all(size in line for size in sizes)


@pytest.mark.prove
def test_nothing_else_is_done(piloted: Piloted) -> None:
    """No evaluation, no checkpoint, no later stage, and nothing in the folder of training."""
    run_folder = piloted.bundle / "run"
    events = [(each["stage"], each["event"]) for each in read_rows(run_folder / "stages.jsonl")]
    assert events == [(name, how) for name in ("prepare", "pilot") for how in ("began", "done")]
    assert sorted(path.stem for path in (run_folder / "done").iterdir()) == ["prepare"]
    assert not (run_folder / "train").exists()
    assert not list((run_folder / "pilot/checkpoints").iterdir())
    assert not (run_folder / "pilot/batch.json").exists()
    assert not any("eval_loss" in each for each in read_rows(run_folder / "pilot/log.jsonl"))


@pytest.mark.prove_all
def test_a_training_afterwards_is_the_same(piloted: Piloted, tmp_path: Path) -> None:
    """As one without a pilot, to the bit."""
    without, after = (tmp_path / name / "triage" for name in ("without", "after"))
    for copy in (without, after):
        copy.parent.mkdir()
        (copy.parent / "model").symlink_to((piloted.bundle.parent / "model").resolve())
        shutil.copy(piloted.bundle.parent / "tickets.csv", copy.parent)
        shutil.copytree(piloted.bundle, copy)
    shutil.rmtree(without / "run/pilot")

    done = run(sys.executable, "-c", BOTH, without, after, cwd=ROOT, extra={"OMP_NUM_THREADS": "1"})
    assert done.code == 0, done.said
    digests = []
    for bundle in (without, after):
        weights = bundle / "run/train/model/adapter_model.safetensors"
        digests.append(hashlib.sha256(weights.read_bytes()).hexdigest())
        curve = read_json(bundle / "run/train/curve.json")
        assert len(curve["validation"]) == 3
        assert (bundle / "run/done/train.json").is_file()
    assert digests[0] == digests[1]


@pytest.mark.prove
def test_a_plan_with_what_was_measured(piloted: Piloted) -> None:
    """The next compile plans the measured memory and the measured time, and stays so."""
    folder, pilot = piloted.bundle.parent, piloted.pilot
    shutil.copy(piloted.bundle / "run/pilot/pilot.json", folder)
    done = run("ftc", "compile", "spec.json", "--calibrate", "pilot.json", "-o", "new", cwd=folder)
    assert done.code == 0, done.said
    found = read_json(folder / "new/plan.json")["pilot"]
    rung = next(each for each in found["rungs"] if each["micro_batch"] == pilot["micro_batch"])
    measured = pilot["measured"]

    assert rung["memory_bytes"] - rung["margin_bytes"] == pytest.approx(
        measured["memory_bytes"], rel=0.01
    )
    assert rung["step_seconds"] == pytest.approx(measured["step_seconds"], rel=0.01)
    lock = read_json(folder / "new/ftc.lock.json")
    digest = hashlib.sha256((folder / "pilot.json").read_bytes()).hexdigest()
    assert lock["facts"]["hardware"]["calibration"]["sha256"] == digest
    again = run("ftc", "compile", "spec.json", "--check", "-o", "new", cwd=folder)
    assert again.code == 0, again.said
