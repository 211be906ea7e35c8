"""Wraps comments of generated Python: a comment that makes a line too long moves above it.

A literal that is too long by itself stays one token, and its line is exempt from the limit.
"""

import io
import re
import textwrap
import tokenize

_WIDTH = 100
_JOINED_PERCENT = "\N{NO-BREAK SPACE}%"  # a number and its sign stay on one line
_CONSTANT = re.compile(r"[A-Z][A-Z0-9_]* = ")


def wrap_comments(text: str) -> str:
    """Return the source with the comments of over-long lines wrapped above them.

    Python's tokenizer finds the comments, so a `#` inside a literal is not moved.
    """
    lines = text.split("\n")
    if all(len(line) <= _WIDTH for line in lines):
        return text
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    laid = (_wrap_line(line, comments.get(row)) for row, line in enumerate(lines, start=1))
    return "\n".join(laid)


def _wrap_line(line: str, comment: tokenize.TokenInfo | None) -> str:
    if len(line) <= _WIDTH:
        return line
    code, above = line, ""
    if comment is not None:
        code = line[: comment.start[1]].rstrip()
        indent = line[: len(line) - len(line.lstrip())]
        words = comment.string.removeprefix("#").strip()
        joined = words.replace(" %", _JOINED_PERCENT)
        parts = textwrap.wrap(joined, _WIDTH - len(indent) - 2, break_on_hyphens=False)
        above = "\n".join(f"{indent}# {part}" for part in parts).replace(_JOINED_PERCENT, " %")
    if len(code) > _WIDTH and _CONSTANT.match(code):
        code += "  # noqa: E501"
    return "\n".join(filter(None, (above, code)))
