"""The run of the rehearsal's bundle: `run.sh` as it ships, killed once and resumed."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Self

import psutil

from ftc.compiler.knowledge.bundle_stages import find_record
from ftc.compiler.rehearse.stage import StageFailed

_POLL_SECONDS: Final = 0.02
_LONGEST_SECONDS: Final = 1800.0  # per stage; a longer stage is considered to hang
_CAUSE_LINES: Final = 8
_SAID: Final = re.compile(r"\w+\.(py|sh): ")  # the start of messages from scripts and run.sh
_ERROR: Final = re.compile(r"(\[rank\d+\]: )?[\w.]+(Error|Exception|Exit|Interrupt)\b")
_LAUNCHER: Final = re.compile(r".*(CalledProcessError|ChildFailedError)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How the end of a stage is detected: a file in the bundle's folder, or text in the output."""

    stage: str
    reached: Callable[[Path, str], bool]


def done(stage: str, name: str | None = None) -> Mark:
    """Return the mark of a rehearsed stage that ends with the bundle's stage `name`, or its own."""
    return Mark(stage=stage, reached=lambda bundle, _: is_done(bundle, name or stage))


def said(stage: str, words: str) -> Mark:
    """Return the mark of a stage that ends by printing these words."""
    return Mark(stage=stage, reached=lambda _, text: words in text)


def written(stage: str, name: str) -> Mark:
    """Return the mark of a stage that writes a file in the bundle's folder at its end."""
    return Mark(stage=stage, reached=lambda bundle, _: (bundle / name).is_file())


def checkpoint(stage: str) -> Mark:
    """Return the mark of a training stage that has written a complete checkpoint."""
    files = "run/train/checkpoints/checkpoint-*/manifest.json"
    return Mark(stage=stage, reached=lambda bundle, _: next(bundle.glob(files), None) is not None)


def is_done(bundle: Path, name: str) -> bool:
    """Return whether a stage of the bundle is done."""
    return find_record(bundle, name) is not None


class BundleRun:
    """One start of `run.sh`, as a context manager that kills all its processes on exit."""

    def __init__(self, bundle: Path, log: Path) -> None:
        self._bundle, self._log = bundle, log
        self._start_bytes = log.stat().st_size if log.is_file() else 0

    def __enter__(self) -> Self:
        """Start `run.sh`."""
        with self._log.open("a", encoding="utf-8") as stream:
            self._process = subprocess.Popen(
                ["./run.sh"],
                cwd=self._bundle,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env=make_environment(),
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the remaining processes."""
        self.kill()

    def text(self) -> str:
        """Return the output of this start so far."""
        with self._log.open("rb") as stream:
            stream.seek(self._start_bytes)
            return stream.read().decode("utf-8", errors="replace")

    def wait_for(self, mark: Mark) -> None:
        """Wait for the end of a stage; raises StageFailed if `run.sh` ends first."""
        limit = time.monotonic() + _LONGEST_SECONDS
        while not mark.reached(self._bundle, self.text()):
            ended = self._process.poll() is not None
            if ended and not mark.reached(self._bundle, self.text()):
                raise StageFailed(find_cause(self.text()))
            if time.monotonic() > limit:
                raise StageFailed(f"no end after {_LONGEST_SECONDS / 60:.0f} minutes")
            time.sleep(_POLL_SECONDS)

    def finish(self) -> None:
        """Wait for the end of `run.sh`; raises StageFailed unless it succeeds."""
        if self._process.wait(timeout=_LONGEST_SECONDS):
            raise StageFailed(find_cause(self.text()))

    def kill(self) -> None:
        """Kill every process with SIGKILL and wait until all have ended."""
        left = list(_descendants(self._process.pid))
        while left:
            for process in left:
                try:
                    process.send_signal(signal.SIGKILL)
                except psutil.NoSuchProcess:
                    continue
            self._process.wait()
            _, alive = psutil.wait_procs(left, timeout=5)
            left = [*alive, *_descendants(self._process.pid)]
        self._process.wait()


def make_environment() -> Mapping[str, str]:
    """Return the environment of the scripts: this interpreter first in PATH, and the converter."""
    found = dict(os.environ)
    found["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), found.get("PATH", "")])
    found["TOKENIZERS_PARALLELISM"] = "false"
    home = Path(found.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    with suppress(PackageNotFoundError):
        sdist = home / "ftc" / "sdist" / f"llama_cpp_python-{version('llama-cpp-python')}.tar.gz"
        if sdist.is_file():
            found.setdefault("FTC_LLAMA_CPP_SDIST", str(sdist))
    return found


def find_cause(text: str) -> str:
    """Return the message with which a script stopped, or else the exception that ended it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    spoken = [number for number, line in enumerate(lines) if _SAID.match(line)]
    if spoken:
        return "\n".join([lines[spoken[-1]], *lines[spoken[-1] + 1 :][-_CAUSE_LINES:]])
    died = [line for line in lines if _ERROR.match(line) and not _LAUNCHER.match(line)]
    return died[-1] if died else "\n".join(lines[-_CAUSE_LINES:])


def _descendants(pid: int) -> Iterator[psutil.Process]:
    """Yield a process and its descendants that are still running."""
    try:
        first = psutil.Process(pid)
        family = [first, *first.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for process in family:
        try:
            if process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except psutil.NoSuchProcess:
            continue
