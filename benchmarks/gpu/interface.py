"""Checks that every library name which the bundles and this benchmark use exists on this machine.

    python -m benchmarks.gpu.interface [FILE.py ...]

Reads `runtime/`, the scripts of the golden bundles and `benchmarks/gpu`, or the given files. Each
name that they import from a library that trains, and each dotted name that they reach from one
(`torch.cuda.mem_get_info`), is looked up in the installed version; where a call of it names
arguments, they are held against its signature. Needs no GPU: what only a GPU runs is looked up as
well. Prints what is missing, and exits 1 if anything is.
"""

import argparse
import ast
import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ftc.runtime.libraries import list_versions

_ROOT: Final = Path(__file__).parents[2]
_READ: Final = ("runtime/**/*.py", "tests/golden/*/*.py", "benchmarks/gpu/*.py")
_LIBRARIES: Final = frozenset(
    {"torch", "transformers", "trl", "peft", "accelerate", "datasets", "bitsandbytes"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A name of a library in a file: its dotted path, and the arguments of one call of it."""

    path: str
    arguments: tuple[str, ...]
    place: str


def read_uses(file: Path) -> Iterator[Use]:
    """Yield the uses of libraries' names in a Python file, imports first."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        for alias, path in _read_import(node):
            own = alias.asname or (alias.name if isinstance(node, ast.ImportFrom) else None)
            known[own or path.partition(".")[0]] = path if own else path.partition(".")[0]
            yield Use(path=path, arguments=(), place=f"{file}:{alias.lineno}")
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        spelt = _spell(node, known)
        if spelt is None or id(node) in inner:
            continue
        call = called.get(id(node))
        names = [word.arg for word in call.keywords if word.arg] if call else []
        yield Use(path=spelt, arguments=tuple(names), place=f"{file}:{getattr(node, 'lineno', 0)}")


def _read_import(node: ast.AST) -> Iterator[tuple[ast.alias, str]]:
    """Yield the names that a statement imports from the libraries, with their dotted paths."""
    if isinstance(node, ast.Import):
        found = [(alias, alias.name) for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        found = [(alias, f"{node.module}.{alias.name}") for alias in node.names]
    else:
        return
    yield from (item for item in found if item[1].partition(".")[0] in _LIBRARIES)


def _spell(node: ast.AST, known: dict[str, str]) -> str | None:
    """Return the dotted path of a name or attribute of a library, or None."""
    if isinstance(node, ast.Name):
        return known.get(node.id) if isinstance(node.ctx, ast.Load) else None
    if not isinstance(node, ast.Attribute):
        return None
    before = _spell(node.value, known)
    return None if before is None else f"{before}.{node.attr}"


def find_missing(use: Use) -> str | None:
    """Return the name that the installed library lacks, or None if it has all of them."""
    found = look_up(use.path)
    if found is None:
        return f"{use.place}: {use.path} does not exist"
    try:
        accepted = inspect.signature(found).parameters
    except (TypeError, ValueError):  # of a class or function written in C
        return None
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in accepted.values()):
        return None
    unknown = [name for name in use.arguments if name not in accepted]
    return f"{use.place}: {use.path} has no argument {', '.join(unknown)}" if unknown else None


def look_up(path: str) -> Any:
    """Return the object of a dotted path, or None if there is none.

    An attribute of an instance or of a function's result cannot be looked up; its owner counts.
    """
    top, *rest = path.split(".")
    found, so_far = importlib.import_module(top), top
    for name in rest:
        so_far = f"{so_far}.{name}"
        if not hasattr(found, name):
            if not inspect.ismodule(found):
                return None
            try:
                found = importlib.import_module(so_far)
            except ImportError:
                return None
            continue
        found = getattr(found, name)
    return found


def check(files: Iterable[Path]) -> tuple[int, list[str]]:
    """Return how many different names the files use, and what is missing of them."""
    uses = {(use.path, use.arguments): use for file in files for use in read_uses(file)}
    missing = (find_missing(use) for use in uses.values())
    return len({path for path, _ in uses}), [text for text in missing if text is not None]


def main() -> None:
    """Print the versions, and what is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.interface",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.py")
    files: list[Path] = parser.parse_args().files or [
        path for pattern in _READ for path in sorted(_ROOT.glob(pattern))
    ]
    count, missing = check(files)
    for line in missing:
        print(line)
    versions = ", ".join(f"{name} {version}" for name, version in list_versions().items())
    print(f"{count} names in {len(files)} files, {len(missing)} missing: {versions}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
