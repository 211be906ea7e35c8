"""Advice: what another choice would come to, what would fit, what would cost less."""

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from ftc.compiler.plan.plan import Plan
from ftc.tui.dialogue import Option, Question
from ftc.tui.line import Line
from ftc.tui.understanding.message import fold
from ftc.tui.understanding.numbers import read_number
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change

if TYPE_CHECKING:
    from ftc.tui.session import Session

AMOUNT: Final = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:gi?b|g|gigas?)\b")
_GIBI: Final = 1024**3
_MOST_OFFERS: Final = 4
_HARDLY_LONGER: Final = 1.1


def what_if(session: "Session", about: str) -> list[Line]:
    """Plan the draft with other values, say both outcomes, and offer to take the other."""
    changes = read(about, session.draft.data).changes
    if not changes:
        return [session.line("not_understood", text=about), *session.ask()]
    plan = session.observer.look(session.draft.changed(changes)).plan
    if plan is None:
        return [session.line("no_plan"), *session.ask()]
    lines = []
    if session.situation.plan is not None:
        lines.append(session.line("now", plan=session.outlook(session.situation.plan)))
    session.proposal = changes
    what = session.listed(changes)
    lines.append(session.line("with_it", what=what, plan=session.outlook(plan)))
    return [*lines, session.line("proposal", "proposal", what=session.compared(session.proposal))]


def fit(session: "Session", about: str) -> list[Line]:
    """Offer the changes that bring the peak under an amount, or under what the GPU has."""
    plan = session.situation.plan
    if plan is None:
        return [session.line("no_plan"), *session.ask()]
    amount = AMOUNT.search(fold(about))
    number = read_number(amount[1]) if amount else None
    if number is None and about:
        return what_if(session, about)
    budget = plan.memory.capacity_bytes if number is None else int(number * _GIBI)
    if budget is None:
        return [session.line("no_plan"), *session.ask()]
    if plan.memory.device_bytes <= budget:
        peak = session.voice.size(plan.memory.device_bytes)
        return [session.line("fits_already", peak=peak), *session.ask()]
    found = [
        option
        for option in _planned(session, _smaller(session, plan))
        if option.plan is not None and option.plan.memory.device_bytes <= budget
    ]
    return _offer(session, found, "would_fit")


def cheaper(session: "Session", about: str) -> list[Line]:
    """Offer the changes that take less time or memory than the plan does."""
    del about
    plan = session.situation.plan
    if plan is None:
        return [session.line("no_plan"), *session.ask()]
    found = [
        option
        for option in _planned(session, (*_quicker(plan), *_smaller(session, plan)))
        if option.plan is not None and _costs_less(option.plan, plan)
    ]
    return _offer(session, found, "would_cost_less")


def _costs_less(other: Plan, plan: Plan) -> bool:
    if plan.time_seconds is None or other.time_seconds is None or not other.memory.fits:
        return False
    if other.time_seconds < plan.time_seconds:
        return True
    hardly_longer = other.time_seconds <= plan.time_seconds * _HARDLY_LONGER
    return hardly_longer and other.memory.device_bytes < plan.memory.device_bytes


def _smaller(session: "Session", plan: Plan) -> tuple[tuple[Change, ...], ...]:
    """Return changes that need less memory, those that train the same first; then together.

    Rows are cut to half the length only where hardly a row is longer.
    """
    recompute = _set("/training/gradient_checkpointing", value=True)
    one = _set("/training/micro_batch", value=1)
    quantize = _set("/method/type", value="qlora")
    half = plan.decisions.max_length.value // 2
    shorter = _set("/data/max_length", value=half)
    data = session.situation.data
    cut = ((quantize, recompute, one, shorter),) if data and data.lengths.p99 <= half else ()
    return (
        (recompute,),
        (recompute, one),
        (quantize,),
        (quantize, recompute),
        (quantize, recompute, one),
        *cut,
    )


def _quicker(plan: Plan) -> Iterator[tuple[Change, ...]]:
    """Yield changes that take less time."""
    epochs = plan.decisions.epochs.value
    if epochs > 1:
        yield (_set("/training/epochs", value=int(epochs) - 1 if epochs > 1 else 1),)
    yield (_set("/method/type", value="lora"),)
    yield (_set("/training/gradient_checkpointing", value=False),)


def _set(pointer: str, *, value: object) -> Change:
    return Change(pointer=pointer, value=value, words="")


def _planned(session: "Session", edits: Iterable[tuple[Change, ...]]) -> Iterator[Option]:
    """Yield each edit that changes something as an answer with its plan."""
    for changes in edits:
        if all(session.draft.get(change.pointer) == change.value for change in changes):
            continue
        plan = session.observer.look(session.draft.changed(changes)).plan
        yield Option(label=session.listed(changes), changes=changes, plan=plan)


def _offer(session: "Session", found: list[Option], key: str) -> list[Line]:
    """Put the changes up as the question."""
    if not found:
        return [session.line("nothing_would"), *session.ask()]
    session.step = Question(pointer="/training", options=tuple(found[:_MOST_OFFERS]), optional=True)
    line = session.line(key)
    return [Line(who="ftc", text=line.text, kind="question")]
