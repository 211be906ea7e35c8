"""The result of one message as data: what was applied, asked and not used.

`ftc chat --plain --format json` prints one such object per message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftc.tui.conversation.unused import find_spans, find_unused
from ftc.tui.questions.dialogue import Question
from ftc.tui.session.session import Session
from ftc.tui.state.draft import Draft, find_differences
from ftc.tui.state.line import Line
from ftc.tui.understanding.text.message import find_places


def describe(session: Session, text: str, before: Draft, lines: Sequence[Line]) -> dict[str, Any]:
    """Return the record of a message; `before` is the draft before it, and `lines` ftc's reply.

    Positions are characters of `text`, with the end excluded. Words for a value that the draft
    already has are unused, because they change nothing. A goal in a message with changes is unused,
    too.
    """
    intent, reading = _intent(session, before), session.reading
    asked = list(_asked(session, text))
    if intent == "change":
        reading = replace(reading, used=(), needless=())
    if reading.asked is not None and not any(each["words"] for each in asked):
        reading = replace(reading, choices=(), refused=())  # another question came first
    said = session.reading.changes or session.taken or find_differences(before, session.draft)
    changes = [each for each in said if before.get(each.pointer) != session.draft.get(each.pointer)]
    return {
        "applied": [
            {
                "pointer": change.pointer,
                "old": before.get(change.pointer),
                "new": session.draft.get(change.pointer),
                "words": [list(span) for span in spans],
            }
            for change, spans in find_spans(changes, text)
        ],
        "asked": asked,
        "proposed": _proposed(session, lines),
        "unused": [list(span) for span in find_unused(reading, changes, text)],
        "intent": intent,
        "reply": "\n".join(line.text for line in lines),
    }


def _proposed(session: Session, lines: Sequence[Line]) -> Mapping[str, Any] | None:
    """Return the changes that wait for a yes, and their source: "ftc" or a model's name."""
    line = next((line for line in lines if line.kind == "proposal"), None)
    if line is None or not session.proposal:
        return None
    changes = [
        {"pointer": each.pointer, "old": session.draft.get(each.pointer), "new": each.value}
        for each in session.proposal
    ]
    return {"by": line.by or "ftc", "changes": changes}


def _asked(session: Session, text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the open question, with the words of the message that led to it."""
    choice = session.reading.asked
    if session.proposal:
        yield {"pointer": session.proposal[0].pointer, "options": ["yes", "no"], "words": []}
    elif isinstance(session.step, Question) and not session.step.optional:
        labels = [option.label for option in session.options]
        at = session.step.pointer
        words = choice.words if choice is not None and choice.pointer == at else ""
        spans = [list(span) for span in find_places(text, words)]
        yield {"pointer": at, "options": labels, "words": spans}


def _intent(session: Session, before: Draft) -> str:
    """Return the kind of the request, "change", "goal" or "unknown"."""
    if session.reading.request is not None:
        return session.reading.request.kind
    reading = session.reading
    if (
        session.draft != before
        or reading.changes
        or reading.choices
        or reading.refused
        or reading.needless
    ):
        return "change"
    return "goal" if reading.used else "unknown"
