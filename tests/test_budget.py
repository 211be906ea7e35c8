"""The budget of time: what `BUDGET.md` adds up to, and that it names every long test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent
ROW = re.compile(r"^\| *([^|]*?) *\| *(test|prove|prove-all) *\| *([\d.]+) *\|$", re.MULTILINE)
MINUTE = 60


def rows() -> list[tuple[str, str, float]]:
    """Return the table as (test or module, tier, seconds)."""
    text = (TESTS / "BUDGET.md").read_text(encoding="utf-8")
    return [(name, tier, float(seconds)) for name, tier, seconds in ROW.findall(text)]


def marked(path: Path) -> Iterator[str]:
    """Yield `FILE::TEST` for each test marked `prove`, or `FILE` when the module is marked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = path.relative_to(TESTS.parent).as_posix()
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            if re.search(r"mark\.prove\b", ast.unparse(node.value)):
                yield name
        elif isinstance(node, ast.FunctionDef) and any(
            re.search(r"mark\.prove\b", ast.unparse(decorator)) for decorator in node.decorator_list
        ):
            yield f"{name}::{node.name}"


def test_the_table_is_read() -> None:
    """Every line of the table below its head is a row that the sums count."""
    lines = (TESTS / "BUDGET.md").read_text(encoding="utf-8").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len(rows()) == len(table) - 2
    assert len({(name, tier) for name, tier, _ in rows()}) == len(rows())


def test_the_tiers_stay_within_their_time() -> None:
    """24 minutes for what every change waits for, 64 for the longer proof; both run in half."""
    spent = {tier: sum(seconds for _, each, seconds in rows() if each == tier) for tier in LIMITS}
    for tier, limit in LIMITS.items():
        assert spent[tier] <= limit, f"{tier}: {spent[tier]:.0f} s of {limit} s"


LIMITS = {"test": 24 * MINUTE, "prove": 64 * MINUTE}


def test_every_long_test_is_named() -> None:
    """A test marked `prove` stands in the table, by itself or by its module."""
    named = {name for name, tier, _ in rows() if tier == "prove"}
    found = [test for path in sorted(TESTS.rglob("test_*.py")) for test in marked(path)]
    for test in found:
        assert test in named or test.partition("::")[0] in named, f"add {test} to BUDGET.md"


def test_every_row_is_there() -> None:
    """A row names a file or a folder of tests that exists, and a test inside it if it says so."""
    for name, _, _ in rows():
        path, _, test = name.partition("::")
        assert (TESTS.parent / path).exists(), name
        if test:
            assert f"def {test}(" in (TESTS.parent / path).read_text(encoding="utf-8"), name
