"""A run started by the assistant: detached, logged, and only if its packages are installed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.bundle.launching import find_missing, start_run
from ftc.tui.bundle.next_steps import find_next_steps
from tests.golden_bundles import GOLDEN

_PATIENCE_SECONDS = 30.0


def wait_for(path: Path, text: str) -> None:
    """Wait until a file has a text."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not (path.is_file() and text in path.read_text()):
        assert time.monotonic() < until, path
        time.sleep(0.05)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a folder whose run.sh prints, waits for a file, and prints again."""
    script = tmp_path / "run.sh"
    script.write_text(
        "#!/usr/bin/env bash\necho began; echo trouble >&2\n"
        "while [[ ! -f go ]]; do sleep 0.05; done\necho ended\n"
    )
    script.chmod(0o755)
    return tmp_path


def test_a_run_survives_the_program_that_started_it_and_its_terminal(bundle: Path) -> None:
    """That program is killed with its whole process group and a hang-up; the run goes on."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from ftc.tui.bundle.launching import start_run\n"
        "print(start_run(Path(sys.argv[1])), flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(bundle)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        log = bundle / "run/output.log"
        wait_for(log, "trouble")
        os.killpg(starter.pid, signal.SIGHUP)
        os.killpg(starter.pid, signal.SIGKILL)
    process = psutil.Process(pid)
    assert os.getsid(pid) not in (os.getsid(0), starter.pid)
    assert process.terminal() is None
    (bundle / "go").touch()
    wait_for(log, "ended")
    assert log.read_text().splitlines() == ["began", "trouble", "ended"]


def test_a_second_start_adds_to_the_log(bundle: Path) -> None:
    """What the first one printed stays."""
    (bundle / "go").touch()
    for count in (1, 2):
        start_run(bundle)
        wait_for(bundle / "run/output.log", "began\ntrouble\nended\n" * count)


def test_a_file_in_the_place_of_the_run_folder_is_a_failure(bundle: Path) -> None:
    """No log, no start."""
    (bundle / "run").touch()
    with pytest.raises(EnvironmentFailure):
        start_run(bundle)


def test_missing_packages_are_those_of_the_python_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle's own environment comes first; without any Python, all are missing."""
    (tmp_path / "requirements.txt").write_text("# a note\npytest==1\nno-such-thing==2.0 \n\n")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert find_missing(tmp_path) == ("no-such-thing",)
    own = tmp_path / ".venv/bin"
    own.mkdir(parents=True)
    (own / "python").write_text("#!/bin/sh\nexit 3\n")
    (own / "python").chmod(0o755)
    monkeypatch.setenv("PATH", "/bin")
    assert find_missing(tmp_path) == ("pytest", "no-such-thing")
    (own / "python").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_missing(tmp_path) == ("pytest", "no-such-thing")
    assert find_missing(tmp_path / "elsewhere") == ()


@pytest.mark.parametrize("name", ["quickstart", "slurm"])
def test_the_steps_are_those_of_the_readme(name: str) -> None:
    """The packages are installed as the bundle's own page says, by a shell that can read it."""
    readme = (GOLDEN / name / "README.md").read_text(encoding="utf-8")
    steps = find_next_steps(readme, "local")

    assert steps.install[0] == "python -m venv .venv && . .venv/bin/activate"
    assert steps.install[-1].endswith("pip install -r requirements.txt")
    read = subprocess.run(["bash", "-n", "-c", "\n".join(steps.install)], check=False)
    assert read.returncode == 0
    assert (steps.start, steps.is_local) == ("./run.sh", True)
    elsewhere = find_next_steps(readme, "kubernetes")
    assert (elsewhere.install, elsewhere.is_local) == ((), False)
