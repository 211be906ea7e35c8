"""Every module that bundles carry has a unit test, which imports it."""

import ast
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.conftest import ROOT

FOLDERS = ("runtime", "compiler")  # of unit tests; the compiler uses some of the modules too


def list_modules(folder: Path) -> set[str]:
    """Return the names of the modules of a folder, such as `train.best`."""
    paths = (path.relative_to(folder) for path in folder.rglob("*.py"))
    return {".".join(path.with_suffix("").parts) for path in paths if path.stem != "__init__"}


def find_imports(source: str) -> Iterator[str]:
    """Yield what a test imports of `ftc.runtime`, in programs that it holds as texts too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield str(node.module)
        elif isinstance(node, ast.Constant) and "\nfrom ftc." in str(node.value):
            with suppress(SyntaxError):
                yield from find_imports(str(node.value))


def test_every_module_is_imported_by_a_unit_test() -> None:
    """Runs of whole bundles are too few and too slow to try what one module may be given."""
    found: set[str] = set()
    tests = [path for folder in FOLDERS for path in (ROOT / "tests" / folder).rglob("*.py")]
    for text in (path.read_text(encoding="utf-8") for path in tests):
        found.update(find_imports(text) if "ftc.runtime" in text else ())
    names = {name.removeprefix("ftc.runtime.") for name in found}

    assert sorted(list_modules(ROOT / "runtime") - names) == []
