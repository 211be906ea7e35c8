"""The wall on the templates: a printed value is a whole literal or in a comment."""

import re
from importlib.resources import files

import pytest

from ftc.compiler.render.artifacts import ARTIFACTS
from ftc.compiler.verify.walls import banned_tags, marker_places

TEMPLATES = {
    path.name: path.read_text(encoding="utf-8")
    for path in files("ftc.templates").iterdir()
    if path.name.endswith(".j2")
}
SCRIPTS = sorted(name for name in TEMPLATES if name.endswith(".py.j2"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_values_are_constants_and_reasons_comments(name: str) -> None:
    """Every `value` stands on the right of an upper-case constant, every `why` in a comment."""
    for place in marker_places(TEMPLATES[name]):
        wanted = {"value": "constant", "why": "comment"}[place.expression.partition(".")[0]]
        assert place.kind == wanted, place.expression


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_nothing_hides_a_value(name: str) -> None:
    """No macro, call, filter block, super or block set: each of them prints out of sight."""
    assert banned_tags(TEMPLATES[name]) == ()


@pytest.mark.parametrize("name", sorted(set(TEMPLATES) - set(SCRIPTS)))
def test_other_languages_print_their_own_types(name: str) -> None:
    """The shell prints words alone, Markdown the README's tables, a Modelfile its own values."""
    printed = set(re.findall(r"\{\{\s*(\w+)", TEMPLATES[name]))

    allowed = {
        "run.sh.j2": {"word"},
        "gitignore.j2": set(),
        "Modelfile.j2": {"modelfile", "file", "stop"},
        "Modelfile.adapter.j2": {"modelfile", "stop"},
        "README.md.j2": {"title", "name", "text", "size", "value", "by", "because", "about"},
    }
    assert printed <= allowed[name]


def test_every_template_is_an_artifact() -> None:
    """No template lies unused, and none is missing."""
    assert {artifact.template for artifact in ARTIFACTS} - {None} == set(TEMPLATES)
