"""Removes unused parts of a rendered script: names that nothing reads, and undefined values.

A template has all imports, constants, functions, variables, arguments and calls that some bundle
needs. An argument is left out if its constant or its word has no value in this bundle, and a call
if its function is a word without one. What else a bundle needs then follows from the rest of its
script, so no condition is written twice.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Final

_WIDTH = 100
#: Begins the name of a value or reason that a bundle does not have. It is an invisible letter,
#: which no other token that a template prints may contain.
UNDEFINED: Final = "\u115f"


def remove_unused(text: str) -> str:
    """Return Python source without the names at its top level that it never reads.

    These are imports, functions, and variables in single assignments. A statement that is kept
    whole is unchanged. An import that loses names is written on one line, or with one name per line
    if it is too long. Undefined arguments and calls are removed first: the callee has a default for
    the argument, and a call of an undefined word is a whole statement.

    Raises ValueError if the script needs a value that is undefined.
    """
    text = "\n".join(_join(_remove(_remove_arguments(text))))
    if found := re.search(rf"{UNDEFINED}(\w+)", text):
        raise ValueError(f"a script uses {found[1]}, which this bundle does not have")
    return text


def _remove_arguments(text: str) -> str:
    """Return the source without arguments and items of lists that are undefined."""
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
    words = re.compile("|".join(map(re.escape, (UNDEFINED, *undefined))))
    read = (
        each
        for each in tree.body
        if words.search("\n".join(lines[each.lineno - 1 : each.end_lineno]))
    )
    found = chain.from_iterable(_find_empty(statement, undefined) for statement in read)
    for node in sorted(found, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        start, end = node.lineno - 1, node.end_lineno or node.lineno
        code = lines[start].encode()
        before, after = code[: node.col_offset].decode(), code[node.end_col_offset :].decode()
        if before.endswith(("(", "[")):
            after = after.removeprefix(", ")
        kept = [before.removesuffix(", ") + after] if before.strip() else []
        lines[start:end] = kept
    return "\n".join(lines)


def _find_empty(node: ast.AST, undefined: set[str]) -> Iterator[ast.keyword | ast.expr]:
    """Yield the innermost named arguments that read one of the names, and undefined words."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword | ast.expr) and _is_left_out(node, child):
            yield child
            continue
        inside = list(_find_empty(child, undefined))
        yield from inside
        if isinstance(child, ast.keyword) and not inside:
            names = {name.id for name in ast.walk(child) if isinstance(name, ast.Name)}
            if names & undefined or any(map(_is_undefined, _list_expressions(child))):
                yield child


def _is_left_out(node: ast.AST, child: ast.keyword | ast.expr) -> bool:
    """Return whether a child is an argument or an item of a list, and is undefined."""
    given = child is not node.func if isinstance(node, ast.Call) else isinstance(node, ast.List)
    return given and _is_undefined(child.value if isinstance(child, ast.keyword) else child)


def _list_expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield every expression inside a node."""
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.expr))


def _is_undefined(node: ast.expr) -> bool:
    """Return whether an expression is an undefined word, or a call of one."""
    match node:
        case ast.Starred(value=inner) | ast.Call(func=inner):
            return _is_undefined(inner)
        case ast.Attribute(value=inner, attr=name):
            return name.startswith(UNDEFINED) or _is_undefined(inner)
        case ast.Name(id=name):
            return name.startswith(UNDEFINED)
    return False


def _remove(text: str) -> list[str | None]:
    """Return the lines, with None for each that is removed."""
    tree = ast.parse(text)
    lines: list[str | None] = list(text.split("\n"))
    nodes = {statement: list(_walk_defined(statement)) for statement in tree.body}
    loads = {statement: _list_loaded(inner) for statement, inner in nodes.items()}
    kept = _find_needed(loads)
    for statement in tree.body:
        if statement not in kept:
            lines[statement.lineno - 1 : statement.end_lineno] = [None] * _height(statement)
    loaded = set().union(*(loads[statement] for statement in kept))
    for node in chain.from_iterable(nodes[statement] for statement in kept):
        if isinstance(node, ast.Expr) and _is_undefined(node.value):
            lines[node.lineno - 1 : node.end_lineno] = [None] * _height(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            named = [alias for alias in node.names if _bound(alias) in loaded]
            if len(named) < len(node.names) or node.end_lineno != node.lineno:
                comment = _comment(lines[(node.end_lineno or node.lineno) - 1] or "")
                written = _write(node, named, comment) if named else None
                height = _height(node)
                lines[node.lineno - 1 : node.end_lineno] = [written, *[None] * (height - 1)]
    return lines


def _walk_defined(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its descendants, except statements that call an undefined word."""
    yield node
    if not (isinstance(node, ast.Expr) and _is_undefined(node.value)):
        for child in ast.iter_child_nodes(node):
            yield from _walk_defined(child)


def _find_needed(loads: Mapping[ast.stmt, set[str]]) -> list[ast.stmt]:
    """Return the needed statements: those that bind no name, or a name that another one reads.

    A statement that reads a name only to rebind it does not count as a reader.
    """
    bound = {statement: _find_bound(statement) for statement in loads}
    kept, before = list(loads), len(loads) + 1
    while len(kept) < before:
        before = len(kept)
        read = set().union(*(loads[statement] - {bound[statement]} for statement in kept))
        kept = [each for each in kept if bound[each] is None or bound[each] in read]
    return kept


def _list_loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that nodes read."""
    names = (node for node in nodes if isinstance(node, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _find_bound(statement: ast.stmt) -> str | None:
    """Return the name that a statement binds, or None if it does anything else."""
    match statement:
        case (
            ast.FunctionDef(name=name)
            | ast.Assign(targets=[ast.Name(id=name)])
            | ast.AugAssign(target=ast.Name(id=name))
        ):
            return name
    return None


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
    """Yield the lines that are left.

    Around a removed group, the larger number of blank lines is kept, or one if no function is
    adjacent.
    """
    blanks, most, last = 0, -1, ""
    for line in lines:
        if line is None:
            most, blanks = max(most, blanks), 0
        elif not line:
            blanks += 1
        else:
            apart = line.startswith(("def ", "@")) or last.startswith(" ")
            left = max(most, blanks) if most < 0 or apart else min(1, max(most, blanks))
            yield from [""] * left * bool(last)
            yield line
            blanks, most, last = 0, -1, line
    yield from [""] * max(most, blanks)
