"""The run of a bundle: watched by its marks, killed with all that it started, and its cause."""

import os
import time
from pathlib import Path

import psutil
import pytest

from ftc.compiler.rehearse.bundle_run import BundleRun, done, find_cause, said
from ftc.compiler.rehearse.stage import StageFailed

SLEEPER = "setsid bash -c 'echo $$ >child; sleep 600' &\necho begun\nwait\n"


def start(folder: Path, script: str) -> BundleRun:
    """Write a `run.sh` and return its run, which is not started yet."""
    path = folder / "run.sh"
    path.write_text(f"#!/usr/bin/env bash\n{script}")
    path.chmod(0o755)
    return BundleRun(folder, folder / "rehearsal.log")


def test_nothing_survives_a_kill(tmp_path: Path) -> None:
    """Not even what has a session of its own, as the launcher of training has."""
    with start(tmp_path, SLEEPER) as run:
        run.wait_for(said("train", "begun"))
        while not (child := tmp_path / "child").is_file() or not child.read_text().strip():
            time.sleep(0.02)
        pid = int(child.read_text())
        assert psutil.pid_exists(pid)
        run.kill()
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"


def test_marks_are_waited_for(tmp_path: Path) -> None:
    """A note in the bundle, and words that this start said; words of an earlier start are old."""
    (tmp_path / "rehearsal.log").write_text("later\n")
    script = "mkdir -p run/done\necho {} >run/done/data.json\nsleep 0.2\necho later\n"
    with start(tmp_path, script) as run:
        run.wait_for(done("prepare", "data"))
        assert "later" not in run.text()
        run.wait_for(said("merge", "later"))
        run.finish()


def test_an_early_end_is_a_failure(tmp_path: Path) -> None:
    """The cause is what the script said last in words."""
    script = "echo noise\necho 'merge.py: run/train/model is missing' >&2\nexit 1\n"
    run = start(tmp_path, script)
    with run, pytest.raises(StageFailed, match=r"merge\.py: run/train/model is missing"):
        run.wait_for(done("merge", "merged"))


def test_a_bad_exit_after_the_last_mark_is_a_failure(tmp_path: Path) -> None:
    """`run.sh` must end well, whatever its stages noted."""
    run = start(tmp_path, "echo report.py: no table >&2\nexit 3\n")
    with run, pytest.raises(StageFailed, match="no table"):
        run.finish()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("a\nquantize.py: llama.cpp's converter failed:\nboom\n", "converter failed:\nboom"),
        ("Traceback:\n  File x\nValueError: no such thing\n", "ValueError: no such thing"),
        (
            "RuntimeError: too few rows\nsubprocess.CalledProcessError: Command 'x' died\n",
            "RuntimeError: too few rows",
        ),
        ("bash: accelerate: command not found\n", "bash: accelerate: command not found"),
        ("", ""),
    ],
)
def test_the_cause_is_the_sentence(text: str, cause: str) -> None:
    """A script's own sentence, else the error it died of and not its launcher's, else the end."""
    assert find_cause(text).endswith(cause)
    assert find_cause(text).count(os.linesep) <= cause.count("\n")
