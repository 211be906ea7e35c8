"""The Jinja environment: it prints only the types of `values`, and refuses everything else."""

from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Undefined

from ftc.compiler.render.values import Comment, Literal, Markdown, ModelfileText, Word


class BareValueError(TypeError):
    """A template tried to print something that is not a whole token."""


def make_environment() -> Environment:
    """Return an environment that reads the templates shipped with ftc."""
    return Environment(
        loader=FunctionLoader(_read_template),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - finalize admits whole tokens only
    )


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
