"""Templates: a printed value is a whole literal of a constant, a reason is in a comment."""

import re
from dataclasses import fields
from importlib.resources import files
from pathlib import Path

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.render.artifacts import ARTIFACTS
from ftc.compiler.render.passages import PASSAGES
from ftc.compiler.render.uses import Uses

ROOT = Path(str(files("ftc.templates")))
TEMPLATES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in ROOT.rglob("*.j2")
}
SCRIPTS = sorted(
    {name for name in TEMPLATES if name.endswith(".py.j2")} | {n for n in TEMPLATES if "/" in n}
)


#: A value is the whole right-hand side of a constant; a reason is in a comment.
PLACE = re.compile(
    r"[A-Z][A-Z0-9_]* = \{\{ value\.\w+ \}\}(  # .*)?|\s*[^\"']*# [^{]*(\{\{ why\.\w+ \}\}.*)?"
)
#: Words of closed tables: names of functions, classes and arguments, and booleans.
WORD = re.compile(
    r"\{\{ ((word|flag|switch)\.\w+|name|step|reader) \}\}|\"\{\{ form \}\}\": \{\{ reader \}\},"
)


#: What the READMEs in other languages print.
LOCALIZED = {"title", "numbers", "name", "value", "by", "because"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_values_are_constants_and_reasons_comments(name: str) -> None:
    """A line that prints is `NAME = {{ value }}  # {{ why }}`, or a comment with a reason.

    Names of ftc's own modules and functions are words.

    This reports early what the verifier finds by rendering a script with and without values.
    """
    for line in TEMPLATES[name].splitlines():
        if "{{" in WORD.sub("", line):
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
        "slurm.sh.j2": {"name", "word"},
        "README.md.j2": {
            *("title", "pythons", "sdist_mb", "name", "text", "size", "value", "by", "because"),
            "about",
        },
        "README.ca.md.j2": LOCALIZED,
        "README.es.md.j2": LOCALIZED,
    }
    assert printed <= allowed[name]


def test_every_template_is_reached() -> None:
    """A template is one of a script, of an objective, or named by another template."""
    named = set(re.findall(r'(?:include|extends) "([^"]+)"', "".join(TEMPLATES.values())))
    objectives = {f"objectives/{objective.script}.j2" for objective in OBJECTIVES.values()}
    scripts = {f"{artifact.name}.j2" for artifact in ARTIFACTS if artifact.template}
    by_source = {"sources/mixture.j2", "sources/stream.j2"}
    outputs = ("scores", "vectors", "relevance")
    by_output = {f"{script}_{kind}.py.j2" for script in ("ask", "evaluate") for kind in outputs}
    by_output |= {"export_texts.py.j2", "evaluate_prompts.py.j2"}

    assert named | objectives | scripts | by_source | by_output == set(TEMPLATES)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_a_choice_is_a_field(name: str) -> None:
    """An unknown `switch` would leave out its argument everywhere, without an error."""
    chosen = set(re.findall(r"\b(?:uses|flag|switch)\.(\w+)", TEMPLATES[name]))

    assert chosen <= {field.name for field in fields(Uses)}


def test_the_passages_are_the_blocks_of_the_readme() -> None:
    """A passage of the table is a block of the page, and each block is in the table."""
    blocks = re.findall(r"\{% block (\w+)", TEMPLATES["README.md.j2"])

    assert blocks == list(PASSAGES)
    for name in ("README.ca.md.j2", "README.es.md.j2"):
        assert set(re.findall(r"\{% block (\w+)", TEMPLATES[name])) < set(blocks)


def test_templates_stay_few_and_short() -> None:
    """A choice is made once, in a table; a condition of a template is the exception.

    A README in another language makes no choice of its own.
    """
    own = {name: text for name, text in TEMPLATES.items() if not re.match(r"README\.\w\w\.", name)}
    text = "".join(own.values())
    conditions = re.findall(r"\{%[-+]?\s*(?:el)?if\b|\{\{[^}]*\bif\b", text)
    shared = [name for name in own if not name.startswith("objectives/")]

    assert len(conditions) <= 250
    assert len(text.splitlines()) <= 3_350
    assert len(shared) <= 25
