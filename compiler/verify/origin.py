"""The origin of a script's lines: each is its template's own, a comment, or a rendered constant."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import compress, product

_RENDERED = re.compile(r"^([A-Z][A-Z0-9_]*) = \{\{", re.MULTILINE)

#: Modules of ftc that bundles carry as they are.
_CARRIED = frozenset({"go_template.py"})
_TAG = re.compile(r"\{%.*?%\}")
_INCLUDED = re.compile(r'\{%\s*include\s+(?:"([^"]+)"|template\.(\w+))\s*%\}')
_MOST_PARTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """What a script may consist of: its template's lines, and the constants that take values."""

    lines: frozenset[str]
    constants: frozenset[str]


@cache
def read_template(name: str) -> Template | None:
    """Return the template of the script `name`, or None when it has none."""
    path = files("ftc.templates").joinpath(f"{name}.j2")
    if name in _CARRIED:
        text = files("ftc.compiler.resolve").joinpath(name).read_text(encoding="utf-8")
        return Template(lines=frozenset(map(str.rstrip, text.split("\n"))), constants=frozenset())
    if not path.is_file():
        return None
    text = "\n".join(_with_partials(path))
    fixed = (line for line in text.split("\n") if "{{" not in line)
    lines = {choice.rstrip() for line in fixed for choice in _choices(line)}
    # The layout may move a trailing comment above its line.
    bare = [line.partition("  # ")[0].rstrip() for line in lines]
    return Template(lines=frozenset((*lines, *bare)), constants=frozenset(_RENDERED.findall(text)))


def _with_partials(path: Traversable) -> Iterator[str]:
    """Yield the text of a template and of what it includes: `template.form` is any of forms/."""
    text = path.read_text(encoding="utf-8")
    yield text
    root = files("ftc.templates")
    for name, kind in set(_INCLUDED.findall(text)):
        partials = [root.joinpath(name)] if name else root.joinpath(f"{kind}s").iterdir()
        for partial in partials:
            yield from _with_partials(partial)


def _choices(line: str) -> Iterator[str]:
    """Yield what is left of a line for each choice of the parts between its statement tags."""
    if "{%" not in line:
        yield line
        return
    parts = _TAG.split(line)
    for kept in product((True, False), repeat=len(parts) if len(parts) <= _MOST_PARTS else 0):
        yield "".join(compress(parts, kept))


def find_foreign(text: str, template: Template, constants: frozenset[int]) -> Iterator[int]:
    """Yield the numbers of the lines that are none of the three.

    `constants` are the lines of rendered constants, which the syntax tree has judged; a comment
    cannot run.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        own = line.rstrip() in template.lines or number in constants
        if not own and not line.lstrip(" ").startswith("#"):
            yield number
