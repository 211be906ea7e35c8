"""The names of fields and decisions in three languages."""

import pytest

from ftc.spec.schema import fields
from ftc.tui.languages.field_names import find_asked, name_decision, name_field
from ftc.tui.languages.voice import LANGUAGES, Language, Voice
from ftc.tui.session.session import Session
from ftc.tui.session.view import make_view


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_field_has_a_name(language: Language) -> None:
    """In English it is the schema's title; in the others a translation."""
    names = {field.pointer: name_field(field.pointer, language) for field in fields()}
    assert all(names.values())
    translated = sum(names[each.pointer] != each.schema["title"] for each in fields())
    assert translated == 0 if language == "en" else translated > 140


def test_what_is_written_short_belongs_to_its_field() -> None:
    """So does a value inside of a field."""
    assert find_asked("/model") == "/model/id"
    assert find_asked("/data/template_options/enable_thinking") == "/data/template_options"
    assert name_decision("lora_rank", "ca") == name_field("/method/rank", "ca")
    assert name_decision("global_batch", "es") == name_field("/training/global_batch", "es")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_panel_names_its_rows(session: Session, language: Language) -> None:
    """Each row of the plan has a name besides its key."""
    session.voice = Voice(language=language)
    session.reply("llama 3.1 8b on my 4090, tickets.csv, q4 gguf")
    rows = make_view(session).rows
    assert len(rows) > 15
    assert all(row.name and row.name != row.key and row.why for row in rows)
