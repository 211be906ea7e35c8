"""Computes the next question from a draft and its situation.

This module has no side effects; front ends show the question and read the answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from ftc.compiler.plan.plan import Alternative, Kind, Plan
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message
from ftc.spec.normal import lengthen
from ftc.spec.schema import fields
from ftc.tui.state.draft import Draft, show_value
from ftc.tui.state.goals import GOALS, Goal
from ftc.tui.state.situation import Situation
from ftc.tui.understanding.reading import Change

#: Sections whose question is about the field of their short form.
_ASKED_AS: Final[Mapping[str, str]] = {
    "/model": "/model/id",
    "/data": "/data/source",
    "/hardware": "/hardware/gpu",
    "/method": "/method/type",
    "/export": "/export/types",
}


#: The field of the question about the goal.
GOAL: Final = "/objective/type"
_METHOD: Final = "/method/type"
_MOST_ALTERNATIVES: Final = 4
#: Factors by which the hours of a change are multiplied for ranking: a worse result or more GPUs
#: count as more hours.
_WEIGHTS: Final[Mapping[Kind, float]] = {"layout": 1.0, "method": 1.2, "data": 2.0, "hardware": 4.0}
_PROMPT: Final = "/data/columns/prompt"
_ANSWER: Final = "/data/columns/completion"
#: Findings about columns that were not recognised.
_COLUMNS: Final = frozenset({"FTC206"})
#: Findings about a Hub that was busy or unreachable, or whose answer was incomplete.
_PASSING: Final = frozenset({"FTC108", "FTC109", "FTC110", "FTC210"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One offered answer: its changes, and the plan that it would lead to.

    `label` is the value as a spec writes it. `key` is the catalogue key of a sentence to show
    instead, if the value alone is unclear. `told` holds facts about the answer: catalogue keys with
    their values. Values whose names end in `_bytes` are sizes. `goal` is the goal that it sets.
    `writes` is a goal whose example file it writes first, under the name in the changes.
    `lacks_data` means that there is no data yet. `refused` is the error for which the answer is
    withheld. `way` is the way out of an error that its changes contain.
    """

    label: str
    changes: tuple[Change, ...]
    key: str | None = None
    plan: Plan | None = None
    told: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    goal: Goal | None = None
    writes: Goal | None = None
    lacks_data: bool = False
    refused: Finding | None = None
    way: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The next question: a field, the offered answers, and ftc's suggestion.

    `trouble` is the problem with the field's current value, if that led to the question. An
    `optional` question does not block compiling. `withheld` are answers that are not offered
    because the plan with them does not fit or has an error.
    """

    pointer: str
    options: tuple[Option, ...] = ()
    suggested: int | None = None
    trouble: Finding | None = None
    optional: bool = False
    withheld: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """There are no more questions: the draft compiles, perhaps with warnings."""


Step = Question | Done


def next_step(draft: Draft, situation: Situation) -> Step:
    """Return the next question, about a field that is neither set nor derived from the others.

    Errors in the draft come first. The order of fields is the schema's (`x-question.order`).
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


def ask_goal() -> Question:
    """Return the first question: what the model should learn to do."""
    options = tuple(Option(label=goal, changes=(), key=f"goal.{goal}", goal=goal) for goal in GOALS)
    return Question(pointer=GOAL, options=options)


@cache
def asked_pointers() -> tuple[str, ...]:
    """Return the fields with their own question, in the schema's order."""
    ordered = {
        _ASKED_AS.get(field.pointer, field.pointer): field.schema["x-question"]["order"]
        for field in fields()
        if "order" in field.schema["x-question"]
    }
    return tuple(sorted(ordered, key=lambda pointer: ordered[pointer]))


def _is_too_large(situation: Situation) -> bool:
    """Return whether the method that the plan chose does not fit; another method may fit."""
    return situation.plan is not None and not situation.plan.memory.fits


def _first_error(situation: Situation, draft: Draft) -> Finding | None:
    """Return the first error about a value of the draft."""
    errors = [finding for finding in situation.findings if finding.severity == "error"]
    said = [finding for finding in errors if concerns(finding, draft)]
    return next(iter(said or errors), None)


def concerns(finding: Finding, draft: Draft) -> bool:
    """Return whether a finding is about a section of the draft."""
    section = finding.pointer.split("/")[1:2]
    return bool(section) and draft.has(f"/{section[0]}")


def _asked(pointer: str) -> str:
    """Return the field to ask about, for a finding's pointer."""
    known = {field.pointer for field in fields()}
    while pointer and pointer not in known:
        pointer = pointer.rpartition("/")[0]
    return _ASKED_AS.get(pointer, pointer) or "/model/id"


def _asked_column(draft: Draft) -> str:
    """Return the column to ask for, if the roles are not clear from the names."""
    return _ANSWER if draft.has(_PROMPT) else _PROMPT


def find_repair(finding: Finding) -> Option | None:
    """Return the fix of a finding as an answer; None without a fix that only sets values."""
    return _repair(finding.fix)


def find_ways(finding: Finding) -> tuple[Option, ...]:
    """Return the ways out of a finding as answers; none where it has a single fix or none."""
    ways = ((way, _repair(way.fix)) for way in finding.ways)
    return tuple(replace(repair, way=way.says) for way, repair in ways if repair is not None)


def _repairs(finding: Finding) -> tuple[Option, ...]:
    """Return the ways out of a finding, or else its fix, as answers."""
    repair = find_repair(finding)
    return find_ways(finding) or (() if repair is None else (repair,))


def read_patch(fix: Sequence[Mapping[str, object]]) -> tuple[Change, ...]:
    """Return a JSON patch as changes; none if it does more than set or remove values."""
    changes = [_change(operation) for operation in fix]
    kept = tuple(change for change in changes if change is not None)
    return kept if len(kept) == len(changes) else ()


def _repair(fix: Sequence[Mapping[str, object]]) -> Option | None:
    """Return a JSON patch as an answer; None if it is empty or does more than set values."""
    kept = read_patch(fix)
    if not kept:
        return None
    label = ", ".join(
        f"{change.pointer[1:].replace('/', '.')} = {show_value(change.value)}" for change in kept
    )
    return Option(label=label, changes=kept, key="option.repair")


def _alternatives(plan: Plan) -> tuple[Option, ...]:
    """Return the plan's alternatives as answers, ranked by hours and quality of the result."""
    ranked = sorted(plan.alternatives, key=_burden)
    fixes = (_repair(alternative.fix) for alternative in ranked)
    return tuple(option for option in fixes if option is not None)[:_MOST_ALTERNATIVES]


def _burden(alternative: Alternative) -> float:
    """Return the hours of an alternative, weighted by its other costs."""
    seconds = alternative.time_seconds
    return float("inf") if seconds is None else seconds * _WEIGHTS[alternative.kind]


def _retries(finding: Finding, pointer: str, draft: Draft) -> tuple[Option, ...]:
    """Return the current value as an answer, if another lookup may succeed."""
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
