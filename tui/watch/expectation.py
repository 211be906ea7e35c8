"""The plan of a run: the numbers in the bundle's `plan.json`."""

from dataclasses import dataclass
from typing import Final

from ftc.tui.watch.records import Record
from ftc.tui.watch.values import count, number, section, text

PLAN_NAME: Final = "plan.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The stages in their order, and the planned values of training; None if unknown.

    Bytes are those of one process and of its device; seconds are those of the whole training stage.
    """

    name: str = ""
    stages: tuple[str, ...] = ()
    steps: int | None = None
    micro_batch: int | None = None
    tokens_per_step: int | None = None
    memory_bytes: int | None = None
    capacity_bytes: int | None = None
    low_seconds: float | None = None
    high_seconds: float | None = None
    total_seconds: float | None = None


def read_expectation(record: Record) -> Expectation:
    """Return the numbers of a plan's file, without invalid ones."""
    named = record.get("stages")
    stages = named if isinstance(named, list) else []
    seconds = section(record, "seconds")
    return Expectation(
        name=text(record, "name"),
        stages=tuple(name for name in stages if isinstance(name, str) and name.isidentifier()),
        steps=count(record, "steps"),
        micro_batch=count(record, "micro_batch"),
        tokens_per_step=count(record, "tokens_per_step"),
        memory_bytes=count(record, "memory_bytes"),
        capacity_bytes=count(record, "capacity_bytes"),
        low_seconds=number(seconds, "low"),
        high_seconds=number(seconds, "high"),
        total_seconds=number(seconds, "total"),
    )
