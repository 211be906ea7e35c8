"""Runs the stages of a bundle for run.sh, which lists them on standard input, one command a line.

    python -m runtime.supervise OPTIONS -- ARGUMENTS-OF-RUN.SH <STAGES

A part such as `[--model MODEL]` is replaced by that argument of run.sh, or removed without one.
Each stage runs in its own session and gets signals only from this process. On a signal, training
saves a checkpoint at the end of its step, and any other stage is terminated. A second Ctrl-C kills
the stage. Training is restarted if it saved after a signal or ran out of memory. A launcher hides
its exit code, so training writes it to run/train/exit_code.json, and a pilot to run/pilot.

Standard library only. With a container this runs outside of it, so it supports Python 3.9.
"""

from __future__ import annotations

import argparse
import fcntl
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from . import kills
from .exit_codes import OUT_OF_MEMORY, PREEMPTED

NO_COMMAND = 127  # as a shell exits
CONTAINER = "container.txt"  # names the image that commands run in, then the paths they need
TRAINING = {"train.py", "./node.sh"}  # a command with one of these words trains
PILOT = "--pilot"  # makes it measure a few steps only; the commands after it are not run


class Supervisor:
    """Runs one stage at a time in the bundle's folder, and passes signals on to it."""

    def __init__(self, bundle: Path) -> None:
        self.bundle = bundle
        self.run_folder = bundle / "run"
        self.stage = ""
        self.is_training = self.is_pilot = False
        self.process: subprocess.Popen[bytes] | None = None
        self.is_stopping = False  # after a signal
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
            signal.signal(number, self.pass_on)

    def pass_on(self, number: int, _frame: FrameType | None) -> None:
        """Stop the stage because of a signal; a second Ctrl-C kills it."""
        if self.process is not None:
            if self.is_stopping and number == signal.SIGINT:
                self._kill(self.process.pid)
            elif not self.is_training or not self._touch_stop_file():
                _send(signal.SIGTERM, self.process.pid)
        self.is_stopping = True

    def _touch_stop_file(self) -> bool:
        """Ask training to stop; return False if that fails, as on a full disk."""
        try:
            (self.run_folder / "stop").touch()
        except OSError:
            return False
        does = "the pilot stops" if self.is_pilot else "training saves a checkpoint"
        said = f"{does} at the end of this step (Ctrl-C again kills it)"
        os.write(2, f"run.sh: {said}\n".encode())  # print may be running when a signal comes
        return True

    def _kill(self, leader: int) -> None:
        for process in kills.find_children(leader):  # a launcher gives workers their own sessions
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        _send(signal.SIGKILL, leader)

    def exit_if_stopped(self) -> None:
        """Exit with PREEMPTED after a signal."""
        if self.is_stopping:
            again = f"./run.sh {PILOT} starts again" if self.is_pilot else "./run.sh resumes"
            _say(f"stopped by a signal in {self.stage}; {again}")
            raise SystemExit(PREEMPTED)

    def run(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
        """Run a stage to its end and return its exit code; exit if a signal came."""
        self.exit_if_stopped()
        self.stage, self.is_training = name_stage(command), is_training(command)
        self.is_pilot = PILOT in command
        try:
            self.process = subprocess.Popen(
                command,
                cwd=self.bundle,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            _say(f"cannot start `{command[0]}` for {self.stage}: {error.strerror}")
            return NO_COMMAND
        if self.is_stopping:  # a signal came while the stage was started
            self.pass_on(signal.SIGTERM, None)
        code = self.process.wait()
        if self.is_training:
            self._wait_for_lock()
        self.exit_if_stopped()
        return code if code >= 0 else 128 - code

    def _wait_for_lock(self) -> None:
        """Wait until no process holds the run folder: one may still be saving a checkpoint."""
        self.run_folder.mkdir(exist_ok=True)
        with (self.run_folder / ".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)


# -----------------------------------------------------------------------------
# Commands


def is_training(command: Sequence[str]) -> bool:
    """Return whether this command starts training."""
    return bool(TRAINING.intersection(command))


def name_folder(command: Sequence[str]) -> str:
    """Return the folder below run/ that this training writes to."""
    return "pilot" if PILOT in command else "train"


def name_stage(command: Sequence[str]) -> str:
    """Return the script of a command."""
    return next((word for word in command if word.endswith(".py")), command[0])


def make_command(line: str, given: Mapping[str, str | bool | None], bundle: Path) -> list[str]:
    """Return the words of a line, with the arguments that were given to run.sh."""
    command: list[str] = []
    for word in re.findall(r"\[[^]]*\]|\S+", line):
        option, _, name = word.strip("[]").partition(" ")
        value = given[(name or option).strip("-").lower().replace("-", "_")] if "[" in word else ""
        if "[" not in word:
            command.append(word)
        elif value:
            command += [option] if value is True else [option, str(value)]
    if command[0].endswith(".py"):
        command.insert(0, "python")
    image = bundle / CONTAINER
    if command[0] in ("python", "accelerate") and image.is_file():
        command[:0] = ["apptainer", "exec", "--nv", image.read_text("utf-8").splitlines()[0]]
    return command


def _parse_options(words: Sequence[str]) -> argparse.Namespace:
    """Return the options that run.sh sets."""
    parser = argparse.ArgumentParser(prog="python -m runtime.supervise", allow_abbrev=False)
    add = parser.add_argument
    add("--caller", type=Path, default=Path(), help="the folder that run.sh was started from")
    add("--restarts", type=int, default=0, help="how often training may be restarted")
    add("--restart-after", type=int, nargs="+", default=[PREEMPTED, OUT_OF_MEMORY])
    add("--cpu-processes", type=int, help="processes that share the cores of this machine")
    return parser.parse_args(words)


def _parse_given(
    words: Sequence[str], lines: Sequence[str], caller: Path
) -> dict[str, str | bool | None]:
    """Return the arguments of run.sh that a stage takes; exit with 2 for any other argument."""
    parser = argparse.ArgumentParser(prog="./run.sh", allow_abbrev=False)
    for option, name in dict.fromkeys(re.findall(r"\[(--\S+?)(?: ([A-Z]+))?\]", " ".join(lines))):
        if not name:
            parser.add_argument(option, action="store_true")
        elif option == f"--{name.lower()}":
            parser.add_argument(option, metavar=name)
    given = vars(parser.parse_args(words))
    for name, value in given.items():
        if isinstance(value, str) and value and (caller / value).exists():  # else an id of the Hub
            given[name] = str((caller / value).resolve())
    return given


# -----------------------------------------------------------------------------
# Training


def train(supervisor: Supervisor, command: Sequence[str], options: argparse.Namespace) -> int:
    """Run training, and restart it after certain exit codes; return its last exit code."""
    note = supervisor.run_folder / name_folder(command) / "exit_code.json"
    for restart in itertools.count():
        note.unlink(missing_ok=True)
        code = attempt(supervisor, command, options)
        if options.restarts == 0 or code not in options.restart_after:  # 0 is none of these
            return code
        if restart >= options.restarts:
            _say(f"training was restarted {restart} times and still does not finish")
            return code
    raise AssertionError  # the loop has no end


def attempt(supervisor: Supervisor, command: Sequence[str], options: argparse.Namespace) -> int:
    """Run training once; return 0, or the exit code that it wrote, or 1."""
    stage, environment = name_folder(command), {}
    if options.cpu_processes and not os.environ.get("OMP_NUM_THREADS"):
        environment["OMP_NUM_THREADS"] = str(max(1, _count_cores() // options.cpu_processes))
    kills_before = kills.count_kills()
    if supervisor.run(command, environment) == 0:
        return 0
    note = supervisor.run_folder / stage / "exit_code.json"
    if not note.is_file():
        on_cpu = options.cpu_processes is not None
        kills.explain(supervisor.bundle, kills_before, on_cpu=on_cpu, stage=stage)
    with suppress(OSError, ValueError):
        return int(note.read_text(encoding="utf-8"))
    return 1


def _count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# -----------------------------------------------------------------------------
# All stages


def prepare(
    arguments: Sequence[str],
) -> tuple[Supervisor, argparse.Namespace, list[list[str]]]:
    """Return the supervisor, the options that run.sh sets, and the commands of all stages."""
    split = [*arguments, "--"].index("--")
    options = _parse_options(arguments[:split])
    lines = [line for line in map(str.strip, sys.stdin) if line and line[0] != "#"]
    given = _parse_given(arguments[split + 1 :], lines, options.caller)
    supervisor = Supervisor(Path.cwd())
    return supervisor, options, [make_command(line, given, supervisor.bundle) for line in lines]


def main(arguments: Sequence[str]) -> int:
    """Run all stages; return the exit code of run.sh."""
    supervisor, options, commands = prepare(arguments)
    (supervisor.run_folder / "stop").unlink(missing_ok=True)
    for command in commands:
        trains = is_training(command)
        code = train(supervisor, command, options) if trains else supervisor.run(command)
        if code or PILOT in command:
            return code
    return 0


def _say(text: str) -> None:
    print(f"run.sh: {text}", file=sys.stderr, flush=True)


def _send(number: int, leader: int) -> None:
    """Send a signal to all processes of a session's first group."""
    with suppress(OSError):
        os.killpg(leader, number)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
