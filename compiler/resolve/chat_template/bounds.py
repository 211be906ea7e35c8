"""Bounds on a chat template: too large texts and structures are rejected before they are built."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

#: The maximum characters of a template's text, and items of a structure that it prints.
MOST_CHARS: Final = 64 * 1024 * 1024
MOST_ITEMS: Final = 1_000_000
_MOST_COLUMNS: Final = 100_000
_WIDE: Final = re.compile(r"\d{5}|\*")
#: Jinja's filters that can produce large results from small inputs; others are not wrapped.
GROWING: Final = (
    *("replace", "join", "format", "indent", "center", "batch", "slice", "wordwrap", "urlize"),
    *("string", "tojson", "pprint", "truncate"),
)
#: The filter that replaces `~`; templates cannot name it because of the space.
JOINED: Final = "joined text"


class BoundError(Exception):
    """The template exceeds what any conversation needs."""


class Joins(NodeTransformer):
    """Replaces the operator `~`, which joins texts, by the bounded filter."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja's name
        """Return the filter applied to the joined parts."""
        self.generic_visit(node)
        parts = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(parts, JOINED, [], [], None, None, lineno=node.lineno)


def limit_items(value: Any) -> Any:
    """Return the value, unless printing it would give too many items."""
    left, count = [value], 0
    while left:
        item = left.pop()
        inner: Iterable[Any] = ()
        if isinstance(item, Mapping):
            inner = item.values()
        elif isinstance(item, list | tuple | set):
            inner = item
        else:
            continue
        count += len(item)
        if count > MOST_ITEMS:
            raise BoundError("the template prints too much at once")
        left += inner
    return value


def limit_operation(operator: str, left: Any, right: Any) -> None:
    """Raise BoundError if a product, a power, a sum or a format would be too large."""
    sizes = [len(n) if hasattr(n, "__len__") else 1 for n in (left, right)]
    most = MOST_CHARS if isinstance(left, str) or isinstance(right, str) else MOST_ITEMS
    if operator == "+":
        if sum(sizes) > most:
            raise BoundError("the template adds without bound")
    elif operator == "%":
        if isinstance(left, str) and _WIDE.search(left):
            raise BoundError("the template formats too widely")
    else:
        times = max((abs(n) for n in (left, right) if isinstance(n, int)), default=1)
        size = sizes[0] * sizes[1]
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if size * times > most and not (operator == "*" and numbers):
            raise BoundError("the template multiplies without bound")


def limit_method(text: str, name: str, arguments: Sequence[Any]) -> None:
    """Raise BoundError if the result of a text's method would be too large."""
    if name in ("format", "format_map"):
        if _WIDE.search(text):
            raise BoundError("the template formats too widely")
    elif name == "replace" and len(arguments) > 1:
        _hold_replace(text, arguments[0], arguments[1])
    elif name == "join" and arguments and hasattr(arguments[0], "__len__"):
        _hold_join(text, arguments[0])
    elif name in ("center", "ljust", "rjust", "zfill", "expandtabs"):
        widest = max((n for n in arguments if isinstance(n, int)), default=0)
        _hold((len(text) if name == "expandtabs" else 1) * widest)


def limit_filter(name: str, value: Any, arguments: Sequence[Any]) -> None:
    """Raise BoundError if the result of a Jinja filter would be too large."""
    widest = max((n for n in arguments if isinstance(n, int)), default=0)
    if name == "replace" and len(arguments) > 1:
        _hold_replace(str(value), arguments[0], arguments[1])
    elif name == "join":
        items = list(value) if not hasattr(value, "__len__") else value
        _hold_join(str(arguments[0]) if arguments else "", items)
    elif name == "format" and _WIDE.search(str(value)):
        raise BoundError("the template formats too widely")
    elif name == "indent":
        _hold((str(value).count("\n") + 1) * widest)
    elif widest > _MOST_COLUMNS:
        raise BoundError("the template pads without bound")
    elif name in ("string", "tojson", "pprint"):
        limit_items(value)


def guard_filter(name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that checks its arguments first."""
    asked = bool(getattr(found, "jinja_pass_arg", None))

    def guarded(*arguments: Any, **named: Any) -> Any:
        value, *rest = arguments[asked:]
        limit_filter(name, value, [*rest, *named.values()])
        return found(*arguments, **named)

    guarded.__dict__.update(getattr(found, "__dict__", {}))  # which of them take the environment
    return guarded


def join_texts(_context: Any, items: Sequence[Any]) -> str:
    """Return the joined parts, as `~` does."""
    texts = [str(limit_items(item)) for item in items]
    _hold(sum(map(len, texts)))
    return "".join(texts)


def _hold_replace(text: str, old: Any, new: Any) -> None:
    if isinstance(old, str) and isinstance(new, str):
        _hold(len(text) + text.count(old) * len(new))


def _hold_join(between: str, items: Any) -> None:
    total = len(between) * len(items)
    _hold(total)
    for item in items:
        total += len(item) if isinstance(item, str) else 1
        _hold(total)


def _hold(chars: int) -> None:
    if chars > MOST_CHARS:
        raise BoundError("the template makes too long a text")
