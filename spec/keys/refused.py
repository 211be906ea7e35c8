"""Keys that ask for what ftc does not support, by their name or their value."""

from collections.abc import Mapping, Sequence
from typing import Any

from ftc.spec.findings.explanations import UNSUPPORTED_FIELD, UNSUPPORTED_VALUE
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import quote, shown
from ftc.spec.keys.moving import ABSENT, Meant, read
from ftc.spec.message import Message
from ftc.spec.pointer import dotted, parent, split
from ftc.spec.schema import Schema, advise_against, fields_by_pointer, read_unsupported
from ftc.spec.values.nearest import find_alike


def find_advice(pointer: str) -> Message | None:
    """Return the sentence about a key that ftc does not support, or None."""
    return Message(f"unsupported.{pointer}") if pointer in read_unsupported()["keys"] else None


def leave_out_needless(value: Any, here: str, place: str) -> tuple[dict[str, Any], ...]:
    """Return the fix that removes a key whose value is what ftc does by default."""
    needless = read_unsupported()["needless_keys"]
    is_needless = place in needless and value == needless[place]
    return ({"op": "remove", "path": here},) if is_needless else ()


def refuse_value(
    value: Any, here: str, places: Sequence[str], data: Mapping[str, Any]
) -> Finding | None:
    """Report a key whose value is an unsupported word of the fields that the key names."""
    found = next(filter(None, (_find_unsupported(value, each) for each in places)), None)
    return None if found is None else _report(found, here, data, value=value)


def refuse_word(
    value: Any, here: str, schema: Schema, named: Meant | None, data: Mapping[str, Any]
) -> Finding | None:
    """Report a key that is, or whose value is, an unsupported word of a field.

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
    found = next(filter(None, (_find_unsupported(word, each) for each in fields_of)), None)
    return None if found is None else _report(found, here, data, value=value)


def _report(found: tuple[str, str], here: str, data: Mapping[str, Any], *, value: Any) -> Finding:
    """Report an unsupported word; the fix removes one that the field already states in detail.

    An example is `gguf` beside types of GGUF.
    """
    pattern, word = found
    table = read_unsupported()
    beside = read(data, pattern.removesuffix("/*")) not in (ABSENT, [])
    needless = table["values"][pattern][word] in table["needless_beside"].get(pattern, ())
    fix = ({"op": "remove", "path": here},) if beside and needless else ()
    name, advice = shown(dotted(here)), Message(advise_against(pattern, word))
    if value is True:
        return UNSUPPORTED_FIELD.finding(pointer=here, fix=fix, name=name, meant="", advice=advice)
    return UNSUPPORTED_VALUE.finding(
        pointer=here, fix=fix, name=name, value=quote(value), meant="", advice=advice
    )


def _find_unsupported(value: Any, pointer: str) -> tuple[str, str] | None:
    """Return the pattern of a field and its unsupported word for a value, or None."""
    if not isinstance(value, str) or pointer not in fields_by_pointer():
        return None
    short = fields_by_pointer()[pointer].schema.get("x-short")
    field = f"{pointer}/{short}" if short else pointer
    for pattern in (field, f"{field}/*"):
        word = find_alike(value, read_unsupported()["values"].get(pattern, ()))
        if word is not None:
            return pattern, word
    return None
