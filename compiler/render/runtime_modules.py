"""The modules of `runtime/` that a bundle carries: those that its scripts import or run."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.render.output.file import RenderedFile

FOLDER: Final = "runtime"


def carry_modules(
    scripts: Iterable[RenderedFile], chosen: Iterable[str] = ()
) -> tuple[RenderedFile, ...]:
    """Return the modules that scripts import or run, directly or not, byte for byte.

    A module is named as in `runtime.NAME`, such as `run` or `train.best`. `chosen` are modules that
    another module imports by a name that it reads at run time.

    Raises ValueError for an import of a module that `runtime/` does not have.
    """
    wanted = [*chosen, *(name for script in scripts for name in _used(script))]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted.extend(_imported_by(name))
    packages = {f"{FOLDER}/__init__.py" for _ in found}
    packages |= {f"{FOLDER}/{name.partition('.')[0]}/__init__.py" for name in found if "." in name}
    empty = (RenderedFile(name=name, text="", language="runtime") for name in packages)
    modules = (
        RenderedFile(name=_path(name), text=read_module(name), language="runtime") for name in found
    )
    return tuple(sorted((*empty, *modules), key=lambda file: file.name))


def _used(script: RenderedFile) -> Iterator[str]:
    """Yield the modules that a script imports, or that a shell script runs with `python -m`."""
    if script.language == "shell":
        yield from re.findall(rf"-m {FOLDER}\.([\w.]+)", script.text)
    else:
        yield from _imported(script.text, package="")


@cache
def read_module(name: str) -> str:
    """Return the source of a module of `runtime/`."""
    *folder, module = name.split(".")
    path = files("ftc.runtime").joinpath(*folder, f"{module}.py")
    if not path.is_file():
        raise ValueError(f"there is no module {_path(name)}")
    return path.read_text(encoding="utf-8")


@cache
def _imported_by(name: str) -> tuple[str, ...]:
    return tuple(_imported(read_module(name), package=_package(name)))


def _path(name: str) -> str:
    return f"{FOLDER}/{name.replace('.', '/')}.py"


def _package(name: str) -> str:
    """Return the dotted name of the folder of a module."""
    return ".".join((FOLDER, *name.split(".")[:-1]))


def _imported(source: str, *, package: str) -> Iterator[str]:
    """Yield the runtime modules that a source imports, including imports inside functions.

    A script imports them as `runtime.NAME`; a module of `runtime` uses relative imports.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                dotted = [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join((*parents, *([module] if module else [])))
                is_folder = base == FOLDER or _is_folder(base)
                dotted = [f"{base}.{alias.name}" for alias in names] if is_folder else [base]
            case _:
                continue
        for name in dotted:
            if name.startswith(f"{FOLDER}."):
                yield name.removeprefix(f"{FOLDER}.")


def _is_folder(dotted: str) -> bool:
    """Return whether a dotted name is a folder of `runtime/`."""
    head, _, name = dotted.partition(".")
    return head == FOLDER and name.isidentifier() and files("ftc.runtime").joinpath(name).is_dir()
