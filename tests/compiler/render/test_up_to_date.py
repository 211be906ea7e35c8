"""A stage sees that it is up to date before it imports what takes seconds."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.golden_bundles import EXAMPLES, ROOT, compile_golden

#: Packages that take a second or more to import.
SLOW = frozenset(
    {"torch", "transformers", "trl", "datasets", "peft", "accelerate", "sentence_transformers"}
    | {"matplotlib", "lm_eval"}
)


def names_of(statement: ast.stmt) -> Iterator[str]:
    """Yield the dotted names that an import statement may import."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom) and not statement.level:
        yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


@cache
def slow_of(module: str) -> frozenset[str]:
    """Return the slow packages that a module of runtime/ imports at its top, directly or not."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    if not path.is_file():
        parent = module.rpartition(".")[0]
        return slow_of(parent) if parent.startswith("runtime.") else frozenset()
    found: set[str] = set()
    package = module.split(".")[:-1]
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            above = package[: len(package) + 1 - statement.level]
            start = ".".join((*above, *filter(None, [statement.module])))
            names = [f"{start}.{alias.name}" for alias in statement.names]
        else:
            names = list(names_of(statement))
        for name in names:
            first = name.partition(".")[0]
            found |= {first} & SLOW if first != "runtime" else slow_of(name)
    return frozenset(found)


def early_imports(script: str) -> list[str]:
    """Return the names imported before a script asks whether its stage is done."""
    found: list[str] = []
    for statement in ast.parse(script).body:
        if any(isinstance(n, ast.Attribute) and n.attr == "is_done" for n in ast.walk(statement)):
            return found
        found += names_of(statement)
    pytest.fail("the script does not ask whether it is done")


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_slow_is_imported_before_a_stage_knows_whether_it_is_done(name: str) -> None:
    """Of all scripts that run.sh runs, and of the modules that they import."""
    scripts = {file.name: file.text for file in compile_golden(name).files}
    for script in ("prepare.py", "train.py", "evaluate.py", "export.py"):
        if script not in scripts:
            continue
        slow = {
            imported: sorted({imported.partition(".")[0]} & SLOW | slow_of(imported))
            for imported in early_imports(scripts[script])
        }
        assert {each: found for each, found in slow.items() if found} == {}, script


def test_slow_modules_are_found() -> None:
    """The test can fail."""
    assert slow_of("runtime.train.training") >= {"torch", "transformers"}
    assert slow_of("runtime.run") == frozenset()
