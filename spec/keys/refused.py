"""Keys that ask for what ftc does not support, by their name or their value."""

from collections.abc import Sequence
from typing import Any

from ftc.spec.findings.explanations import UNSUPPORTED_FIELD, UNSUPPORTED_VALUE
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote, shown
from ftc.spec.keys.moving import Meant
from ftc.spec.message import Message
from ftc.spec.pointer import dotted, parent, split
from ftc.spec.schema import Schema, advise_against, fields_by_pointer, read_unsupported
from ftc.spec.values.nearest import find_alike


def find_advice(pointer: str) -> Message | None:
    """Return the sentence about a key that ftc does not support, or None."""
    return Message(f"unsupported.{pointer}") if pointer in read_unsupported()["keys"] else None


def refuse_value(value: Any, here: str, places: Sequence[str]) -> Finding | None:
    """Report a key whose value is a word that ftc does not support in the fields that it names."""
    advice = next(filter(None, (_unsupported_value(value, each) for each in places)), None)
    if advice is None:
        return None
    return UNSUPPORTED_VALUE.finding(
        pointer=here, name=shown(dotted(here)), value=quote(value), meant="", advice=advice
    )


def refuse_word(value: Any, here: str, schema: Schema, named: Meant | None) -> Finding | None:
    """Report a key that is turned on, or has a value, which ftc does not support as a word.

    It is a word of a field of the section; at the top of a spec a key is one of any field.
    """
    pointer = parent(here)
    if named is not None and pointer and named.pointer.startswith(f"{pointer}/"):
        return None
    if not pointer and value is not True:
        return None
    word = split(here)[-1] if value is True else value
    whole = () if pointer else (each.removesuffix("/*") for each in read_unsupported()["values"])
    fields_of = (*(f"{pointer}/{name}" for name in schema["properties"]), *whole)
    advice = next(filter(None, (_unsupported_value(word, each) for each in fields_of)), None)
    if advice is None:
        return None
    name = shown(dotted(here))
    if value is True:
        return UNSUPPORTED_FIELD.finding(pointer=here, name=name, meant="", advice=advice)
    return UNSUPPORTED_VALUE.finding(
        pointer=here, name=name, value=quote(value), meant="", advice=advice
    )


def _unsupported_value(value: Any, pointer: str) -> Message | None:
    """Return the sentence about an unsupported value, also in a list or a short form, or None."""
    if not isinstance(value, str) or pointer not in fields_by_pointer():
        return None
    short = fields_by_pointer()[pointer].schema.get("x-short")
    field = f"{pointer}/{short}" if short else pointer
    for pattern in (field, f"{field}/*"):
        word = find_alike(value, read_unsupported()["values"].get(pattern, ()))
        if word is not None:
            return Message(advise_against(pattern, word))
    return None
