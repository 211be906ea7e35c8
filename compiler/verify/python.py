"""Checks of rendered Python: it compiles, names are defined, values are literals of constants."""

import ast
import re
import warnings
from collections.abc import Iterator
from itertools import zip_longest

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.verify.explanations import LOOSE_VALUE, UNDEFINED_NAME, UNKNOWN_KEY, UNPARSABLE
from ftc.compiler.verify.keys import read_keys
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.finding import Finding

_UNDEFINED = frozenset({"UndefinedName", "UndefinedLocal", "UndefinedExport"})
# PEP 263: a comment in the first two lines that sets the encoding of the file.
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")


def verify_python(file: RenderedFile) -> Iterator[Finding]:
    """Yield every defect of one script; one that does not compile has no other."""
    try:
        tree = _compile(file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        yield _at(file, line, UNPARSABLE, "compile", reason=_first_line(error))
        return
    yield from _find_undefined(file, tree)
    yield from _find_loose(file, tree)
    yield from _find_unknown_keywords(file, tree)


def _compile(file: RenderedFile) -> ast.Module:
    """Return the syntax tree; a SyntaxWarning, such as a bad escape, is an error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        warnings.simplefilter("error", DeprecationWarning)
        tree = ast.parse(file.text, filename=file.name)
        compile(tree, file.name, "exec", dont_inherit=True)
    return tree


def _find_undefined(file: RenderedFile, tree: ast.Module) -> Iterator[Finding]:
    from pyflakes.checker import Checker  # noqa: PLC0415 - a third of a small bundle's check

    for message in Checker(tree, filename=file.name).messages:
        if type(message).__name__ in _UNDEFINED:
            name = message.message_args[0]
            yield _at(file, message.lineno, UNDEFINED_NAME, name=name)


def _find_loose(file: RenderedFile, tree: ast.Module) -> Iterator[Finding]:
    """Yield each statement that values have changed, but for constants that are one literal.

    `file.neutral` is the same template with an ellipsis in place of every value. So the statements
    of both must be equal, apart from the literals that stand where it has an ellipsis.
    """
    for number, line in enumerate(file.text.split("\n")[:2], start=1):
        if _COOKIE.match(line):
            yield _at(file, number, LOOSE_VALUE, "encoding")
    try:
        neutral = ast.parse(file.neutral or "")
    except SyntaxError as error:
        yield _at(file, error.lineno or 1, LOOSE_VALUE, "outside")
        return
    for found, expected in zip_longest(tree.body, neutral.body):
        if found is None:
            yield _at(file, 1, LOOSE_VALUE, "removed")
            return
        name = _rendered_constant(expected)
        if name is None:
            if expected is None or ast.dump(found) != ast.dump(expected):
                yield _at(file, found.lineno, LOOSE_VALUE, "changed")
                return
        elif _constant_name(found) != name or not _is_literal(found):
            yield _at(file, found.lineno, LOOSE_VALUE, "literal", name=name)
            return


def _rendered_constant(statement: ast.stmt | None) -> str | None:
    """Return the name of the constant if the statement is `NAME = ...`, with an ellipsis."""
    match statement:
        case ast.Assign(value=ast.Constant(value=value)) if value is Ellipsis:
            return _constant_name(statement)
        case _:
            return None


def _constant_name(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
            return name
        case _:
            return None


def _is_literal(statement: ast.stmt) -> bool:
    """Return whether the right-hand side is plain data."""
    try:
        ast.literal_eval(statement.value)  # type: ignore[attr-defined]
    except (ValueError, TypeError, MemoryError, RecursionError):
        return False
    return True


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if name.isupper():
                    yield name, value


def _find_unknown_keywords(file: RenderedFile, tree: ast.Module) -> Iterator[Finding]:
    """Yield keyword names that the class being constructed does not take."""
    classes = {name: keys for name, keys in read_keys()["python"].items() if name in file.text}
    if not classes:
        return
    blocks = dict(_constants(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := _called(node.func)) in classes:
            for keyword in node.keywords:
                for key in _keyword_names(keyword, blocks):
                    if key not in classes[name]:
                        yield _at(file, node.lineno, UNKNOWN_KEY, "argument", name=name, key=key)


def _called(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _keyword_names(keyword: ast.keyword, blocks: dict[str, ast.expr]) -> Iterator[str]:
    """Yield the name of a keyword, or the keys of the literal dict that `**` unpacks."""
    if keyword.arg is not None:
        yield keyword.arg
        return
    value: ast.expr | None = keyword.value
    if isinstance(value, ast.Name):
        value = blocks.get(value.id)
    if isinstance(value, ast.Dict):
        for key in value.keys:
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value


def _at(
    file: RenderedFile, line: int, explanation: Explanation, why: str = "", **values: str
) -> Finding:
    return explanation.finding(message=why, fix=(), file=file.name, line=line, **values)


def _first_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return ascii((text or type(error).__name__).partition("\n")[0])[1:-1]
