"""Writes a statement of generated Python on one line if it fits.

A template has one argument per line, since each bundle keeps only some of them. The formatter keeps
such lines separate if the last one ends in a comma.
"""

import ast
import io
import re
import tokenize

_WIDTH = 100
_SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)
#: Adjacent strings, which the formatter joins, and brackets that it removes.
_UNLIKE = re.compile(r"""["'] [rbf]*["']|(?:=|return) \(""")


def join_short(text: str) -> str:
    """Return the source with each simple statement on one line that has room for it.

    Statements with a comment inside, and those that the formatter would write differently, are
    unchanged.
    """
    lines = text.split("\n")
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    kept = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    kept |= {token.start[0] for token in tokens if token.start[0] < token.end[0]}
    tree = ast.parse(text)
    found = [node for node in ast.walk(tree) if isinstance(node, _SIMPLE)]
    for node in sorted(found, key=lambda node: node.lineno, reverse=True):
        first, last = node.lineno, node.end_lineno or node.lineno
        if first == last or kept & set(range(first, last + 1)):
            continue
        joined = _join(lines[first - 1 : last])
        if len(joined) <= _WIDTH and _is_same(node, joined):
            lines[first - 1 : last] = [joined]
    return "\n".join(lines)


def _join(lines: list[str]) -> str:
    """Return lines as one, without the comma before a closing bracket."""
    joined = lines[0]
    for line in map(str.strip, lines[1:]):
        if line.startswith((")", "]", "}")):
            joined = joined.removesuffix(",") + line
        else:
            joined += line if joined.endswith(("(", "[", "{")) else f" {line}"
    return joined


def _is_same(node: ast.stmt, joined: str) -> bool:
    """Return whether a line is the statement, as the formatter would write it."""
    if _UNLIKE.search(joined):
        return False
    (statement,) = ast.parse(joined.strip()).body
    return ast.dump(statement) == ast.dump(node)
