"""JSON Lines are divided at line feeds only: `str.splitlines` divides inside of a text, too."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "cli", "compiler", "runtime", "spec", "tui")


def _functions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each function of a module."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            yield f"{path.relative_to(ROOT)}:{node.name}", ast.unparse(node)


def test_no_function_reads_rows_from_splitlines() -> None:
    """None of them divides a text by `splitlines` and reads the parts as JSON."""
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    found = [
        name
        for path in paths
        for name, text in _functions(path)
        if ".splitlines()" in text and "json.loads" in text
    ]
    assert found == []
