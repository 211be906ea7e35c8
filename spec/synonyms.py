"""What other programs call the words of ftc: `x-words` of the schema."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from ftc.spec.expectation import words_of
from ftc.spec.nearest import plain
from ftc.spec.schema import Schema, fields


def find_synonym(value: Any, schema: Schema) -> str | None:
    """Return the field's word for what other programs write as this value: `k8s`, or true."""
    if not isinstance(value, str | bool):
        return None
    said = json.dumps(value) if isinstance(value, bool) else value
    return _synonyms(json.dumps(schema.get("x-words", {}))).get(plain(said))


def find_word(key: str, schema: Schema) -> str | None:
    """Return the field's word that a key is, as in `"bf16": true`."""
    word = key.casefold()
    return word if word in words_of(schema) else find_synonym(word, schema)


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
            owners.setdefault(said, set()).add((field.pointer, word))
    return {said: min(found) for said, found in owners.items() if len(found) == 1}


@cache
def _synonyms(words: str) -> Mapping[str, str]:
    return {plain(said): word for said, word in json.loads(words).items()}
