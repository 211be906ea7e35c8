"""The stages of a run, from the events that the scripts log."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ftc.tui.watch.records import Record
from ftc.tui.watch.values import count, number, text

#: A process that started this long after the event is another process with the same id.
_CLOCK_SECONDS: Final = 10.0

Status = Literal["waiting", "running", "done", "stopped", "failed", "gone"]
_ENDS: Final[Mapping[str, Status]] = {"done": "done", "stopped": "stopped", "failed": "failed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of the run; `gone` means that its process ended without logging its end.

    `seconds` is its duration so far; `sentence` and `code` describe its end. `order` counts the
    events of all stages, so that clocks may differ. `elsewhere` is its machine, if that is not this
    one.
    """

    name: str
    order: int = 0
    status: Status = "waiting"
    began: float | None = None
    seconds: float | None = None
    code: int | None = None
    sentence: str = ""
    elsewhere: str = ""


def read_stages(
    records: Iterable[Record], expected: Sequence[str], now: float
) -> tuple[Stage, ...]:
    """Return every stage in the order of the plan; other stages come last."""
    latest: dict[str, Stage] = {name: Stage(name=name) for name in expected}
    processes: dict[str, tuple[int, float]] = {}
    for order, record in enumerate(records):
        name, event, at = text(record, "stage"), record.get("event"), number(record, "time")
        if not name or at is None:
            continue
        before = latest.get(name, Stage(name=name))
        if event == "began":
            host = text(record, "host")
            latest[name] = Stage(
                name=name,
                order=order,
                status="running",
                began=at,
                seconds=before.seconds,
                elsewhere="" if host == socket.gethostname() else host,
            )
            processes[name] = (count(record, "pid") or 0, at)
        elif isinstance(event, str) and event in _ENDS:
            latest[name] = _end(before, order, record, _ENDS[event])
    return tuple(_look(stage, processes.get(stage.name), now) for stage in latest.values())


def _end(stage: Stage, order: int, record: Record, status: Status) -> Stage:
    """Return an ended stage; a stage that was skipped as done keeps its earlier duration."""
    took, at = number(record, "seconds"), number(record, "time") or 0.0
    if took is None and (status != "done" or stage.seconds is None) and stage.began is not None:
        took = max(0.0, at - stage.began)
    return Stage(
        name=stage.name,
        order=order,
        status=status,
        began=stage.began,
        seconds=stage.seconds if took is None else took,
        code=count(record, "code"),
        sentence=text(record, "sentence"),
    )


def _look(stage: Stage, process: tuple[int, float] | None, now: float) -> Stage:
    """Return a running stage with its time so far, or mark it as gone."""
    if stage.status != "running" or stage.began is None:
        return stage
    alive = bool(stage.elsewhere) or (process is not None and _is_alive(*process))
    return Stage(
        name=stage.name,
        order=stage.order,
        status="running" if alive else "gone",
        began=stage.began,
        seconds=max(0.0, now - stage.began) if alive else None,
        elsewhere=stage.elsewhere,
    )


def _is_alive(pid: int, noted: float) -> bool:
    """Return whether the process that logged its start at this time is still running."""
    import psutil  # noqa: PLC0415 - for a stage that has not ended

    if pid <= 0:
        return False
    try:
        process = psutil.Process(pid)
        began = process.create_time() <= noted + _CLOCK_SECONDS
        return began and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OverflowError):
        return False
