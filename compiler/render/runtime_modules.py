"""The modules of `runtime/` that a bundle carries: those that its scripts import or run."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.render.file import RenderedFile

FOLDER: Final = "runtime"


def carry_modules(
    scripts: Iterable[RenderedFile], chosen: Iterable[str] = ()
) -> tuple[RenderedFile, ...]:
    """Return the modules that scripts import or run, directly or not, byte for byte.

    `chosen` are modules that another module imports by a name that it reads at run time.

    Raises ValueError for an import of a module that `runtime/` does not have.
    """
    wanted = [*chosen, *(name for script in scripts for name in _used(script))]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted.extend(_imported(read_module(name), package=FOLDER))
    names = ["__init__", *sorted(found)] if found else []
    return tuple(
        RenderedFile(name=f"{FOLDER}/{name}.py", text=read_module(name), language="runtime")
        for name in names
    )


def _used(script: RenderedFile) -> Iterator[str]:
    """Yield the modules that a script imports, or that a shell script runs with `python -m`."""
    if script.language == "shell":
        yield from re.findall(rf"-m {FOLDER}\.(\w+)", script.text)
    else:
        yield from _imported(script.text, package="")


@cache
def read_module(name: str) -> str:
    """Return the source of a module of `runtime/`."""
    path = files("ftc.runtime").joinpath(f"{name}.py")
    if not path.is_file():
        raise ValueError(f"there is no module runtime/{name}.py")
    return path.read_text(encoding="utf-8")


def _imported(source: str, *, package: str) -> Iterator[str]:
    """Yield the runtime modules that a source imports, including imports inside functions.

    A script imports them as `runtime.NAME`; a module of `runtime` uses relative imports.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    head, _, name = alias.name.partition(".")
                    if head == FOLDER and name:
                        yield name
            case ast.ImportFrom(module=module, names=names, level=level):
                inside = level == 1 and package == FOLDER
                if inside and module:
                    yield module
                elif inside or (level == 0 and module == FOLDER):
                    yield from (alias.name for alias in names)
                elif level == 0 and module and module.startswith(f"{FOLDER}."):
                    yield module.removeprefix(f"{FOLDER}.")
