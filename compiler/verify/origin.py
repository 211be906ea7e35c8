"""The origin of a script's lines: each is its template's own, a comment, or a rendered constant."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ftc.compiler.render.file import RenderedFile

_CONSTANT = re.compile(r"([A-Z][A-Z0-9_]*) = ")
_RENDERED = re.compile(r"^([A-Z][A-Z0-9_]*) = \{\{", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What a script may consist of: its template's lines, and the constants that take values."""

    lines: frozenset[str]
    constants: frozenset[str]


@cache
def read_template(name: str) -> Template | None:
    """Return the template of the script `name`, or None when it has none."""
    path = files("ftc.templates").joinpath(f"{name}.j2")
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    lines = [line.rstrip() for line in text.split("\n") if "{{" not in line]
    # The layout may move a trailing comment above its line.
    bare = [line.partition("  # ")[0].rstrip() for line in lines]
    return Template(lines=frozenset((*lines, *bare)), constants=frozenset(_RENDERED.findall(text)))


def find_foreign(file: RenderedFile, template: Template) -> Iterator[int]:
    """Yield the numbers of the lines that are none of the three.

    What a constant's line holds is for the syntax tree to judge; a comment cannot run.
    """
    for number, line in enumerate(file.text.split("\n"), start=1):
        if line.rstrip() in template.lines or line.lstrip(" ").startswith("#"):
            continue
        constant = _CONSTANT.match(line)
        if constant is None or constant.group(1) not in template.constants:
            yield number
