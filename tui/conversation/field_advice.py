"""Answers questions about a field without a value: "should I use a bigger rank?"."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.spec.schema import fields
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.conversation.explaining import tell_decision, tell_meaning, tell_value
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
_PAIR: Final = 2
#: The ratio of two values that is worth a remark.
_FAR: Final = 3
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
    for key in _decisions(name):
        yield from tell_decision(conversation, key)
    yield from tell_otherwise(conversation, field.pointer)


def _decisions(name: str) -> tuple[str, ...]:
    """Return the names that the decision of a field may have."""
    return name, f"lora_{name}", f"{name}_steps"


def tell_otherwise(conversation: Conversation, pointer: str) -> Iterator[Line]:
    """Yield what ftc would plan in the place of a value of the draft, and their ratio."""
    own, name = conversation.draft.get(pointer), pointer.rpartition("/")[2]
    if own is None:
        return
    free = conversation.draft.changed((Change(pointer=pointer, value=None, words=""),))
    plan = conversation.observer.look(free, offers=False).plan
    decided = {} if plan is None else plan.decisions.items()
    key = next((each for each in _decisions(name) if each in decided), name)
    decision = decided.get(key)
    if decision is None or decision.value == own:
        return
    yield tell_value(conversation, "plan_would_choose", key, decision)
    numbers = [each for each in (own, decision.value) if type(each) in (int, float) and each > 0]
    if len(numbers) == _PAIR:
        ratio = max(numbers) / min(numbers)
        side = "lower" if own < decision.value else "higher"
        if ratio >= _FAR:
            factor = conversation.voice.show(float(f"{ratio:.2g}"))
            yield conversation.line(f"value.{side}", factor=factor)
