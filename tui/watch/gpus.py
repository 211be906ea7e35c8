"""The load of this machine's GPUs, read with nvidia-smi; nothing without it."""

import csv
import subprocess
from dataclasses import dataclass
from typing import Final

_MIB: Final = 2**20
_PATIENCE_SECONDS: Final = 5.0
_QUERY: Final = (
    "nvidia-smi",
    "--query-gpu=index,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLoad:
    """One GPU: its recent utilization, and its used memory.

    A value is None if the driver does not support it.
    """

    index: int
    percent: int | None = None
    used_bytes: int | None = None
    total_bytes: int | None = None


def read_loads() -> tuple[GpuLoad, ...]:
    """Return the GPUs in order; none without the tool, a driver, or an answer in time."""
    try:
        done = subprocess.run(
            _QUERY,
            capture_output=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return parse_loads(done.stdout.decode("utf-8", "replace"))


def parse_loads(table: str) -> tuple[GpuLoad, ...]:
    """Return the GPUs in a CSV table; a line that does not describe a GPU is skipped."""
    found = []
    for row in csv.reader(table.splitlines(), skipinitialspace=True):
        if len(row) != _QUERY[1].count(",") + 1 or (index := _count(row[0])) is None:
            continue
        percent, used, total = map(_count, row[1:])
        found.append(
            GpuLoad(
                index=index,
                percent=percent,
                used_bytes=None if used is None else used * _MIB,
                total_bytes=None if total is None else total * _MIB,
            )
        )
    return tuple(found)


def _count(cell: str) -> int | None:
    """Return the number in a cell; None for a word such as `[N/A]`."""
    text = cell.strip()
    return int(text) if text.isascii() and text.isdecimal() else None
