"""The dialogue: from a draft and what follows from it to the next question, or to being done.

Nothing here asks, prints or looks anything up: each front end does that in its own way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ftc.compiler.plan.plan import Plan
from ftc.spec.finding import Finding
from ftc.spec.normal import lengthen
from ftc.spec.schema import fields
from ftc.tui.draft import Draft
from ftc.tui.situation import Situation
from ftc.tui.understanding.reading import Change

#: Sections whose own field is asked for: what a spec writes in their short form.
_ASKED_AS: Final[Mapping[str, str]] = {
    "/model": "/model/id",
    "/data": "/data/source",
    "/hardware": "/hardware/gpu",
    "/method": "/method/type",
    "/export": "/export/types",
}


_METHOD: Final = "/method/type"
_MOST_ALTERNATIVES: Final = 4
_PROMPT: Final = "/data/columns/prompt"
_ANSWER: Final = "/data/columns/completion"
#: Columns that are not recognised.
_COLUMNS: Final = frozenset({"FTC206"})
#: The Hub was busy, silent or out of reach, or gave only a part.
_PASSING: Final = frozenset({"FTC108", "FTC109", "FTC110", "FTC210"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One answer that is offered: what it changes, and the plan that it would lead to.

    `label` is the value as it is written in a spec; `key` names a sentence of the catalogue
    that stands for it, where a value alone says too little. `told` are facts about it: keys of
    the catalogue with their values, of which those in `_bytes` are sizes.
    """

    label: str
    changes: tuple[Change, ...]
    key: str | None = None
    plan: Plan | None = None
    told: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked next: a field, the answers on offer, and which of them ftc would take.

    `trouble` is what is wrong with the field's present value, where that is why it is asked;
    an `optional` question holds up nothing.
    """

    pointer: str
    options: tuple[Option, ...] = ()
    suggested: int | None = None
    trouble: Finding | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """Nothing is left to ask: the draft compiles, or warnings are all that is left."""


Step = Question | Done


def next_step(draft: Draft, situation: Situation) -> Step:
    """Return the next question; a field that is said or follows from the rest is not asked.

    The order is the schema's (`x-question.order`); what is wrong with what was said comes first.
    """
    if trouble := _first_error(situation, draft):
        if _is_too_large(situation) and not draft.has(_METHOD):
            return Question(pointer=_METHOD, trouble=trouble)
        pointer = _asked_column(draft) if trouble.code in _COLUMNS else _asked(trouble.pointer)
        options = (*_repairs(trouble), *_retries(trouble, pointer, draft))
        if _is_too_large(situation) and situation.plan is not None:
            options = _alternatives(situation.plan) or options
        return Question(pointer=pointer, options=options, trouble=trouble)
    for pointer in asked_pointers():
        if not draft.has(pointer):
            return Question(pointer=pointer)
    return Done()


@cache
def asked_pointers() -> tuple[str, ...]:
    """Return the fields that are asked for by themselves, in the order in which answers matter."""
    ordered = {
        _ASKED_AS.get(field.pointer, field.pointer): field.schema["x-question"]["order"]
        for field in fields()
        if "order" in field.schema["x-question"]
    }
    return tuple(sorted(ordered, key=lambda pointer: ordered[pointer]))


def _is_too_large(situation: Situation) -> bool:
    """Whether what the plan takes as its method does not fit; another one may."""
    return situation.plan is not None and not situation.plan.memory.fits


def _first_error(situation: Situation, draft: Draft) -> Finding | None:
    """Return the first error about something that was said."""
    errors = [finding for finding in situation.findings if finding.severity == "error"]
    said = [finding for finding in errors if _concerns(finding, draft)]
    return next(iter(said or errors), None)


def _concerns(finding: Finding, draft: Draft) -> bool:
    section = finding.pointer.split("/")[1:2]
    return bool(section) and draft.has(f"/{section[0]}")


def _asked(pointer: str) -> str:
    """Return the field that a finding's pointer asks about."""
    known = {field.pointer for field in fields()}
    while pointer and pointer not in known:
        pointer = pointer.rpartition("/")[0]
    return _ASKED_AS.get(pointer, pointer) or "/model/id"


def _asked_column(draft: Draft) -> str:
    """Return the column to ask for where the names do not show which is which."""
    return _ANSWER if draft.has(_PROMPT) else _PROMPT


def _repairs(finding: Finding) -> tuple[Option, ...]:
    """Return the finding's own repair as an answer, where it has one."""
    repair = _repair(finding.fix)
    return () if repair is None else (repair,)


def _repair(fix: Sequence[Mapping[str, object]]) -> Option | None:
    """Return a JSON patch as an answer; None where it is empty or does more than set values."""
    changes = tuple(_change(operation) for operation in fix)
    if not changes or any(change is None for change in changes):
        return None
    kept = tuple(change for change in changes if change is not None)
    label = ", ".join(f"{change.pointer[1:].replace('/', '.')} = {change.value}" for change in kept)
    return Option(label=label, changes=kept, key="option.repair")


def _alternatives(plan: Plan) -> tuple[Option, ...]:
    """Return what would fit instead, as answers."""
    fixes = (_repair(alternative.fix) for alternative in plan.alternatives)
    return tuple(option for option in fixes if option is not None)[:_MOST_ALTERNATIVES]


def _retries(finding: Finding, pointer: str, draft: Draft) -> tuple[Option, ...]:
    """Return saying the same again as an answer, where the cause may have passed meanwhile."""
    if finding.code not in _PASSING or not draft.has(pointer):
        return ()
    value = draft.get(pointer)
    same = Change(pointer=pointer, value=value, words=str(value))
    return (Option(label=str(value), changes=(same,), key="option.retry"),)


def _change(operation: Mapping[str, object]) -> Change | None:
    pointer = str(operation["path"])
    if operation["op"] == "remove":
        return Change(pointer=pointer, value=None, words="")
    if operation["op"] in ("add", "replace"):
        section, _, inner = pointer[1:].partition("/")
        value = operation["value"] if inner else lengthen(section, operation["value"])
        return Change(pointer=pointer, value=value, words="")
    return None
