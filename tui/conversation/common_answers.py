"""Answers to the common questions of the table, with the values of this plan."""

from collections.abc import Iterator

from ftc.tui.conversation.common_questions import CERTAIN, LIKELY, CommonQuestion, find_question
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_meaning, tell_page, tell_reason, topics
from ftc.tui.conversation.field_advice import compare_amounts
from ftc.tui.conversation.topics import Topic
from ftc.tui.state.line import Line
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Request


def find_common(
    conversation: Conversation, text: str, request: Request | None, topic: Topic | None
) -> CommonQuestion | None:
    """Return the common question that a message asks, if any.

    It has to be certain where something else answers: a topic of facts, a second training, the
    planner, the glossary or a field.
    """
    known = topic is not None or (request is not None and _is_answered(conversation, request))
    least = CERTAIN if known else LIKELY
    return find_question(text, conversation.voice.language, least)


def _is_answered(conversation: Conversation, request: Request) -> bool:
    """Return whether a request is for another training, a plan, or words that are explained."""
    about = request.about
    if request.kind in ("later", "plan") or read(about, conversation.draft.data).changes:
        return True
    if compare_amounts(conversation, about):
        return True
    meanings = (tell_meaning(conversation, each) for each in (about, *topics(about)))
    return any(line for lines in (tell_page(conversation, about), *meanings) for line in lines)


def tell_common(conversation: Conversation, question: CommonQuestion) -> Iterator[Line]:
    """Yield the answer of the table, and the values of the plan that it is about."""
    yield Line(who="ftc", text=question.answer[conversation.voice.language])
    for name in question.decisions:
        yield from tell_reason(conversation, name)
