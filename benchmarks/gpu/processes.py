"""Processes of a benchmark: with a time limit, and with the memory that the driver reports."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

LAUNCH: Final = (
    sys.executable, "-m", "accelerate.commands.launch", "--config_file", "accelerate.yaml",
)  # fmt: skip
TURN: Final = Path(__file__).with_name("turn.py")  # before a script: it waits for the GPU
_SAMPLE_SECONDS: Final = 0.1
_MESSAGE: Final = 300  # characters of an error message
_SHOWN_LINES: Final = 25  # of what a failed process said


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The time that is left, in seconds, counted from when the clock was made."""

    end: float

    @property
    def left(self) -> float:
        """Return the remaining seconds; negative after the deadline."""
        return self.end - time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended: its exit code, what it printed, and the peak of the GPU's used memory.

    `code` is None if it ran out of time.
    """

    code: int | None
    out: str
    err: str
    device_bytes: int | None

    @property
    def failure(self) -> str | None:
        """The reason of a failure, or None."""
        if self.code == 0:
            return None
        if self.code is None:
            return "it ran out of time"
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return f"exit {self.code}: {lines[-1][:_MESSAGE] if lines else 'without a message'}"


def watch_nothing(_line: str) -> bool:
    """Let a process run."""
    return False


def environment(**more: str) -> dict[str, str]:
    """Return this environment for a stage of a bundle, as `run.sh` sets it on a GPU."""
    own = str(Path(sys.executable).parent)
    fixed = {
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        "PYTHONUNBUFFERED": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
    }
    return {**os.environ, **fixed, **more}


def run(
    command: Sequence[str | Path],
    folder: Path,
    *,
    clock: Clock,
    gpu: bool,
    watch: Callable[[str], bool] = watch_nothing,
) -> Ended:
    """Run a command in a folder and wait for it; kill it when no time is left.

    `watch` gets each line of its output, and returns whether to kill the process and all that it
    has started. The last lines that a failed process said are printed.
    """
    with (
        Device(active=gpu) as device,
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        device.watch(process.pid)
        late = threading.Timer(max(0.0, clock.left), _kill, [process])
        late.start()
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if watch(line):
                _kill(process)
        code: int | None = process.wait()
        late.cancel()
        errors.seek(0)
        said = errors.read()
    if code != 0:
        print(*said.splitlines()[-_SHOWN_LINES:], sep="\n", file=sys.stderr, flush=True)
    over = clock.left <= 0 and code == -signal.SIGKILL
    peak = device.peak_bytes if gpu else None
    return Ended(code=None if over else code, out="".join(lines), err=said, device_bytes=peak)


def _kill(process: "subprocess.Popen[str]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def describe_machine(gpu: str | None) -> Mapping[str, object]:
    """Return the card, its driver, and the versions of the packages that train."""
    from ftc.runtime.libraries import list_versions  # noqa: PLC0415 - of the bundle's side

    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = None
    if gpu is not None:
        done = subprocess.run(query, capture_output=True, text=True, check=False)
        driver = done.stdout.splitlines()[0].strip() if done.stdout.strip() else None
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {"python": python, **list_versions()}
    return {"machine": gpu or "cpu", "driver": driver, "versions": versions, "commit": head or None}


class Device:
    """Samples the memory of the first GPU that the driver reports for a run's processes.

    Where it reports none by process, the memory counts that is used since the run began.
    """

    def __init__(self, *, active: bool) -> None:
        """Sample inside the context; set `active` to false without a GPU."""
        self._own_bytes = self._more_bytes = 0
        self._active = active
        self._group: int | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    @property
    def peak_bytes(self) -> int:
        """The largest sample."""
        return self._own_bytes or self._more_bytes

    def watch(self, group: int) -> None:
        """Count the processes of this group."""
        self._group = group

    def __enter__(self) -> Self:
        """Start sampling."""
        if self._active:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop sampling."""
        self._stop.set()
        if self._active:
            self._thread.join()

    def _sample(self) -> None:
        import pynvml  # noqa: PLC0415 - of a machine with a GPU only

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        before = int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
        while not self._stop.wait(_SAMPLE_SECONDS):
            used = int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)
            self._more_bytes = max(self._more_bytes, used - before)
            own = [
                process.usedGpuMemory or 0
                for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
                if _find_group(process.pid) == self._group
            ]
            self._own_bytes = max(self._own_bytes, sum(own))
        pynvml.nvmlShutdown()


def _find_group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
