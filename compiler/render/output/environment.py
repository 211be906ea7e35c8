"""The Jinja environment: prints only the types of `values`, and raises for anything else."""

import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import (
    Environment,
    FileSystemBytecodeCache,
    FunctionLoader,
    StrictUndefined,
    Template,
    Undefined,
)
from jinja2.bccache import Bucket

from ftc.compiler.render.output.unused import UNDEFINED
from ftc.compiler.render.output.values import Comment, Literal, Markdown, ModelfileText, Word


class BareValueError(TypeError):
    """A template tried to print something that is not a whole token."""


class _Kept(FileSystemBytecodeCache):
    """Compiled templates on disk; a file that cannot be read or written is ignored."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a compiled template, if its source is unchanged."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - unpickling a damaged file can raise anything
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Save a compiled template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def make_environment() -> Environment:
    """Return the environment that reads the templates shipped with ftc, and compiles each once."""
    environment = Environment(
        bytecode_cache=_keep_compiled(),
        loader=FunctionLoader(_read_template),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - finalize admits whole tokens only
    )
    environment.filters |= {"flag": _print_flag, "switch": _print_switch}
    return environment


@cache
def make_script_environment() -> Environment:
    """Return the environment for Python scripts, which are rendered with unused constants.

    It prints the name of an undefined value, for `remove_unused` to find.
    """
    return make_environment().overlay(finalize=_finalize_script)


@cache
def leave_out(name: str, blocks: tuple[str, ...]) -> Template:
    """Return a template that extends another and has nothing in some of its blocks."""
    empty = "".join(f"{{% block {block} %}}{{% endblock %}}" for block in blocks)
    return make_environment().from_string(f'{{% extends "{name}" %}}{empty}')


def _keep_compiled() -> _Kept | None:
    """Return a cache beside the bytecode of this module, or None if Python writes none."""
    folder = Path(cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return _Kept(str(folder), f"jinja-{jinja2.__version__}-%s.bin")


def _read_template(name: str) -> str | None:
    from importlib.resources import files  # noqa: PLC0415 - slow to import, needed to render only

    path = files("ftc.templates").joinpath(name)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _print_flag(condition: Any) -> Word:
    """Return `True` or `False` for a condition."""
    return Word(str(bool(condition)))


def _print_switch(condition: Any) -> Word | Undefined:
    """Return `True` for a condition that holds, and nothing that is defined for another."""
    return Word("True") if condition else StrictUndefined(name="switch")


def _finalize(value: Any) -> str:
    """Return whole tokens unchanged; an undefined name raises its own error."""
    if isinstance(value, Literal | Comment | Word | Markdown | ModelfileText):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)
    raise BareValueError(f"a template printed a bare {type(value).__name__}: {value!r}")


def _finalize_script(value: Any) -> str:
    """Return whole tokens unchanged, and the marked name of what is undefined."""
    if isinstance(value, Undefined):
        return f"{UNDEFINED}{value._undefined_name}"  # noqa: SLF001 - for those who print it
    return _finalize(value)
