"""Removes the imports and constants that a rendered script does not use, and empty arguments.

A template has all imports, constants and keyword arguments that some bundle needs. An argument is
left out if its constant has no value in this bundle. Which imports and constants a bundle needs
then follows from the rest of its script, so no condition is written twice.
"""

import ast
import re
from collections.abc import Iterator
from typing import Final

_WIDTH = 100
_CONSTANT: Final = re.compile(r"[A-Z][A-Z0-9_]*")
#: Begins the name of a value or reason that a bundle does not have. It is an invisible letter,
#: which no other token that a template prints may contain.
UNDEFINED: Final = "\u115f"


def remove_unused(text: str) -> str:
    """Return Python source without imports and constants whose names it never reads.

    A constant is a name in capitals that is assigned once, at the top level. A statement that is
    kept whole is unchanged; an import of which names are removed is written on one line, or with
    one name per line if it is too long. A keyword argument that takes an undefined constant is
    removed first: the callee has a default.

    Raises ValueError if the script needs a value that is undefined.
    """
    text = _remove_arguments(text)
    before = ""
    while text != before:
        before, text = text, "\n".join(_join(_remove(text)))
    if found := re.search(rf"{UNDEFINED}(\w+)", text):
        raise ValueError(f"a script uses {found[1]}, which this bundle does not have")
    return text


def _remove_arguments(text: str) -> str:
    """Return the source without the keyword arguments that take an undefined constant."""
    tree = ast.parse(text)
    undefined = {
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Name)
        and statement.value.id.startswith(UNDEFINED)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    lines = text.split("\n")
    found = _find_empty(tree, undefined)
    for keyword in sorted(found, key=lambda k: (k.lineno, k.col_offset), reverse=True):
        start, end = keyword.lineno - 1, keyword.end_lineno or keyword.lineno
        code = lines[start].encode()
        before, after = code[: keyword.col_offset].decode(), code[keyword.end_col_offset :].decode()
        kept = [before.removesuffix(", ") + after] if before.strip() else []
        lines[start:end] = kept
    return "\n".join(lines)


def _find_empty(node: ast.AST, undefined: set[str]) -> Iterator[ast.keyword]:
    """Yield the innermost keyword arguments that read one of the names."""
    for child in ast.iter_child_nodes(node):
        inside = list(_find_empty(child, undefined))
        yield from inside
        names = {name.id for name in ast.walk(child) if isinstance(name, ast.Name)}
        lacking = names & undefined or any(name.startswith(UNDEFINED) for name in names)
        if isinstance(child, ast.keyword) and not inside and lacking:
            yield child


def _remove(text: str) -> list[str | None]:
    """Return the lines, with None for each that is removed."""
    tree = ast.parse(text)
    read = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    lines: list[str | None] = list(text.split("\n"))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and not _is_read(statement, read):
            lines[statement.lineno - 1 : statement.end_lineno] = [None] * _height(statement)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept = [alias for alias in node.names if _bound(alias) in read]
            if len(kept) < len(node.names) or node.end_lineno != node.lineno:
                comment = _comment(lines[(node.end_lineno or node.lineno) - 1] or "")
                written = _write(node, kept, comment) if kept else None
                height = _height(node)
                lines[node.lineno - 1 : node.end_lineno] = [written, *[None] * (height - 1)]
    return lines


def _is_read(node: ast.Assign, read: set[str]) -> bool:
    """Return whether a name is read, or is not that of a constant."""
    names = [name.id for name in node.targets if isinstance(name, ast.Name)]
    return len(names) != 1 or not _CONSTANT.fullmatch(names[0]) or names[0] in read


def _height(node: ast.stmt) -> int:
    """Return the number of lines of a statement."""
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _bound(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.split(".")[0]


def _comment(line: str) -> str:
    """Return the comment at the end of an import, with the two blanks before it."""
    code, mark, words = line.partition("  # ")
    return f"{mark}{words}" if code else ""


def _write(node: ast.Import | ast.ImportFrom, names: list[ast.alias], comment: str) -> str:
    """Return an import of some of a statement's names, as ruff would format it."""
    blanks = " " * node.col_offset
    if isinstance(node, ast.Import):
        return f"{blanks}{ast.unparse(ast.Import(names=names))}{comment}"
    statement = ast.ImportFrom(module=node.module, names=names, level=node.level)
    line = f"{blanks}{ast.unparse(statement)}{comment}"
    if len(line) <= _WIDTH:
        return line
    listed = "".join(f"{blanks}    {ast.unparse(name)},\n" for name in names)
    return f"{blanks}from {node.module} import ({comment}\n{listed}{blanks})"


def _join(lines: list[str | None]) -> Iterator[str]:
    """Yield the lines that are left; a removed group takes its blank line with it."""
    before, removed = "", False
    for line in lines:
        if line is None:
            removed = True
        elif not (removed and not line and not before):
            yield line
            before, removed = line, False
