"""Starts a bundle's run apart from the assistant: it goes on when that and its terminal end."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ftc.spec.finding import EnvironmentFailure
from ftc.spec.message import Message, reason_of
from ftc.tui.watch.tail import OUTPUT_NAME

REHEARSAL_NAME: Final = "run/rehearsal.log"
_PATIENCE_SECONDS: Final = 60.0
#: The shell ends at once, so the command is no child of the assistant: nobody waits for it.
_DETACH: Final = '"$@" </dev/null >>"$FTC_OUTPUT" 2>&1 & echo $!'
#: Prints the names on standard input that no installed package has.
_FIND_MISSING: Final = """
import sys
from importlib.metadata import PackageNotFoundError, version
for name in sys.stdin.read().split():
    try:
        version(name)
    except PackageNotFoundError:
        print(name)
"""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def find_missing(bundle: Path) -> tuple[str, ...]:
    """Return the packages of requirements.txt that the Python of run.sh lacks.

    All of them are missing where there is no Python, or one that does not answer.
    """
    try:
        lines = (bundle / "requirements.txt").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    names = [found[0] for line in lines if (found := _NAME.match(line.strip()))]
    environment = _environment(bundle)
    python = shutil.which("python", path=environment["PATH"])
    if python is None:
        return tuple(names)
    try:
        done = subprocess.run(
            [python, "-c", _FIND_MISSING],
            input="\n".join(names),
            env=environment,
            cwd=bundle,
            capture_output=True,
            check=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return tuple(names)
    return tuple(done.stdout.split())


def start_run(bundle: Path) -> int:
    """Start run.sh, and return its process id; raises EnvironmentFailure if that fails."""
    return _start(["./run.sh"], bundle, bundle / OUTPUT_NAME)


def start_rehearsal(spec: Path, bundle: Path) -> int:
    """Start `ftc rehearse`, and return its process id; raises EnvironmentFailure if that fails."""
    log = bundle / REHEARSAL_NAME
    return _start([sys.executable, "-m", "ftc", "rehearse", str(spec.resolve())], bundle, log)


def _start(command: Sequence[str], folder: Path, log: Path) -> int:
    """Start a command in a session of its own, with what it prints at the end of a log."""
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.touch()
        done = subprocess.run(
            ["/bin/sh", "-c", _DETACH, "sh", *command],
            cwd=folder,
            env={**os.environ, "FTC_OUTPUT": str(log.resolve())},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            text=True,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise EnvironmentFailure(
            message=Message("failure.unwritable.message", {"path": str(log), "reason": reason}),
            help=Message("failure.unwritable.help"),
        ) from error
    return int(done.stdout)


def _environment(bundle: Path) -> Mapping[str, str]:
    """Return the environment of run.sh: the bundle's own Python comes first, if it has one."""
    own = (bundle / ".venv" / "bin").resolve()
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{own}{os.pathsep}{path}" if own.is_dir() else path}
