"""Why training was killed: the events that it left, and a real kill for memory."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime import kills
from tests.end_to_end.process import read_json, read_rows, run

GIB = 2**30
NO_KILL, A_KILL = 10**15, -1  # kills before: so many that there was none since, or one
LADDER = [[4, 2], [2, 4]]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a bundle whose training began, reached step 9 with 3 GiB, and ended silently."""
    train = tmp_path / "run/train"
    (train / "checkpoints/checkpoint-8").mkdir(parents=True)
    (train / "checkpoints/checkpoint-8/manifest.json").write_text("{}")
    (train / "checkpoints/checkpoint-16").mkdir()  # not complete
    write(tmp_path / "run/stages.jsonl", {"stage": "train", "event": "began"})
    write(
        train / "log.jsonl",
        {"step": 8, "memory_bytes": 3 * GIB},
        {"step": 9, "memory_bytes": 2 * GIB},
        {"step": 10, "loss": 1.0},
    )
    write(train / "batch.json", {"row": 0, "ladder": LADDER, "changes": []})
    write(tmp_path / "plan.json", {"memory_bytes": 2 * GIB, "host_bytes": 5 * GIB})
    return tmp_path


def write(path: Path, *rows: Any) -> None:
    """Write one JSON value per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_kill_by_somebody_changes_nothing(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message has the step, the memory, a smaller batch to try, and the checkpoint."""
    kills.explain(bundle, NO_KILL, on_cpu=True)

    said = capsys.readouterr().err
    assert said == (
        "run.sh: training ended after step 9 without an error message, as if killed by signal 9:"
        " by a user, by a scheduler or because memory ran out: 3.00 GiB were used, 2.00 GiB were"
        " planned; `train.py --row 1` trains the same batch in less memory;"
        " ./run.sh resumes from run/train/checkpoints/checkpoint-8\n"
    )
    assert read_json(bundle / "run/train/batch.json")["row"] == 0
    assert (bundle / "run/train/exit_code.json").read_text() == "1\n"
    event = read_rows(bundle / "run/stages.jsonl")[-1]
    assert (event["stage"], event["event"], event["code"]) == ("train", "failed", 1)
    assert f"run.sh: {event['sentence']}\n" == said


def test_a_kill_for_memory_leads_to_a_smaller_batch(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next row of the ladder has the same global batch; the change is noted for the report."""
    kills.explain(bundle, A_KILL, on_cpu=True)

    said = capsys.readouterr().err
    assert "the kernel killed training after step 9 because memory ran out: 3.00 GiB" in said
    assert "next with 2 x 4 passes, the same batch" in said
    noted = read_json(bundle / "run/train/batch.json")
    change = {"step": 9, "from": [4, 2], "to": [2, 4]}
    sizes = {"held_bytes": 3 * GIB, "planned_bytes": 2 * GIB}
    assert noted == {"row": 1, "ladder": LADDER, "changes": [{**change, **sizes}]}
    assert (bundle / "run/train/exit_code.json").read_text() == "76\n"
    assert read_rows(bundle / "run/stages.jsonl")[-1]["code"] == 76


def test_a_pilot_is_reduced_in_its_own_folder(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What training has noted stays as it is."""
    before = (bundle / "run/train/batch.json").read_bytes()
    (bundle / "run/pilot").mkdir()
    write(bundle / "run/pilot/batch.json", {"row": 0, "ladder": LADDER, "changes": []})

    kills.explain(bundle, A_KILL, on_cpu=True, stage="pilot")

    assert "./run.sh --pilot starts again" in capsys.readouterr().err
    assert read_json(bundle / "run/pilot/batch.json")["row"] == 1
    assert (bundle / "run/pilot/exit_code.json").read_text() == "76\n"
    assert (bundle / "run/train/batch.json").read_bytes() == before
    assert not (bundle / "run/train/exit_code.json").exists()
    assert read_rows(bundle / "run/stages.jsonl")[-1]["stage"] == "pilot"


def test_the_smallest_batch_has_no_next_one(
    bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what else to change, and the run ends."""
    write(bundle / "run/train/batch.json", {"row": 1, "ladder": LADDER, "changes": []})

    kills.explain(bundle, A_KILL, on_cpu=True)

    assert "set a smaller data.max_length" in capsys.readouterr().err
    assert read_json(bundle / "run/train/batch.json")["row"] == 1
    assert (bundle / "run/train/exit_code.json").read_text() == "1\n"


@pytest.mark.parametrize("kills_before", [NO_KILL, A_KILL])
def test_on_a_gpu_no_batch_is_changed(
    bundle: Path, capsys: pytest.CaptureFixture[str], kills_before: int
) -> None:
    """Fewer rows per pass save little memory of the host."""
    kills.explain(bundle, kills_before, on_cpu=False)

    said = capsys.readouterr().err
    assert "5.00 GiB of host memory were planned" in said
    assert ("stop other programs that use memory" in said) == (kills_before == A_KILL)
    assert read_json(bundle / "run/train/batch.json")["row"] == 0
    assert not (bundle / "run/train/exit_code.json").exists()


@pytest.mark.parametrize("event", [{"event": "failed", "code": 1}, {"event": "done"}])
def test_training_that_said_why_is_not_explained(
    bundle: Path, capsys: pytest.CaptureFixture[str], event: dict[str, Any]
) -> None:
    """Its own message is enough."""
    began, ended = {"stage": "train", "event": "began"}, {"stage": "train", **event}
    write(bundle / "run/stages.jsonl", began, ended, {"stage": "merge", "event": "began"})

    kills.explain(bundle, NO_KILL, on_cpu=True)

    assert capsys.readouterr().err == ""
    assert not (bundle / "run/train/exit_code.json").exists()


def test_nothing_is_there_yet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A training that is killed before its first step leaves no log, batch or checkpoint."""
    (tmp_path / "run/train").mkdir(parents=True)
    write(tmp_path / "run/stages.jsonl", {"stage": "train", "event": "began"})

    kills.explain(tmp_path, A_KILL, on_cpu=True)

    said = capsys.readouterr().err
    assert "after step 0 because memory ran out: 0.00 GiB were used" in said
    assert "there is no checkpoint yet, so ./run.sh starts training from the beginning" in said


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Path]:
    """Make a control group of 64 MiB, of the first version or the second; give its folder."""
    root = Path("/sys/fs/cgroup")
    first = (root / "memory").is_dir()
    folder = root / ("memory" if first else "") / f"ftc-{os.getpid()}-{tmp_path.name}"
    limits = {"memory.limit_in_bytes": 2**26, "memory.swappiness": 0}
    try:
        folder.mkdir()
        for name, limit in (
            limits if first else {"memory.max": 2**26, "memory.swap.max": 0}
        ).items():
            (folder / name).write_text(str(limit))
    except OSError:
        if folder.is_dir():
            folder.rmdir()
        pytest.skip("limiting memory needs rights that are not there")
    try:
        yield folder
    finally:
        folder.rmdir()


def test_the_kernel_kills_for_memory(
    bundle: Path, small_memory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real kill for memory is counted, and told apart from any other."""
    before = kills.count_kills()

    limited = f"echo $$ > {small_memory}/cgroup.procs && exec {sys.executable} -c \"b'x' * 2**28\""
    killed = run("bash", "-c", limited, cwd=bundle)
    kills.explain(bundle, before, on_cpu=True)

    assert killed.code == -signal.SIGKILL
    assert "the kernel killed training after step 9 because memory ran out" in (
        capsys.readouterr().err
    )
    assert read_json(bundle / "run/train/batch.json")["row"] == 1
