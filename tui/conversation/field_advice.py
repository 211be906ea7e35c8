"""Answers questions about a field without a value: "should I use a bigger rank?"."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.spec.schema import fields
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_decision, tell_meaning
from ftc.tui.state.line import Line
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.learned.likely import find_likely
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold

#: The change for a comparison without an amount. "Less" comes first, since "mes petit" has "mes".
_TRIED: Final = tuple(
    (factor, re.compile(rf"\b{any_of(WORDS['comparatives'][name])}\b"))
    for name, factor in (("less", "half the"), ("more", "double the"))
)
_ARTICLE: Final = re.compile(r"^(?:(?:an?|the|una?|el|la|els|les|los|las|use|usar|fer servir)\s+)+")


def compare_amounts(conversation: Conversation, about: str) -> Sequence[Change]:
    """Return the change for words such as "a bigger rank": twice as much, or half as much."""
    folded = fold(about)
    for factor, compared in _TRIED:
        if compared.search(folded):
            named = _ARTICLE.sub("", " ".join(compared.sub(" ", folded).split()))
            planned = conversation.situation.planned_values()
            return read(f"{factor} {named}", conversation.draft.data, planned).changes
    return ()


def tell_field(conversation: Conversation, about: str, *, is_explained: bool) -> Iterator[Line]:
    """Yield the field's meaning and its planned value; no meaning if something was explained.

    A field that the words do not name is guessed only if nothing was explained.
    """
    mentions = find_mentions(Message(about))
    named = mentions[0] if mentions else None if is_explained else find_likely(about)
    field = next((each for each in fields() if named and each.pointer == named.pointer), None)
    if field is None:
        return
    if not is_explained:
        yield from tell_meaning(conversation, field.name)
    name = field.name.rpartition(".")[2]
    for key in (name, f"lora_{name}", f"{name}_steps"):
        yield from tell_decision(conversation, key)
