"""The run of a bundle: its marks, killing all its processes, and the cause of a failure."""

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
    """Processes with their own session, such as the launcher of training, are killed too."""
    with start(tmp_path, SLEEPER) as run:
        run.wait_for(said("train", "begun"))
        while not (child := tmp_path / "child").is_file() or not child.read_text().strip():
            time.sleep(0.02)
        pid = int(child.read_text())
        assert psutil.pid_exists(pid)
        run.kill()
        assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie"


def test_marks_are_waited_for(tmp_path: Path) -> None:
    """A file in the bundle, or output of this start; output of an earlier start is ignored."""
    (tmp_path / "rehearsal.log").write_text("later\n")
    script = "mkdir -p run/done\necho {} >run/done/prepare.json\nsleep 0.2\necho later\n"
    with start(tmp_path, script) as run:
        run.wait_for(done("prepare"))
        assert "later" not in run.text()
        run.wait_for(said("merge", "later"))
        run.finish()


def test_an_early_end_is_a_failure(tmp_path: Path) -> None:
    """The cause is what the script said last in words."""
    script = "echo noise\necho 'export.py: run/train/model is missing' >&2\nexit 1\n"
    run = start(tmp_path, script)
    with run, pytest.raises(StageFailed, match=r"export\.py: run/train/model is missing"):
        run.wait_for(done("merge"))


def test_a_bad_exit_after_the_last_mark_is_a_failure(tmp_path: Path) -> None:
    """`run.sh` must succeed, whatever its stages recorded."""
    run = start(tmp_path, "echo report.py: no table >&2\nexit 3\n")
    with run, pytest.raises(StageFailed, match="no table"):
        run.finish()


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("a\nexport.py: llama.cpp's converter failed:\nboom\n", "converter failed:\nboom"),
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
    """A script's message, else its own exception (not the launcher's), else the last lines."""
    assert find_cause(text).endswith(cause)
    assert find_cause(text).count(os.linesep) <= cause.count("\n")
