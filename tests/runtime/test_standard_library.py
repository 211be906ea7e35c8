"""Modules that the compiler counts with import the standard library alone."""

import ast
import sys
from collections.abc import Iterator

import pytest

from ftc.compiler.render.runtime_modules import carry_modules


def _imported(source: str) -> Iterator[str]:
    """Yield the first name of each absolute import."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("name", ["read.rows", "tokens.packing", "prepare.planned"])
def test_no_other_library_is_imported(name: str) -> None:
    """Neither the module nor what it imports needs a library."""
    modules = carry_modules([], [name])

    assert {found for module in modules for found in _imported(module.text)} <= set(
        sys.stdlib_module_names
    )
