"""Answers "what is X?", where X is a term, a code, a field or a decision of the plan."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.registry import EXPLANATIONS as CHECKS
from ftc.compiler.knowledge.glossary import find_entry, find_mentioned
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.translated_reasons import sentence_in
from ftc.compiler.resolve.explanations import EXPLANATIONS as RESOLVE
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.explanations import EXPLANATIONS as SPEC
from ftc.spec.schema import Field, fields
from ftc.tui.conversation.common_questions import find_telling
from ftc.tui.conversation.conversation import Conversation
from ftc.tui.state.line import Line
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import fold

_BETWEEN: Final = re.compile(r"^.*\b(?:between|entre) ")
#: "what does rank mean and is 32 too much?"
_MEANS: Final = re.compile(r"\s+(?:means?|stands? for|vol dir|significa|quiere decir)$")
_AND: Final = re.compile(r"\s+(?:and|or|vs\.?|versus|i|o|y|e)\s+|,\s*")

#: The maximum number of telling words in a question about one term.
_MOST_TELLING: Final = 5


def explain(conversation: Conversation, about: str) -> list[Line]:
    """Return the explanation of a topic, and its effect on this draft; empty without one."""
    lines = [*tell_page(conversation, about), *tell_meaning(conversation, about)]
    for topic in () if lines else topics(about):
        lines += tell_meaning(conversation, _MEANS.sub("", topic))
    return [*lines, *tell_reason(conversation, about), *_consequence(conversation, about)]


def topics(about: str) -> list[str]:
    """Return the topics that the words name: "the difference between LoRA and QLoRA" has two."""
    bare = _BETWEEN.sub("", fold(about))
    return [topic for topic in _AND.split(bare) if topic]


def tell_page(conversation: Conversation, about: str) -> Iterator[Line]:
    """Yield the explanation of a code, introduced in the user's language."""
    wanted = about.strip().lower()
    explanations: tuple[Explanation, ...] = (*SPEC, *RESOLVE, *CHECKS)
    for explanation in explanations:
        if wanted in (explanation.code.lower(), explanation.name):
            intro = conversation.voice.say("page_of", code=explanation.code, name=explanation.name)
            yield Line(who="ftc", text=f"{intro}\n\n{explanation.text.strip()}", kind="page")
            return


def tell_meaning(conversation: Conversation, about: str) -> Iterator[Line]:
    """Yield the text of the glossary or of a field."""
    entry = find_entry(about)
    if entry is not None:
        yield Line(who="ftc", text=f"{entry.term}: {entry.text[conversation.voice.language]}")
        return
    field = _field(about)
    if field is not None:
        why = conversation.voice.why(field.pointer)
        yield Line(who="ftc", text=f"{field.name}: {conversation.voice.ask(field.pointer)} {why}")


def tell_mentioned(conversation: Conversation, about: str) -> Iterator[Line]:
    """Yield the meaning of a term that the words mention beside few others: "gkd do"."""
    entry = find_mentioned(about)
    if entry is not None and len(find_telling(about)) <= _MOST_TELLING:
        yield from tell_meaning(conversation, entry.term)


def _field(about: str) -> Field | None:
    """Return the field that the words name, by dotted name, key or title."""
    wanted = fold(about).replace(" ", "_")
    for field in fields():
        title = fold(str(field.schema["title"])).replace(" ", "_")
        if wanted in (field.name, field.name.rpartition(".")[2], title):
            return field
    return None


def tell_reason(conversation: Conversation, about: str) -> Iterator[Line]:
    """Yield the reason for the decision of the plan that has the words as its name or value."""
    changes = read(about, {}).changes
    values = {fold(str(change.value)) for change in changes}
    keys = [change.pointer.rpartition("/")[2] for change in changes]
    values |= {*keys, *(f"lora_{key}" for key in keys)}
    yield from tell_decision(conversation, *values, fold(about), fold(about).replace(" ", "_"))


def tell_decision(conversation: Conversation, *names: str) -> Iterator[Line]:
    """Yield the reason for the first decision of the plan with one of the names or values.

    A number is no name: many decisions may have it.
    """
    plan = conversation.situation.plan
    if plan is None:
        return
    for name, decision in plan.decisions.items().items():
        called = {name, fold(decision.value)} if isinstance(decision.value, str) else {name}
        if called.intersection(names):
            yield tell_value(conversation, "plan_chose", name, decision)
            return


def tell_value(conversation: Conversation, key: str, name: str, decision: Decision[object]) -> Line:
    """Return the sentence about a decision's value and its reason."""
    because = sentence_in(conversation.voice.language, decision.because)
    value = conversation.voice.show(decision.value)
    return conversation.line(key, name=name, value=value, because=because)


def _consequence(conversation: Conversation, about: str) -> Iterator[Line]:
    """Yield the plan of this draft with the named value."""
    changes = read(about, conversation.draft.data).changes
    if not changes or conversation.situation.known is None:
        return
    plan = conversation.observer.look(conversation.draft.changed(changes), offers=False).plan
    if plan is not None:
        yield conversation.line(
            "with_it", what=conversation.listed(changes), plan=conversation.outlook(plan)
        )
