"""Renders the part of Go's text/template that the TEMPLATE of a Modelfile needs.

It supports text, trim markers, `if`, `range`, `:=`, fields, literals and
FUNCTIONS; anything else raises a GoTemplateError. Values are JSON values, and a struct is a dict.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

_ACTION: Final = re.compile(
    r"""\{\{(?P<before>-(?=\s))?(?P<inside>(?:"(?:[^"\\\n]|\\.)*"|[^"`])*?)(?P<after>(?<=\s)-)?\}\}"""
)
_TOKEN: Final = re.compile(
    r"""\s*(?P<string>"(?:[^"\\\n]|\\.)*")|\s*(?P<number>\d+)(?![\w.])|\s*(?P<sign>:=|,|\()"""
    r"""|(?P<glued>\.\w+)|\s*(?P<field>\.\w+)|\s*(?P<close>\))|\s*(?P<path>\$\w*|\.)"""
    r"""|\s*(?P<word>\w+)|\s*(?P<wrong>\S)"""
)
_ESCAPES: Final = re.compile(r'"(?:[^\\]|\\["\\nrt]|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})*"')
_SPACE: Final = " \t\r\n"


class GoTemplateError(ValueError):
    """The template is not a Go template, or uses something that this module does not support."""


def _equal(first: Any, second: Any) -> bool:
    if type(first) is not type(second):
        raise GoTemplateError("values of different types are compared")
    return bool(first == second)


def _slice(items: Any, start: int = 0, end: int | None = None) -> Any:
    return items[start:end]


#: Functions for actions; `and` and `or` return the deciding argument, as in Go.
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "and": lambda *values: next((value for value in values if not value), values[-1]),
    "or": lambda *values: next((value for value in values if value), values[-1]),
    "not": lambda value: not value,
    "eq": _equal,
    "ne": lambda first, second: not _equal(first, second),
    "lt": lambda first, second: first < second,
    "le": lambda first, second: first <= second,
    "gt": lambda first, second: first > second,
    "ge": lambda first, second: first >= second,
    "len": len,
    "slice": _slice,
    "index": lambda items, key: items[key],
}


@dataclass(slots=True)
class _Node:
    """Text or an action; `body` is inside of an `if` or `range`, `other` inside of its `else`."""

    kind: str
    text: str = ""
    body: list["_Node"] = field(default_factory=list)
    other: list["_Node"] = field(default_factory=list)


def render_go(template: str, values: Mapping[str, Any]) -> str:
    """Return the template rendered with the values; raises GoTemplateError."""
    nodes = _read(template)
    try:
        return "".join(_execute(nodes, values, {"$": values}))
    except (TypeError, KeyError, IndexError, RecursionError) as error:
        raise GoTemplateError(f"the template cannot be executed: {error}") from error


@lru_cache(maxsize=64)
def _read(template: str) -> list[_Node]:
    nodes, end = _parse(_pieces(template))
    if end != "":
        raise GoTemplateError(f"`{end}` is outside of any `if` or `range`")
    return nodes


def _pieces(template: str) -> Iterator[_Node]:
    """Yield texts and actions; a trim marker removes the white space of the text beside it."""
    position, trim = 0, False
    for found in _ACTION.finditer(template):
        text = template[position : found.start()]
        text = text.lstrip(_SPACE) if trim else text
        text = text.rstrip(_SPACE) if found["before"] else text
        yield from _text(text)
        yield _Node("action", found["inside"].strip())
        position, trim = found.end(), bool(found["after"])
    yield from _text(template[position:].lstrip(_SPACE) if trim else template[position:])


def _text(text: str) -> Iterator[_Node]:
    if "{{" in text:
        raise GoTemplateError("an action is not closed")
    if text:
        yield _Node("text", text)


def _parse(pieces: Iterator[_Node]) -> tuple[list[_Node], str]:
    """Return the nodes up to the `end` or `else` that closes them, and that action's text."""
    nodes: list[_Node] = []
    for piece in pieces:
        word, _, rest = piece.text.partition(" ")
        if piece.kind == "text" or word not in ("if", "range", "else", "end"):
            nodes.append(piece)
        elif word in ("if", "range"):
            nodes.append(_parse_block(_Node(word, rest), pieces))
        else:
            return nodes, piece.text
    return nodes, ""


def _parse_block(node: _Node, pieces: Iterator[_Node]) -> _Node:
    """Fill an `if` or a `range` with the nodes up to its `end`."""
    node.body, end = _parse(pieces)
    if end.startswith("else if "):
        node.other = [_parse_block(_Node("if", end.removeprefix("else if ")), pieces)]
        return node
    if end == "else":
        node.other, end = _parse(pieces)
    if end != "end":
        raise GoTemplateError(f"an `{node.kind}` ends with `{end}`" if end else "no `end`")
    return node


def _execute(nodes: list[_Node], dot: Any, names: dict[str, Any]) -> Iterator[str]:
    """Yield the pieces of output; `names` are the variables in scope, with `$`."""
    for node in nodes:
        if node.kind == "text":
            yield node.text
        elif node.kind == "if":
            taken = node.body if _evaluate(node.text, dot, names) else node.other
            yield from _execute(taken, dot, dict(names))
        elif node.kind == "range":
            yield from _repeat(node, dot, names)
        elif ":=" in node.text:
            name, _, pipeline = node.text.partition(":=")
            names[name.strip()] = _evaluate(pipeline, dot, names)
        else:
            value = _evaluate(node.text, dot, names)
            if not isinstance(value, str) and type(value) is not int:
                raise GoTemplateError(f"`{node.text}` is neither text nor a number")
            yield str(value)


def _repeat(node: _Node, dot: Any, names: dict[str, Any]) -> Iterator[str]:
    """Yield the output of a `range` over items, with optional variables for index and item."""
    named, _, pipeline = node.text.rpartition(":=")
    variables = [name.strip() for name in named.split(",")] if named else []
    items = _evaluate(pipeline, dot, names)
    for number, item in enumerate(items):
        values = {1: [item], 2: [number, item]}.get(len(variables), [])
        yield from _execute(node.body, item, names | dict(zip(variables, values, strict=False)))
    if not items:
        yield from _execute(node.other, dot, dict(names))


def _evaluate(pipeline: str, dot: Any, names: Mapping[str, Any]) -> Any:
    """Return the value of a pipeline, which must be one call or one operand."""
    tokens = list(_tokenize(pipeline))
    value = _call(tokens, dot, names)
    if tokens:
        raise GoTemplateError(f"`{pipeline.strip()}` is neither one call nor one value")
    return value


@lru_cache(maxsize=1024)
def _tokenize(pipeline: str) -> Sequence[tuple[str, str]]:
    """Return the kind and the text of each token in reverse order, so that `pop` takes the next."""
    found = [(str(each.lastgroup), each[0].strip()) for each in _TOKEN.finditer(pipeline)]
    return found[::-1]


def _call(tokens: list[tuple[str, str]], dot: Any, names: Mapping[str, Any]) -> Any:
    """Return the value of a function and its operands, or of a lone operand."""
    if not tokens or tokens[-1][0] != "word" or tokens[-1][1] in ("true", "false"):
        return _operand(tokens, dot, names)
    word = tokens.pop()[1]
    if word not in FUNCTIONS:
        raise GoTemplateError(f"the function `{word}` is not supported")
    operands = []
    while tokens and tokens[-1][0] != "close":
        operands.append(_operand(tokens, dot, names))
    return FUNCTIONS[word](*operands)


def _operand(tokens: list[tuple[str, str]], dot: Any, names: Mapping[str, Any]) -> Any:
    """Return a literal, field, variable or parenthesized call, followed by its fields."""
    if not tokens:
        raise GoTemplateError("an action ends where a value is expected")
    kind, text = tokens.pop()
    if kind == "string":
        if not _ESCAPES.fullmatch(text):
            raise GoTemplateError(f"the string {text} has an escape that is not supported")
        return ast.literal_eval(text)
    if kind == "number":
        return int(text)
    if text in ("true", "false"):
        return text == "true"
    if kind in ("field", "glued"):
        value = dot[text[1:]]
    elif kind == "path":
        value = dot if text == "." else names[text]
    elif text == "(":
        value = _call(tokens, dot, names)
        if not tokens or tokens.pop()[0] != "close":
            raise GoTemplateError("a parenthesis is not closed")
    else:
        raise GoTemplateError(f"`{text}` is not supported")
    while tokens and tokens[-1][0] == "glued":
        value = value[tokens.pop()[1][1:]]
    return value
