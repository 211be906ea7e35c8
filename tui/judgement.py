"""Judgement: whether to do what a question asks about, by what the planner makes of it."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ftc.compiler.plan.plan import Plan
from ftc.tui.advice import AMOUNT, fit
from ftc.tui.dialogue import Option, Question
from ftc.tui.explaining import tell_meaning, tell_page, tell_reason, topics
from ftc.tui.line import Line
from ftc.tui.situation import Situation
from ftc.tui.understanding.message import fold
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change, Request

if TYPE_CHECKING:
    from ftc.spec.finding import Finding
    from ftc.tui.session import Session

_ANY_GPU: Final = re.compile(
    r"(?:an? |una? )?(?:gpus?|graphics card|targeta grafica|tarjeta grafica)"
)
_WITHOUT: Final = Change(pointer="/hardware/gpu", value="cpu", words="cpu")
_COUNT: Final = "/hardware/count"
_TIMES: Final = "/training/epochs"
_QUICKER: Final = 0.9
_SLOWER: Final = 1.1
#: What does not fit is told by the plan's sizes.
_SIZES: Final = frozenset({"FTC420"})
#: Requests that a question may stand for: those that do nothing but tell.
_TELLING: Final = frozenset({"cheaper", "explain", "fit", "models", "plan", "what_if"})
_WISE: Final = frozenset({"either", "needed", "quicker", "yes"})


def judge(session: "Session", about: str) -> tuple[list[Line], Request | None]:
    """Return yes or no with the figures of both, or the other request that answers it.

    The draft stays as it is; what would be wise is proposed.
    """
    inner = read(about, session.draft.data)
    if inner.request is not None and inner.request.kind in _TELLING:
        return [], inner.request
    options = _alternatives(session, about)
    if len(options) > 1:
        return _compare(session, options, about), None
    if _ANY_GPU.fullmatch(fold(about)) and not inner.changes:
        return _weigh(session, (_WITHOUT,), about), None
    if inner.changes:
        return _weigh(session, inner.changes, about), None
    if AMOUNT.search(fold(about)):
        return fit(session, about), None
    told = _explained(session, about, ())
    return [*(told or [session.line("judge.unknown")]), *session.go_to(session.draft)], None


def _weigh(session: "Session", changes: tuple[Change, ...], about: str) -> list[Line]:
    """Hold the draft with other values to the draft as it is."""
    what = session.listed(changes)
    told = [] if changes == (_WITHOUT,) else _explained(session, about, changes)
    now = session.situation
    other = session.observer.look(session.draft.changed(changes))
    if wrong := _new_error(now, other):
        refusal = session.line("judge.wrong", what=what, why=session.told(wrong))
        return [*told, refusal, *session.go_to(session.draft)]
    if other.plan is None:
        return [*told, session.line("judge.no_plan"), *session.go_to(session.draft)]
    verdict = _verdict(session, now.plan, other.plan, changes)
    lines = [session.line(f"judge.{verdict}", what=what, plan=session.outlook(other.plan))]
    if now.plan is not None and verdict != "same":
        lines.append(session.line("now", plan=session.outlook(now.plan)))
    lines += told
    if verdict not in _WISE:
        return [*lines, *session.go_to(session.draft)]
    session.proposal = changes
    return [*lines, session.line("judge.take", "proposal", what=session.compared(changes))]


def _verdict(session: "Session", now: Plan | None, other: Plan, changes: tuple[Change, ...]) -> str:
    """Return the name of the sentence that answers."""
    if changes == (_WITHOUT,):
        return "without"
    if now is None:
        return "yes" if other.memory.fits else "no"
    if _is_so(session, changes) or _measures(other) == _measures(now):
        return "same"
    if not other.memory.fits:
        return "refused" if now.memory.fits else "not_enough"
    if not now.memory.fits:
        return "needed"
    more = any(each.pointer == _COUNT for each in changes)
    if more and other.decisions.world.value > now.decisions.world.value:
        return "unneeded"
    if any(each.pointer.startswith(_TIMES) for each in changes):
        return "either"
    ratio = (other.time_seconds or 1.0) / (now.time_seconds or other.time_seconds or 1.0)
    return "quicker" if ratio < _QUICKER else "unneeded" if ratio > _SLOWER else "either"


def _is_so(session: "Session", changes: tuple[Change, ...]) -> bool:
    return all(session.draft.get(change.pointer) == change.value for change in changes)


def _measures(plan: Plan) -> tuple[object, ...]:
    """Return what tells plans apart: every decided value, and what comes out."""
    values = tuple(decision.value for decision in plan.decisions.items().values())
    return (*values, plan.memory.device_bytes, plan.time_seconds, dict(plan.export_bytes))


def _new_error(now: Situation, other: Situation) -> "Finding | None":
    """Return the first error that the other values bring; what does not fit is judged by size."""
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


def _explained(session: "Session", about: str, changes: tuple[Change, ...]) -> list[Line]:
    """Return what is meant by what was asked, and why the plan has it as it is."""
    names = [about, *(str(change.value) for change in changes if isinstance(change.value, str))]
    for name in names:
        if lines := [*tell_page(session, name), *tell_meaning(session, name)]:
            return lines
    keys = [change.pointer.rpartition("/")[2] for change in changes]
    return [line for key in keys for line in tell_reason(session, key)]


def _alternatives(session: "Session", about: str) -> tuple[Option, ...]:
    """Return what a question sets against each other: values of one field."""
    found: list[Option] = []
    for topic in topics(about):
        changes = read(topic, session.draft.data).changes
        if not changes or (found and changes[0].pointer != found[0].changes[0].pointer):
            return ()
        found.append(Option(label=session.listed(changes), changes=changes))
    return tuple(found)


def _compare(session: "Session", options: tuple[Option, ...], about: str) -> list[Line]:
    """Put the alternatives up as the question, each with its plan."""
    lines = [line for topic in topics(about) for line in tell_meaning(session, topic)]
    planned = tuple(_planned(session, options))
    fitting = [n for n, one in enumerate(planned) if one.plan and one.plan.memory.fits]
    session.step = Question(
        pointer=options[0].changes[0].pointer,
        options=planned,
        suggested=fitting[0] if fitting else None,
        optional=True,
    )
    line = session.line("judge.choose")
    return [*lines, Line(who="ftc", text=line.text, kind="question")]


def _planned(session: "Session", options: tuple[Option, ...]) -> Iterator[Option]:
    for option in options:
        plan = session.observer.look(session.draft.changed(option.changes)).plan
        yield Option(label=option.label, changes=option.changes, plan=plan)
