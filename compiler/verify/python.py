"""Generated Python: it compiles, its names are defined, and values stay in their places."""

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator
from io import StringIO

from ftc.compiler.render.file import RenderedFile
from ftc.compiler.verify.keys import read_keys
from ftc.compiler.verify.origin import find_foreign, read_template
from ftc.compiler.verify.pages import LOOSE_VALUE, UNDEFINED_NAME, UNKNOWN_KEY, UNPARSABLE
from ftc.spec.finding import Finding
from ftc.spec.page import Page

_REPORT = "report this as a defect of ftc, with the spec"
_UNDEFINED = frozenset({"UndefinedName", "UndefinedLocal", "UndefinedExport"})
# PEP 263: a comment in the first two lines that sets the encoding of the file.
_COOKIE = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+")
_COLLECTIONS = (ast.List, ast.Tuple, ast.Dict, ast.Set)


def verify_python(file: RenderedFile) -> Iterator[Finding]:
    """Yield every defect of one script; one that does not compile has no other."""
    try:
        tree = _compile(file)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        yield _at(file, line, UNPARSABLE, f"does not compile: {_first_line(error)}")
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
            yield _at(file, message.lineno, UNDEFINED_NAME, f"`{name}` is not defined")


def _find_loose(file: RenderedFile, tree: ast.Module) -> Iterator[Finding]:
    for number, line in enumerate(file.text.split("\n")[:2], start=1):
        if _COOKIE.match(line):
            yield _at(file, number, LOOSE_VALUE, "a comment sets the encoding of the file")
    template = read_template(file.name)
    lines: set[int] = set()
    for name, value in _constants(tree):
        rendered = name in template.constants if template else _begins_as_literal(value)
        if rendered:
            lines.update(range(value.lineno, (value.end_lineno or value.lineno) + 1))
        if rendered and not _is_whole_literal(value):
            yield _at(file, value.lineno, LOOSE_VALUE, f"`{name}` is not one whole literal")
    for number in find_foreign(file.text, template, frozenset(lines)) if template else ():
        yield _at(file, number, LOOSE_VALUE, "the line is not one of the template's own")
    own = template.lines if template else frozenset[str]()
    foreign = "\n".join(line for line in file.text.split("\n") if line.rstrip() not in own)
    if not foreign.isascii() or ";" in foreign:
        yield from _find_loose_tokens(file, own)


def _find_loose_tokens(file: RenderedFile, own: frozenset[str]) -> Iterator[Finding]:
    """Yield what needs tokens to be told from a comment; `own` are the template's lines."""
    for token in tokenize.generate_tokens(StringIO(file.text).readline):
        if token.type == tokenize.COMMENT or token.line.rstrip() in own:
            continue
        if token.type == tokenize.OP and token.string == ";":
            yield _at(file, token.start[0], LOOSE_VALUE, "two statements stand on one line")
        elif not token.string.isascii():
            why = "a character outside of ASCII stands outside of a comment"
            yield _at(file, token.start[0], LOOSE_VALUE, why)


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name.isupper():
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if name.isupper():
                    yield name, value


def _begins_as_literal(value: ast.expr) -> bool:
    """Say whether the first token is that of a literal, as a rendered value's always is."""
    first: ast.expr = value
    while True:
        match first:
            case ast.BinOp(left=inner) | ast.Compare(left=inner) | ast.IfExp(body=inner):
                first = inner
            case ast.Call(func=inner) | ast.Attribute(value=inner) | ast.Subscript(value=inner):
                first = inner
            case ast.BoolOp(values=[inner, *_]):
                first = inner
            case ast.UnaryOp(operand=inner):
                first = inner
            case _:
                break
    return isinstance(first, (ast.Constant, ast.JoinedStr, *_COLLECTIONS))


def _is_whole_literal(value: ast.expr) -> bool:
    """Say whether the value is plain data, or arithmetic in which only numbers occur."""
    match value:
        case ast.Constant():
            return True
        case ast.UnaryOp() | ast.BinOp():
            return all(map(_is_arithmetic, ast.walk(value)))
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(map(_is_whole_literal, items))
        case ast.Dict(keys=keys, values=values):
            inside = [*keys, *values]
            return all(item is not None and _is_whole_literal(item) for item in inside)
        case _:
            return False


def _is_arithmetic(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in {int, float}
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)


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
                        why = f"`{name}` of the pinned library does not take `{key}`"
                        yield _at(file, node.lineno, UNKNOWN_KEY, why)


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


def _at(file: RenderedFile, line: int, page: Page, why: str) -> Finding:
    return page.finding(message=f"`{file.name}`, line {line}: {why}", help=_REPORT)


def _first_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return ascii((text or type(error).__name__).partition("\n")[0])[1:-1]
