"""The second wall: a generated script holds its template's lines, comments and constants alone."""

import re
from importlib.resources import files

import pytest

from ftc.compiler.render.file import RenderedFile
from ftc.compiler.verify.origin import _choices, read_template
from ftc.compiler.verify.verifier import verify_files

TEMPLATE = files("ftc.templates").joinpath("guard.py.j2").read_text(encoding="utf-8")
# The distributed branches are dropped so that what remains is Python.
KEPT = re.sub(r"\{% else %\}.*?(?=\{% endif %\})", "", TEMPLATE, flags=re.DOTALL)
SCRIPT = re.sub(r"^[ \t]*\{%.*?%\}\n", "", KEPT, flags=re.MULTILINE)


def _loose(name: str, text: str) -> list[str]:
    file = RenderedFile(name=name, text=text, language="python")
    return [finding.message for finding in verify_files((file,)) if finding.code == "FTC902"]


def test_template_without_its_tags_passes() -> None:
    """What remains of a template are its own lines."""
    compile(SCRIPT, "guard.py", "exec", dont_inherit=True)
    assert _loose("guard.py", SCRIPT) == []


@pytest.mark.parametrize(
    "line",
    [
        "print(1)",
        "MINE = 1",
        '"""A docstring that no template has."""',
        "import subprocess",
        "if WORLD:\n    pass",
    ],
)
def test_line_of_no_template_is_found(line: str) -> None:
    """Code that came from nowhere is named by its line, whatever it says."""
    number = SCRIPT.count("\n") + 1
    found = _loose("guard.py", f"{SCRIPT}{line}\n")
    assert found[0] == f"`guard.py`, line {number}: the line is not one of the template's own"


def test_comments_are_free() -> None:
    """A reason can say anything behind its `#`."""
    assert _loose("guard.py", f"{SCRIPT}\n# Because: print(1); caf\u00e9\n") == []


def test_constants_that_take_values_are_known() -> None:
    """Each script's constants come from its template, and a file without one has none."""
    train = read_template("train.py")
    assert train is not None
    assert "MODEL" in train.constants
    assert read_template("notes.py") is None


@pytest.mark.parametrize(
    ("text", "is_loose"),
    [
        ('MODEL = "a"', False),
        ('MODEL = [\n    "a",\n    "b",\n]', False),
        ('MODEL = "a"  # why', False),
        ('MODEL = "a"; print()', True),
        ('MODEL = "a" + print()', True),
        ("MODEL = [\n    print(),\n]", True),
        ("MODEL = print()", True),
        ('MODEL = "a"\nprint()', True),
        ('OTHER = "a"', True),
    ],
)
def test_constant_is_one_literal(text: str, is_loose: bool) -> None:
    """A constant of the template may span lines, and is nothing but a literal."""
    assert bool(_loose("train.py", f"{text}\n")) == is_loose


def test_tags_inside_a_line_leave_any_choice_of_its_parts() -> None:
    """A line may hold tags; each choice of the text between them is the template's own."""
    line = "f(a{% if x %}, b{% else %}, c{% endif %})"
    assert {"f(a, b)", "f(a, c)", "f(a)"} <= set(_choices(line))
    assert "f(a, d)" not in set(_choices(line))
    assert set(_choices("plain")) == {"plain"}
