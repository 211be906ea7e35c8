"""Templates: a printed value is a whole literal of a constant, a reason is in a comment."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.render.artifacts import ARTIFACTS

ROOT = Path(str(files("ftc.templates")))
TEMPLATES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in ROOT.rglob("*.j2")
}
PARTIALS = {name for name in TEMPLATES if "/" in name}
SCRIPTS = sorted({name for name in TEMPLATES if name.endswith(".py.j2")} | PARTIALS)


#: A value is the whole right-hand side of a constant; a reason is in a comment.
PLACE = re.compile(
    r"import runtime\.\{\{ word\.metric \}\} as metric|"
    r"\s+(read=|\"read\": )?\{\{ word\.(read|make) \}\},|"  # functions of closed tables
    r"[A-Z][A-Z0-9_]* = \{\{ value\.\w+ \}\}(  # .*)?|\s*[^\"']*# [^{]*(\{\{ why\.\w+ \}\}.*)?"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_values_are_constants_and_reasons_comments(name: str) -> None:
    """A line that prints is `NAME = {{ value }}  # {{ why }}`, or a comment with a reason.

    Names of ftc's own modules and functions are words.

    This reports early what the verifier finds by rendering a script with and without values.
    """
    for line in TEMPLATES[name].splitlines():
        if "{{" in line:
            assert PLACE.fullmatch(line), line
            assert "value." not in line.partition("#")[2], line


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_nothing_hides_a_value(name: str) -> None:
    """No macro, call, filter block or import: `finalize` cannot see what they print."""
    tags = re.findall(r"\{%[-+]?\s*(\w+)", TEMPLATES[name])
    assert not {"macro", "call", "filter", "import", "from", "raw", "autoescape"} & set(tags)
    assert "super()" not in TEMPLATES[name]


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
        "README.md.j2": {
            *("title", "pythons", "sdist_mb", "name", "text", "size", "value", "by", "because"),
            "about",
        },
    }
    assert printed <= allowed[name]


def test_every_template_is_an_artifact() -> None:
    """No template lies unused, and none is missing."""
    assert {artifact.template for artifact in ARTIFACTS} - {None} == set(TEMPLATES) - PARTIALS


def test_every_partial_is_included() -> None:
    """A partial is named by a template, or is the one of an objective."""
    named = set(re.findall(r'include "([^"]+)"', "".join(TEMPLATES.values())))
    objectives = {f"objectives/{name}.j2" for name in OBJECTIVES}

    assert named | objectives == PARTIALS
