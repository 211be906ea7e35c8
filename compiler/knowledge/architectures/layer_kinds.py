"""The kind of each layer of a model, read from the keys of its `config.json`.

The alternation of kinds is in the configuration code of transformers, not in the tensors. The
classes of the table use the forms here. If a form finds none of its keys, if its `if` is not set,
or if its `if_many` is not above one, the next form applies. A kind whose tensors differ from others
of its name has a word after a plus sign: `dense+shared`. A form may have a list `plus` of more
forms, whose words (perhaps empty) are added to its kinds. With `earliest`, the first layers of a
kind get another word.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

__all__ = ["find_period", "plain_kind", "read_kinds"]

Form = Mapping[str, Any]
Read = Callable[[str], object]

#: transformers' configuration_utils.py, `_LEGACY_LAYER_TYPE_REMAP`.
_OLD_NAMES: Final = {
    "mamba": "linear_attention",
    "attention": "full_attention",
    "deepseek_sparse_attention": "indexed_attention",
    "qwen_sparse_attention": "indexed_attention",
}


def read_kinds(forms: Sequence[Form], read: Read, layers: int) -> tuple[str, ...] | None:
    """Return the kind of each layer by the first form whose keys exist; None if no form fits."""
    kinds = _words(forms, read, layers)
    return kinds if kinds is not None and all(kinds) else None


def find_period(pattern: Sequence[object]) -> int:
    """Return the period of a list in entries."""
    sizes = range(1, len(pattern))
    cycles = (n for n in sizes if all(x == pattern[i % n] for i, x in enumerate(pattern)))
    return next(cycles, len(pattern))


def _words(forms: Sequence[Form], read: Read, layers: int) -> tuple[str, ...] | None:
    """Return a word for each layer, with the words that the forms of `plus` add."""
    for form in forms:
        if "if" in form and not read(form["if"]):
            continue
        if "if_many" in form and _integer(read, form["if_many"]) in (0, 1):
            continue
        words = _FORMS[form["form"]](form, read, layers)
        if words is None:
            continue
        added = [_words(more, read, layers) for more in form.get("plus", ())]
        if len(words) != layers or None in added:
            return None
        words = tuple("".join(each) for each in zip(words, *filter(None, added), strict=True))
        return _mark_earliest(form["earliest"], words, read) if "earliest" in form else words
    return None


def _mark_earliest(rule: Form, words: tuple[str, ...], read: Read) -> tuple[str, ...] | None:
    """Add a word to the first layers of a kind, which have the tensors of all its layers."""
    count = _integer(read, rule["count"])
    if count is None:
        return None
    places = [layer for layer, word in enumerate(words) if word == rule["of"]][:count]
    return tuple(
        word + rule["word"] if layer in places else word for layer, word in enumerate(words)
    )


def plain_kind(kind: str) -> str:
    """Return a kind without the word that distinguishes it from others of its name."""
    return kind.partition("+")[0]


def _all(form: Form, _: Read, layers: int) -> tuple[str, ...]:
    """Return the same kind for every layer."""
    return (form["kind"],) * layers


def _list(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return the names of a list with an entry per layer, which `names` may translate.

    With `cut`, the class ignores entries beyond the last layer. With `repeat`, it repeats the list
    until every layer has an entry.
    """
    value = read(form["key"])
    if not isinstance(value, list):
        return None
    names, kept = form.get("names", {}), value[:layers] if form.get("cut") else value
    if form.get("repeat") and value:
        kept = [value[number % len(value)] for number in range(layers)]
    return tuple(str(names.get(name, name)) for name in (_current(each) for each in kept))


def _pattern(form: Form, read: Read, _: int) -> tuple[str, ...] | None:
    """Return the kinds encoded by the letters of a string."""
    value = read(form["key"])
    if not isinstance(value, str):
        return None
    return tuple(form["letters"].get(letter, "") for letter in value)


def _first(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return one kind for the first layers, whose number is in a key, and another for the rest."""
    count = _integer(read, form["key"])
    yes, no = form["kinds"]
    return None if count is None else tuple(yes if n < count else no for n in range(layers))


def _last(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return one kind for the last layers, whose number is in a key, and another for the rest."""
    count = _integer(read, form["key"])
    if count is None:
        return None
    yes, no = form["kinds"]
    return tuple(yes if n >= layers - count else no for n in range(layers))


def _period(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return a kind for every layer n with (n + shift) % period == offset, and another elsewhere.

    `from` and `to` limit the first kind to a range of layers, both ends included; the layers of
    `and` also have it.
    """
    period = _integer(read, form["period"])
    offset = _integer(read, form.get("offset", 0))
    if not period or offset is None:
        return None
    start, end = _integer(read, form.get("from", 0)), _integer(read, form.get("to", -1))
    if start is None or end is None:
        return None
    last, shift = (layers - 1 if end < 0 else end), form.get("shift", 0)
    without = read(form["except"]) if "except" in form else None
    skipped = without if isinstance(without, list) else ()
    yes, no = form["kinds"]
    return tuple(
        yes
        if ((n + shift) % period == offset and start <= n <= last and n not in skipped)
        or n in form.get("and", ())
        else no
        for n in range(layers)
    )


def _members(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return one kind for the layers whose numbers a list has, and another for the rest."""
    value = read(form["key"])
    if not isinstance(value, list):
        return None
    yes, no = form["kinds"]
    return tuple(yes if n + form.get("first", 0) in value else no for n in range(layers))


def _own(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return one kind for layers whose list entry is their own number, another for the rest.

    The others use the result of the earlier layer in their entry.
    """
    value = read(form["key"])
    if not isinstance(value, list) or len(value) != layers:
        return None
    yes, no = form["kinds"]
    return tuple(yes if source == layer else no for layer, source in enumerate(value))


def _skip(form: Form, read: Read, layers: int) -> tuple[str, ...] | None:
    """Return a kind for the first layers and then periodically, and another for those between."""
    every, start = _integer(read, form["key"]), _integer(read, form["from"])
    if every is None or start is None:
        return None
    yes, no = form["kinds"]
    return tuple(yes if max(n - start + 1, 0) % max(every, 1) == 0 else no for n in range(layers))


def _integer(read: Read, key: str | int) -> int | None:
    value = key if isinstance(key, int) else read(key)
    return value if type(value) is int else None


def _current(name: object) -> str:
    return _OLD_NAMES.get(str(name), str(name))


_FORMS: Final[Mapping[str, Callable[[Form, Read, int], tuple[str, ...] | None]]] = {
    "all": _all,
    "list": _list,
    "pattern": _pattern,
    "first": _first,
    "last": _last,
    "period": _period,
    "members": _members,
    "own": _own,
    "skip": _skip,
}
