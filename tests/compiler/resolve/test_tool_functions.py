"""The tools of a file: their schemas are transformers' own, and invalid tools are reported."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from transformers.utils.chat_template_utils import get_json_schema

from ftc.compiler.resolve.content.turns.tool_functions import find_tools
from ftc.compiler.resolve.detail_facts import ToolFacts
from ftc.spec.message import Message
from ftc.spec.sections import Spec

GOOD = '''
from typing import Any, Literal, Optional, Union
import typing


def look_up(box: int, *, shelf: str = "a") -> str:
    """Find the code of a box.

    A box may be empty.

    Args:
        box: The number of the box,
            which is on its side.
        shelf: The shelf (choices: ["a", " b"])

    Returns:
        The code.
    """
    return ""


def now() -> dict[str, list[float]]:
    """Tell the time."""


def pick(
    kind: Literal["x", 2],
    many: list[str] | None,
    either: Union[int, str],
    deep: typing.Optional[dict[str, "int"]],
    mixed: list[int] | str | None = None,
    pair: tuple[int, str] = (1, ""),
    flag: bool = False,
    anything: Any = None,
    rows: list = (),
) -> "object":
    """Pick one.

    Args:
        kind: Which
        many: Several
        either: One of two
        deep: Nested: with a colon
        mixed: Any of both
        pair: Two
        flag: Yes or no
        anything: What you like
        rows: The rows
    """


def _hidden(x):
    return x
'''

DESCRIBED = '"""Do.\n\n    Args:\n        a: One{}\n    """'
FAULTS = {
    "async": ('async def f() -> str:\n    """Do."""\n', "is `async`"),
    "choices": (
        f"def f(a: str):\n    {DESCRIBED.format(' (choices: [a])')}\n",
        "are not a JSON list",
    ),
    "decorated": ('@cache\ndef f() -> str:\n    """Do."""\n', "has a decorator"),
    "hint": (f"def f(a: Path):\n    {DESCRIBED.format('')}\n", "the type `Path`"),
    "hint_broken": (f'def f(a: "("):\n    {DESCRIBED.format("")}\n', "is not int"),
    "no_description": ('def f(a: int):\n    """Do."""\n', "does not describe the argument `a`"),
    "no_docstring": ("def f(a: int):\n    return a\n", "has no docstring"),
    "no_hint": (f"def f(a):\n    {DESCRIBED.format('')}\n", "has no type hint"),
    "none": ("def _f():\n    pass\n", "defines no public function"),
    "not_python": ("def f(:\n", "is not Python"),
    "starred": ('def f(*a: int):\n    """Do."""\n', "calls name every argument"),
    "twice": ('def f():\n    """Do."""\n\n\ndef f():\n    """Do."""\n', "is defined twice"),
}


def find(folder: Path, text: str) -> ToolFacts:
    """Return what a file of tools holds."""
    (folder / "tools.py").write_text(text, encoding="utf-8")
    spec = cast(Spec, SimpleNamespace(objective=SimpleNamespace(tools="tools.py")))
    found = find_tools(spec.objective, folder=folder)
    assert found is not None
    return found


def test_schemas_are_those_that_prompts_will_have(tmp_path: Path) -> None:
    """Key by key and in their order, since a chat template writes them as JSON."""
    found = find(tmp_path, GOOD)
    module: dict[str, Any] = {}
    exec(compile(GOOD, "tools.py", "exec"), module)  # noqa: S102 - the test's own text

    assert found.faults == ()
    assert found.names == ("look_up", "now", "pick")
    for name, schema in zip(found.names, found.schemas, strict=True):
        assert schema == json.dumps(get_json_schema(module[name]), ensure_ascii=False)


@pytest.mark.parametrize("case", sorted(FAULTS))
def test_what_cannot_be_a_tool_is_said(case: str, tmp_path: Path) -> None:
    """Each fault once, in a sentence that names the function or the file."""
    text, says = FAULTS[case]
    (fault,) = find(tmp_path, text).faults

    assert says in str(Message(fault.key, fault.values))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """As for reward functions."""
    spec = cast(Spec, SimpleNamespace(objective=SimpleNamespace(tools="other.py")))
    found = find_tools(spec.objective, folder=tmp_path)

    assert found is not None
    assert [fault.key for fault in found.faults] == ["reward.unreadable"]
