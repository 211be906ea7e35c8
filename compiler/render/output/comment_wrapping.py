"""Lays out lines of generated Python that are too long, as the formatter would.

A comment that makes a line too long moves above it. A constant that is too long by itself is
divided; a text that no line has room for stays whole, and its line is exempt from the limit.
"""

import ast
import io
import re
import textwrap
import tokenize
from itertools import chain

_WIDTH = 100
_JOINED_PERCENT = "\N{NO-BREAK SPACE}%"  # a number and its sign stay on one line
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]* = ")
_EXEMPT = "  # noqa: E501"


def wrap_comments(text: str) -> str:
    """Return the source with the comments of over-long lines above them and constants divided.

    Python's tokenizer finds the comments, so a `#` inside a literal is not moved.
    """
    lines = text.split("\n")
    if all(len(line) <= _WIDTH for line in lines):
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    laid = (_wrap_line(line, comments.get(row)) for row, line in enumerate(lines, start=1))
    return "\n".join(chain.from_iterable(laid))


def _wrap_line(line: str, comment: tokenize.TokenInfo | None) -> list[str]:
    """Return a line, or the comment of an over-long one, wrapped, and the code that is left."""
    if len(line) <= _WIDTH:
        return [line]
    code, above = line, list[str]()
    if comment is not None:
        code = line[: comment.start[1]].rstrip()
        indent = line[: len(line) - len(line.lstrip())]
        words = comment.string.removeprefix("#").strip()
        joined = words.replace(" %", _JOINED_PERCENT)
        parts = textwrap.wrap(joined, _WIDTH - len(indent) - 2, break_on_hyphens=False)
        above = [f"{indent}# {part}".replace(_JOINED_PERCENT, " %") for part in parts]
    if len(code) > _WIDTH and (start := _CONSTANT.match(code)):
        code = _divide_constant(start[0], code.removeprefix(start[0]))
    return [*above, code] if code else above


def _divide_constant(start: str, literal: str) -> str:
    """Return a constant on several lines if that makes it fit; `start` is `NAME = `."""
    if literal[0] + literal[-1] in ("{}", "[]"):
        return start + _divide(ast.parse(literal, mode="eval").body, literal, "")
    if len(literal) + 4 <= _WIDTH:
        return f"{start}(\n    {literal}\n)"
    return f"{start}{literal}{_EXEMPT}"


def _divide(node: ast.expr, source: str, indent: str) -> str:
    """Return a dictionary or a list with one item per line, which is divided if it is too long."""
    inner = f"{indent}    "
    items: list[tuple[str, ast.expr]] = []
    if isinstance(node, ast.Dict):
        keys = [f"{_read(key, source)}: " for key in node.keys if key is not None]
        items = list(zip(keys, node.values, strict=True))
    elif isinstance(node, ast.List):
        items = [("", item) for item in node.elts]
    lines = [f"{inner}{_write_item(start, item, source, inner)}" for start, item in items]
    brackets = "{}" if isinstance(node, ast.Dict) else "[]"
    return "\n".join([brackets[0], *lines, indent + brackets[1]])


def _write_item(start: str, node: ast.expr, source: str, indent: str) -> str:
    """Return an item with its comma."""
    literal = _read(node, source)
    if len(indent) + len(start) + len(literal) + 1 <= _WIDTH:
        return f"{start}{literal},"
    if isinstance(node, ast.Dict | ast.List) and len(literal) > 2:  # noqa: PLR2004 - brackets
        return f"{start}{_divide(node, source, indent)},"
    return f"{start}{literal},{_EXEMPT}"


def _read(node: ast.expr, source: str) -> str:
    return ast.get_source_segment(source, node) or ""
