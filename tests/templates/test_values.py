"""Templates: a printed value is a whole literal of a constant, a reason is in a comment."""

import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from importlib.resources import files
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES, Objective
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.render.artifacts import ARTIFACTS
from ftc.compiler.render.files.passages import PASSAGES
from ftc.compiler.render.source import BundleSource
from ftc.compiler.render.uses import Uses
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

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
#: Words of closed tables: names of functions, classes and arguments, and what conditions give.
WORD = re.compile(
    r"\{\{ (word\.\w+|[^}|]+ \| (flag|switch)|name|step|reader) \}\}"
    r"|\"\{\{ form \}\}\": \{\{ reader \}\},"
)
#: A field that a condition reads: of the spec, the facts, the decisions and so on.
READ = re.compile(r"\b(source|spec|facts|decisions|objective|uses)((?:\.\w+)+)")
READABLE: Mapping[str, type] = {
    "source": BundleSource,
    "spec": Spec,
    "facts": KnownFacts,
    "decisions": Decisions,
    "objective": Objective,
    "uses": Uses,
}


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
    judged = ("prompts", "relevance", "scores", "vectors")
    by_output = {f"evaluate_{kind}.py.j2" for kind in judged}
    by_output |= {"ask_scores.py.j2", "ask_texts.py.j2", "export_texts.py.j2"}

    assert named | objectives | scripts | by_source | by_output == set(TEMPLATES)


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_conditions_read_fields_that_exist(name: str) -> None:
    """An unknown field raises only in a bundle that renders its condition, so all are read here."""
    tags = re.findall(r"\{%.*?%\}|\{\{.*?\}\}", TEMPLATES[name])
    for owner, path in READ.findall(" ".join(tags)):
        kind: type | None = READABLE[owner]
        for field in path.removeprefix(".").split("."):
            assert kind is None or hasattr(kind, field) or field in get_type_hints(kind), path
            kind = None if kind is None else find_class(kind, field)


def find_class(owner: type, field: str) -> type | None:
    """Return the class of a field or property, None if it is not one of ftc's."""
    found = getattr(owner, field, None)
    getter = found.fget if isinstance(found, property) else owner
    hint = get_type_hints(getter)["return" if isinstance(found, property) else field]
    for kind in (hint, *get_args(hint)):
        origin = get_origin(kind) or kind
        if isinstance(origin, type) and is_dataclass(origin):
            return origin
    return None


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

    assert len(conditions) <= 245
    assert len(text.splitlines()) <= 3_140
    assert len(shared) <= 22
