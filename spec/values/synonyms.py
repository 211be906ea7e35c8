"""Other programs' names for the values of ftc: `x-words` and `x-on` of the schema."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from ftc.spec.schema import Schema, branches, fields, fields_by_pointer, object_form, read_schema
from ftc.spec.values.expectation import words_of
from ftc.spec.values.nearest import find_alike, plain

#: Words that are booleans in YAML 1.1 and text in the core schema of YAML 1.2.
SWITCHES: Final = {"yes": True, "on": True, "y": True, "no": False, "off": False, "n": False}
#: The endings of the names of groups of settings.
_OF_SETTINGS: Final = re.compile(
    r"_?(?:config|configuration|args|arguments|params|parameters|settings|options|kwargs)$"
)


def find_synonym(value: Any, schema: Schema) -> Any:
    """Return the field's value for another program's name of it, such as `k8s` or true.

    Returns None if the name stands for no value of the field, or for several.
    """
    found = _find(value, schema)
    return None if isinstance(found, list) else found


def find_stated(value: Any, schema: Schema) -> Any:
    """Return the value that a word stands for (`on` is true, `no` is false), or None."""
    found = find_synonym(value, schema)
    if found is None and isinstance(value, str) and value.casefold() in SWITCHES:
        found = find_synonym(SWITCHES[value.casefold()], schema)
    return found


def find_candidates(value: Any, schema: Schema) -> tuple[str, ...]:
    """Return the words that an ambiguous name such as `deepspeed` may mean; for others, none."""
    found = _find(value, schema)
    return tuple(found) if isinstance(found, list) else ()


def find_word(key: Any, schema: Schema) -> Any:
    """Return the field's word for a key or a value, such as the key of `"bf16": true`, or None."""
    word = key.casefold() if isinstance(key, str) else key
    return word if word in words_of(schema) else find_synonym(word, schema)


def switches_on(value: Any, schema: Schema) -> bool:
    """Return whether a value only says that the field is in use: true, or a word of `x-on`."""
    if isinstance(value, Mapping):
        return any(switches_on(inner, schema) for inner in value.values() if inner is not True)
    return value is True or (isinstance(value, str) and plain(value) in schema.get("x-on", ()))


def find_section(key: str, here: str = "") -> str | None:
    """Return the pointer of the section that a name like `lora_config` refers to, or None.

    `args` alone are those of the section `here`.
    """
    name = _OF_SETTINGS.sub("", key.casefold().replace("-", "_"))
    if not name and here.count("/") == 1:
        return here
    for section, schema in read_schema()["properties"].items():
        if "x-short" not in schema and object_form(schema) is None:
            continue
        short = fields_by_pointer().get(f"/{section}/{schema.get('x-short')}")
        words = words_of(short.schema) if short is not None else ()
        if name in {section, *schema.get("x-aliases", ()), *words}:
            return f"/{section}"
    return None


def find_sibling(
    value: Any, name: str, section: Mapping[str, Any], schema: Schema
) -> tuple[str, Any] | None:
    """Return the single other field of a section that a word means, with its value, or None."""
    found = {it: word for it, word in find_owners(value, section, schema).items() if it != name}
    return next(iter(found.items())) if len(found) == 1 else None


def find_owners(word: Any, section: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """Return the fields that a word means and that the section does not set, each with its value.

    These are fields with this word, lists that may hold it (added to what they hold), and fields
    that are turned on, which have this name.
    """
    if not isinstance(word, str) or word in ("auto", "none"):
        return {}
    said = {name: _meant(word, name, section.get(name), it) for name, it in _free(section, schema)}
    return {name: meant for name, meant in said.items() if meant is not None}


def _free(section: Mapping[str, Any], schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Yield the fields that a section does not set, and its lists."""
    for name, field in schema["properties"].items():
        if name not in section or isinstance(section[name], list):
            yield name, field


def _meant(word: str, name: str, present: Any, field: Schema) -> Any:
    """Return the value that a word means for a field, or None."""
    items = next((branch["items"] for branch in branches(field) if "items" in branch), None)
    if items is not None:
        found = find_alike(word, words_of(items))
        held = present if isinstance(present, list) else []
        return None if found is None or found in held else [*held, found]
    if present is not None:
        return None
    if field.get("type") == "boolean":
        return True if find_alike(word, (name, *field.get("x-aliases", ()))) else None
    meant = find_word(word, field)
    return meant if isinstance(meant, str) else None


@cache
def flags() -> Mapping[str, tuple[str, str]]:
    """Return the pointer and the word that a key with the value true means: `bf16`.

    A word that several fields accept is left out. Sections are left out too, because their short
    forms accept the words of one of their fields.
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
