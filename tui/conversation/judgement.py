"""Answers questions such as "should I use QLoRA?" with the planner."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.compiler.plan.plan import Plan
from ftc.spec.findings.finding import Finding
from ftc.tui.conversation.advice import fit
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import (
    tell_decision,
    tell_meaning,
    tell_mentioned,
    tell_page,
    topics,
)
from ftc.tui.conversation.field_advice import compare_amounts, tell_field, tell_otherwise
from ftc.tui.conversation.machine_figures import tell_supposed
from ftc.tui.questions.dialogue import Option, Question
from ftc.tui.state.line import Line
from ftc.tui.state.situation import Situation
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.machines.supposed import AMOUNT
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Request
from ftc.tui.understanding.text.message import Message, fold

_ANY_GPU: Final = re.compile(
    r"(?:an? |una? )?(?:gpus?|graphics card|targeta grafica|tarjeta grafica)"
)
_WITHOUT: Final = Change(pointer="/hardware/gpu", value="cpu", words="cpu")
_COUNT: Final = "/hardware/count"
_GPU: Final = "/hardware/gpu"
_TIMES: Final = "/training/epochs"
_QUICKER: Final = 0.9
_SLOWER: Final = 1.1
#: Findings about sizes that the plan also shows.
_SIZES: Final = frozenset({"FTC420"})
#: The requests that a question can mean: those that only show something.
_TELLING: Final = frozenset({"cheaper", "explain", "fit", "models", "plan", "what_if"})
_WISE: Final = frozenset({"either", "needed", "quicker", "yes"})


def judge(conversation: Conversation, about: str) -> tuple[list[Line], Request | None]:
    """Return yes or no with the figures of both plans, or the request that answers the question.

    The draft does not change; a useful change is proposed.
    """
    inner = read(about.rstrip(" ?"), conversation.draft.data)  # "use KTO instead?"
    if inner.request is not None and inner.request.kind in _TELLING:
        return [], inner.request
    options = _alternatives(conversation, about)
    if len(options) > 1:
        return _compare(conversation, options, about), None
    if _ANY_GPU.fullmatch(fold(about)) and not inner.changes:
        return _weigh(conversation, (_WITHOUT,), about), None
    if changes := inner.changes or tuple(compare_amounts(conversation, about)):
        return _weigh(conversation, changes, about), None
    if AMOUNT.search(fold(about)):
        return fit(conversation, about), None
    if compared := tell_supposed(conversation, about):
        return conversation.answer(*compared), None
    told = _explained(conversation, about, ())
    if not told and not find_mentions(Message(about)):
        told = [*tell_mentioned(conversation, about)]
    told += tell_field(conversation, about, is_explained=bool(told))
    return [
        *(told or [conversation.line("outside")]),
        *conversation.answer(),
    ], None


def _weigh(conversation: Conversation, changes: tuple[Change, ...], about: str) -> list[Line]:
    """Compare the draft with other values to the current draft."""
    what = conversation.listed(changes)
    told = [] if changes == (_WITHOUT,) else _explained(conversation, about, changes)
    now = conversation.situation
    other = conversation.observer.look(conversation.draft.changed(changes), offers=False)
    if wrong := find_new_error(now, other):
        refusal = conversation.line("judge.wrong", what=what, why=conversation.told(wrong))
        return [*told, refusal, *conversation.answer()]
    if other.plan is None:
        return [*told, conversation.line("judge.no_plan"), *conversation.answer()]
    verdict = _verdict(conversation, now.plan, other.plan, changes)
    lines = [
        conversation.line(f"judge.{verdict}", what=what, plan=conversation.outlook(other.plan))
    ]
    if now.plan is not None and verdict != "same":
        lines.append(conversation.line("now", plan=conversation.outlook(now.plan)))
    lines += told
    if verdict == "same":
        lines += [line for each in changes for line in tell_otherwise(conversation, each.pointer)]
    if verdict not in _WISE:
        return [*lines, *conversation.answer()]
    conversation.proposal = changes
    return [
        *lines,
        conversation.line("judge.take", "proposal", what=conversation.compared(changes)),
    ]


def _verdict(
    conversation: Conversation, now: Plan | None, other: Plan, changes: tuple[Change, ...]
) -> str:
    """Return the key of the sentence that answers the question."""
    if changes == (_WITHOUT,):
        return "without"
    if now is None:
        return "yes" if other.memory.fits else "no"
    if _is_so(conversation, changes) or _measures(other) == _measures(now):
        return "same"
    if not other.memory.fits:
        return "refused" if now.memory.fits else "not_enough"
    if not now.memory.fits:
        return "needed"
    more = any(each.pointer == _COUNT for each in changes)
    if more and other.decisions.distribution.world.value > now.decisions.distribution.world.value:
        return "unneeded"
    if any(each.pointer.startswith(_TIMES) for each in changes):
        return "either"
    ratio = (other.time_seconds or 1.0) / (now.time_seconds or other.time_seconds or 1.0)
    if ratio > _SLOWER:
        is_machine = any(each.pointer == _GPU for each in changes)
        return "slower" if is_machine else "unneeded"
    return "quicker" if ratio < _QUICKER else "either"


def _is_so(conversation: Conversation, changes: tuple[Change, ...]) -> bool:
    return all(conversation.draft.get(change.pointer) == change.value for change in changes)


def _measures(plan: Plan) -> tuple[object, ...]:
    """Return the values for comparing plans: every decision and the results."""
    values = tuple(decision.value for decision in plan.decisions.items().values())
    return (*values, plan.memory.device_bytes, plan.time_seconds, dict(plan.export_bytes))


def find_new_error(now: Situation, other: Situation) -> Finding | None:
    """Return the first error that the other values cause, except errors about sizes."""
    known = {finding.code for finding in now.findings}
    return next(
        (
            finding
            for finding in other.findings
            if finding.severity == "error"
            and finding.code not in known
            and not (other.plan is not None and finding.code in _SIZES)
        ),
        None,
    )


def _explained(conversation: Conversation, about: str, changes: tuple[Change, ...]) -> list[Line]:
    """Return the explanation of the topic, and the reason for its value in the plan."""
    names = [about, *(str(change.value) for change in changes if isinstance(change.value, str))]
    for name in names:
        if lines := [*tell_page(conversation, name), *tell_meaning(conversation, name)]:
            return lines
    keys = [change.pointer.rpartition("/")[2] for change in changes]
    return [line for key in keys for line in tell_decision(conversation, key)]


def _alternatives(conversation: Conversation, about: str) -> tuple[Option, ...]:
    """Return the values of one field that a question compares."""
    found: list[Option] = []
    several = topics(about)
    for topic in several if len(several) > 1 else ():
        changes = read(topic, conversation.draft.data).changes
        if not changes or (found and changes[0].pointer != found[0].changes[0].pointer):
            return ()
        found.append(Option(label=conversation.listed(changes), changes=changes))
    return tuple(found)


def _compare(conversation: Conversation, options: tuple[Option, ...], about: str) -> list[Line]:
    """Ask which alternative to take, each with its plan."""
    lines = [line for topic in topics(about) for line in tell_meaning(conversation, topic)]
    planned = tuple(_planned(conversation, options))
    fitting = [n for n, one in enumerate(planned) if one.plan and one.plan.memory.fits]
    conversation.step = Question(
        pointer=options[0].changes[0].pointer,
        options=planned,
        suggested=fitting[0] if fitting else None,
        optional=True,
    )
    line = conversation.line("judge.choose")
    return [*lines, Line(who="ftc", text=line.text, kind="question")]


def _planned(conversation: Conversation, options: tuple[Option, ...]) -> Iterator[Option]:
    for option in options:
        tried = conversation.draft.changed(option.changes)
        plan = conversation.observer.look(tried, offers=False).plan
        yield Option(label=option.label, changes=option.changes, plan=plan)
