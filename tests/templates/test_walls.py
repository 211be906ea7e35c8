"""The wall on the templates: a printed value is a whole literal or in a comment."""

import re
from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.render.artifacts import ARTIFACTS
from ftc.compiler.verify.walls import banned_tags, marker_places
from ftc.spec.sections import Form

ROOT = Path(str(files("ftc.templates")))
TEMPLATES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in ROOT.rglob("*.j2")
}
PARTIALS = {name for name in TEMPLATES if "/" in name}
SCRIPTS = sorted({name for name in TEMPLATES if name.endswith(".py.j2")} | PARTIALS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_values_are_constants_and_reasons_comments(name: str) -> None:
    """Every `value` stands on the right of an upper-case constant, every `why` in a comment."""
    beginning = "\n\n" if name in PARTIALS else ""  # a partial never begins a file
    for place in marker_places(beginning + TEMPLATES[name]):
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
        "node.sh.j2": set(),
        "slurm.sh.j2": {"word"},
        "gitignore.j2": set(),
        "Modelfile.j2": {"modelfile", "file", "stop"},
        "Modelfile.adapter.j2": {"modelfile", "stop"},
        "README.md.j2": {"title", "name", "text", "size", "value", "by", "because", "about"},
    }
    assert printed <= allowed[name]


def test_every_template_is_an_artifact() -> None:
    """No template lies unused, and none is missing."""
    assert {artifact.template for artifact in ARTIFACTS} - {None} == set(TEMPLATES) - PARTIALS


def test_every_partial_is_included() -> None:
    """A partial is named by a template, or is the one of a form or an objective."""
    named = set(re.findall(r'include "([^"]+)"', "".join(TEMPLATES.values())))
    forms = {f"forms/{form}.j2" for form in get_args(Form)}
    objectives = {f"objectives/{name}.j2" for name in OBJECTIVES}

    assert named | forms | objectives == PARTIALS
