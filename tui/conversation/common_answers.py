"""Answers the common questions of the table with the values of this plan."""

from collections.abc import Iterator
from typing import Final

from ftc.tui.conversation.common_questions import (
    CERTAIN,
    LIKELY,
    CommonQuestion,
    find_question,
    find_telling,
)
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_decision, tell_meaning, tell_page, topics
from ftc.tui.conversation.field_advice import compare_amounts
from ftc.tui.conversation.topics import Topic
from ftc.tui.state.line import Line
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.machines.supposed import AMOUNT
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Request
from ftc.tui.understanding.text.message import Message, fold

#: Requests that are answered elsewhere.
_OTHERS: Final = frozenset({"cheaper", "fit", "later", "models", "plan"})

#: A topic that most questions about a model match.
_LOOSE: Final = "models"


def find_common(
    conversation: Conversation, text: str, request: Request | None, topic: Topic | None
) -> CommonQuestion | None:
    """Return the common question in a message, or None.

    The match has to be certain if something else can answer: a topic of facts, a second training,
    the planner, the glossary or a field.
    """
    known = topic not in (None, _LOOSE) or (
        request is not None and _is_answered(conversation, request)
    )
    least = CERTAIN if known else LIKELY
    return find_question(text, conversation.voice.language, least)


def _is_answered(conversation: Conversation, request: Request) -> bool:
    """Return whether a request has values to compare, or words with an explanation.

    A field explains words that only name it.
    """
    about = request.about
    inner = read(about, conversation.draft.data)
    kinds = {request.kind, inner.request.kind if inner.request is not None else ""}
    if inner.changes or kinds & _OTHERS or AMOUNT.search(fold(about)):
        return True
    names_field = len(find_telling(about)) == 1 and find_mentions(Message(about))
    if names_field or compare_amounts(conversation, about):
        return True
    if any(True for _ in tell_page(conversation, about)):
        return True
    several = topics(about) or [about]
    return all(any(True for _ in tell_meaning(conversation, each)) for each in several)


def tell_common(conversation: Conversation, question: CommonQuestion) -> Iterator[Line]:
    """Yield the answer of the table, if it has one, and the values of the plan in question."""
    if question.answer:
        yield Line(who="ftc", text=question.answer[conversation.voice.language])
    for name in question.decisions:
        yield from tell_decision(conversation, name)
