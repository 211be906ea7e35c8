"""The modules that benchmarks name in strings exist; mypy checks all other imports."""

import ast
import re
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks").rglob("*.py"))
#: `runtime` is ftc.runtime in a bundle. The name of a file that ends in .json is no module.
MODULE = re.compile(r"(?:ftc|runtime|benchmarks|tests)(?:\.(?!json$)[a-z_0-9]+)+")


def test_every_module_in_a_string_exists() -> None:
    """Also what is started with `-m`."""
    named = [(file, name) for file in FILES for name in find_modules(file)]
    assert len(named) > 10
    assert not [f"{file.name}: {name}" for file, name in named if find(name) is None]


def test_what_is_taken_from_an_imported_module_is_there() -> None:
    """`import_module("ftc.runtime.run").Run`: a name at the top level of its source."""
    taken = [use for file in FILES for use in find_taken(ast.parse(file.read_bytes()))]
    assert taken
    assert not [f"{name}.{own}" for name, own in taken if own not in list_names(name)]


def find_modules(file: Path) -> Iterator[str]:
    """Yield the strings of a file that name a module."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = MODULE.fullmatch(node.value)
            if found is not None:
                yield node.value


def find_taken(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the module and the name of each attribute of a call that imports a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(
                value=ast.Call(
                    func=ast.Name(id="import_module" | "__import__"),
                    args=[ast.Constant(value=str(name)), *_],
                ),
                attr=own,
            ) if MODULE.fullmatch(name):
                yield name, own


def find(name: str) -> ModuleSpec | None:
    """Return where a module is, without importing it; None if it is nowhere."""
    try:
        return find_spec(f"ftc.{name}" if name.startswith("runtime.") else name)
    except ModuleNotFoundError:
        return None


def list_names(name: str) -> set[str]:
    """Return the functions, classes and constants at the top level of a module."""
    found = find(name)
    assert found is not None
    assert found.origin is not None
    names: set[str] = set()
    for node in ast.parse(Path(found.origin).read_bytes()).body:
        match node:
            case ast.FunctionDef(name=own) | ast.ClassDef(name=own):
                names.add(own)
            case ast.Assign(targets=targets):
                names |= {each.id for each in targets if isinstance(each, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=own)):
                names.add(own)
            case _:
                pass
    return names
