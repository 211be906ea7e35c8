"""Actions on a written bundle, by a button or a message: run, rehearse, watch.

A run is detached from the assistant: it continues when the assistant and its terminal end.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import Message, reason_of
from ftc.tui.bundle.actions import Act
from ftc.tui.bundle.finish import Finished
from ftc.tui.languages.voice import Voice
from ftc.tui.watch.plain import report_run
from ftc.tui.watch.run import Watched
from ftc.tui.watch.tail import OUTPUT_NAME

REHEARSAL_NAME: Final = "run/rehearsal.log"
_PATIENCE_SECONDS: Final = 60.0
_MOST_NAMES: Final = 4
_COLUMNS: Final = 72
#: The shell exits at once, so the command is not a child of the assistant, which need not wait for
#: it.
_DETACH: Final = '"$@" </dev/null >>"$FTC_OUTPUT" 2>&1 & echo $!'
#: Prints those names of standard input that are not installed packages.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The result of an action: a sentence, and whether it started a process that can be watched.

    `pid` is the process that was started, or 0 if there is none.
    """

    act: Act
    told: str
    follows: bool
    pid: int = 0


def launch(act: Act, finished: Finished, voice: Voice) -> Launched:
    """Run, rehearse or watch the bundle as asked; raises EnvironmentFailure if that fails.

    A run is not started if it is already running, lacks packages, or must be started by another
    program.
    """
    bundle, say = finished.bundle, voice.say
    if bundle is None:
        return Launched(act=act, told=say("bundle.none"), follows=False)
    if act == "rehearse":
        pid = start_rehearsal(finished.spec, bundle)
        told = say("bundle.rehearsing", pid=str(pid), log=bundle / REHEARSAL_NAME)
        return Launched(act=act, told=told, follows=True, pid=pid)
    run = Watched(bundle).look(time.time())
    if act == "watch":
        report = report_run(run, columns=_COLUMNS, plain=True, voice=voice)
        return Launched(act=act, told="\n".join(report), follows=True)
    if finished.steps is None or not finished.steps.is_local:
        return Launched(act=act, told=say("bundle.elsewhere"), follows=False)
    if run.state == "running":
        return Launched(act=act, told=say("bundle.running"), follows=True)
    if missing := find_missing(bundle):
        names = ", ".join(missing[:_MOST_NAMES]) + (", ..." if missing[_MOST_NAMES:] else "")
        told = say("bundle.missing", count=len(missing), names=names)
        return Launched(act=act, told=told, follows=False)
    pid = start_run(bundle)
    return Launched(act=act, told=say("bundle.started", pid=str(pid)), follows=True, pid=pid)


def find_missing(bundle: Path) -> tuple[str, ...]:
    """Return the packages of requirements.txt that are missing in the Python of run.sh.

    All of them are missing if there is no Python, or if it does not answer.
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
    """Start a command in a new session, with its output appended to a log."""
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
    """Return the environment of run.sh: the bundle's Python comes first if it has one."""
    own = (bundle / ".venv" / "bin").resolve()
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{own}{os.pathsep}{path}" if own.is_dir() else path}
