"""Explanations: a word, a code, a field, or a choice of the plan, from the pages that ftc has."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ftc.compiler.checks.registry import PAGES as CHECKS
from ftc.compiler.knowledge.glossary import find_entry
from ftc.compiler.resolve.pages import PAGES as RESOLVE
from ftc.spec.page import Page
from ftc.spec.pages import PAGES as SPEC
from ftc.spec.schema import Field, fields
from ftc.tui.line import Line
from ftc.tui.translation import give_reason
from ftc.tui.understanding.message import fold
from ftc.tui.understanding.reader import read

if TYPE_CHECKING:
    from ftc.tui.session import Session

_BETWEEN: Final = re.compile(r"^.*\b(?:between|entre) ")
_AND: Final = re.compile(r"\s+(?:and|or|vs\.?|versus|i|o|y|e)\s+|,\s*")


def explain(session: "Session", about: str) -> list[Line]:
    """Return what ftc knows of a topic: its meaning, and what it would mean for this draft."""
    lines = [
        *tell_page(session, about),
        *tell_meaning(session, about),
        *tell_reason(session, about),
    ]
    lines += _consequence(session, about)
    several = topics(about)
    if not lines and len(several) > 1:
        lines = [line for topic in several for line in tell_meaning(session, topic)]
    return lines or [session.line("no_page", topic=about)]


def topics(about: str) -> list[str]:
    """Return what words name, one by one: both of "the difference between LoRA and QLoRA"."""
    bare = _BETWEEN.sub("", fold(about))
    return [topic for topic in _AND.split(bare) if topic]


def tell_page(session: "Session", about: str) -> Iterator[Line]:
    """Yield the page of a code, introduced in the person's language."""
    wanted = about.strip().lower()
    pages: tuple[Page, ...] = (*SPEC, *RESOLVE, *CHECKS)
    for page in pages:
        if wanted in (page.code.lower(), page.name):
            intro = session.voice.say("page_of", code=page.code, name=page.name)
            yield Line(who="ftc", text=f"{intro}\n{page.text.strip()}")
            return


def tell_meaning(session: "Session", about: str) -> Iterator[Line]:
    """Yield the glossary's text, or a field's own."""
    entry = find_entry(about)
    if entry is not None:
        yield Line(who="ftc", text=f"{entry.term}: {entry.text[session.voice.language]}")
        return
    field = _field(about)
    if field is not None:
        why = session.voice.why(field.pointer)
        yield Line(who="ftc", text=f"{field.name}: {session.voice.ask(field.pointer)} {why}")


def _field(about: str) -> Field | None:
    """Return the field that words name: its dotted name, its key or its title."""
    wanted = fold(about).replace(" ", "_")
    for field in fields():
        title = fold(str(field.schema["title"])).replace(" ", "_")
        if wanted in (field.name, field.name.rpartition(".")[2], title):
            return field
    return None


def tell_reason(session: "Session", about: str) -> Iterator[Line]:
    """Yield why the plan chose what the words name."""
    plan = session.situation.plan
    if plan is None:
        return
    changes = read(about, {}).changes
    values = {fold(str(change.value)) for change in changes}
    values |= {change.pointer.rpartition("/")[2] for change in changes}
    wanted = values | {fold(about), fold(about).replace(" ", "_")}
    for name, decision in plan.decisions.items().items():
        if wanted & {name, fold(str(decision.value))} - {"true", "false"}:
            because = give_reason(decision.because, session.voice)
            value = session.voice.show(decision.value)
            yield session.line("plan_chose", name=name, value=value, because=because)
            return


def _consequence(session: "Session", about: str) -> Iterator[Line]:
    """Yield what this draft would come to with what the words name."""
    changes = read(about, session.draft.data).changes
    if not changes or session.situation.known is None:
        return
    plan = session.observer.look(session.draft.changed(changes)).plan
    if plan is not None:
        yield session.line("with_it", what=session.listed(changes), plan=session.outlook(plan))
