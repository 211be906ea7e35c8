"""The Jinja environment: it prints only the types of `values`, and refuses everything else."""

import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import Environment, FileSystemBytecodeCache, FunctionLoader, StrictUndefined, Undefined
from jinja2.bccache import Bucket

from ftc.compiler.render.values import Comment, Literal, Markdown, ModelfileText, Word


class BareValueError(TypeError):
    """A template tried to print something that is not a whole token."""


class _Kept(FileSystemBytecodeCache):
    """Compiled templates on disk; what cannot be read or written costs time alone."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read a template, if it was compiled of the same text."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # noqa: BLE001 - a damaged file can raise all that unpickling can
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template."""
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def make_environment() -> Environment:
    """Return the environment that reads the templates shipped with ftc, and compiles each once."""
    return Environment(
        bytecode_cache=_keep_compiled(),
        loader=FunctionLoader(_read_template),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - finalize admits whole tokens only
    )


def _keep_compiled() -> _Kept | None:
    """Keep compiled templates where Python keeps the bytecode of this module, if it does so."""
    folder = Path(cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not os.access(folder, os.W_OK):
        return None
    return _Kept(str(folder), f"jinja-{jinja2.__version__}-%s.bin")


def _read_template(name: str) -> str | None:
    from importlib.resources import files  # noqa: PLC0415 - slow to import, needed to render only

    path = files("ftc.templates").joinpath(name)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _finalize(value: Any) -> str:
    """Let whole tokens through; an undefined name raises its own error."""
    if isinstance(value, Literal | Comment | Word | Markdown | ModelfileText):
        return str(value)
    if isinstance(value, Undefined):
        return str(value)
    raise BareValueError(f"a template printed a bare {type(value).__name__}: {value!r}")
