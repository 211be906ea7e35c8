"""What other programs call the values of ftc: `x-words` and `x-on` of the schema."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.spec.expectation import words_of
from ftc.spec.nearest import plain
from ftc.spec.schema import Schema, fields


def find_synonym(value: Any, schema: Schema) -> Any:
    """Return the field's value for what other programs write as this one: `k8s`, or true.

    It is None if the field has none, or more than one.
    """
    found = _find(value, schema)
    return None if isinstance(found, list) else found


def find_candidates(value: Any, schema: Schema) -> tuple[str, ...]:
    """Return the field's words of which other programs call each by this one: `deepspeed`."""
    found = _find(value, schema)
    return tuple(found) if isinstance(found, list) else ()


def find_word(key: Any, schema: Schema) -> Any:
    """Return the field's word that a key or a value is, as in `"bf16": true`."""
    word = key.casefold() if isinstance(key, str) else key
    return word if word in words_of(schema) else find_synonym(word, schema)


def switches_on(value: Any, schema: Schema) -> bool:
    """Return whether a value says no more than that the field is in use: true, or `x-on`."""
    if isinstance(value, Mapping):
        return any(switches_on(inner, schema) for inner in value.values() if inner is not True)
    return value is True or (isinstance(value, str) and plain(value) in schema.get("x-on", ()))


@cache
def flags() -> Mapping[str, tuple[str, str]]:
    """Return the field and the word that a key with the value true means: `bf16`, `load_in_4bit`.

    Words that several fields have are left out, and sections, whose short forms have the words of a
    field.
    """
    owners: dict[str, set[tuple[str, str]]] = {}
    for field in fields():
        if "x-short" in field.schema:
            continue
        words = {word: word for word in words_of(field.schema)}
        for said, word in {**words, **field.schema.get("x-words", {})}.items():
            if isinstance(word, str):
                owners.setdefault(said, set()).add((field.pointer, word))
    return {said: min(found) for said, found in owners.items() if len(found) == 1}


def _find(value: Any, schema: Schema) -> Any:
    if value is not None and not isinstance(value, str | int):
        return None
    if "x-on" in schema and switches_on(value, schema):
        value = True
    said = value if isinstance(value, str) else json.dumps(value)
    return _synonyms(json.dumps(schema.get("x-words", {}))).get(plain(said))


@cache
def _synonyms(words: str) -> Mapping[str, Any]:
    return {plain(said): word for said, word in json.loads(words).items()}
