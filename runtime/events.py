"""Logs events for `ftc watch`: run/stages.jsonl for stages, run/train/log.jsonl for training.

What the stages print is also in run/stages.log.

Losing an event only affects `ftc watch`, so disk errors are ignored. Standard library only.
"""

import json
import math
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any


def append(path: Path, **record: Any) -> None:
    """Append a record and the time as one line of JSON; a truncated last line is ended first."""
    record = {"time": round(time.time(), 3), **record}
    for name, value in record.items():
        if isinstance(value, float) and not math.isfinite(value):
            record[name] = None  # JSON has no such number
    line = json.dumps(record, ensure_ascii=False, default=float).encode() + b"\n"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                line = line if file.read() == b"\n" else b"\n" + line
            file.write(line)  # in this mode always at the end


def append_text(path: Path, text: str) -> None:
    """Append a text as a line."""
    with suppress(OSError), path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(f"{text}\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the events of a file, without truncated lines; none if it cannot be read."""
    found = []
    with suppress(OSError):
        for line in path.read_bytes().split(b"\n"):
            with suppress(ValueError):
                found.append(json.loads(line))
    return [event for event in found if isinstance(event, dict)]
