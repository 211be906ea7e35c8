"""The schema is valid, fully annotated, and consistent with `sections`."""

import types
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from ftc.spec.message import Message
from ftc.spec.normal import normalise
from ftc.spec.schema import (
    Field,
    Schema,
    branches,
    fields,
    object_form,
    read_schema,
    read_unsupported,
)
from ftc.spec.sections import Spec
from ftc.spec.validate import to_spec
from ftc.spec.values.expectation import expectation, types_of, words_of
from ftc.spec.values.verdict import is_valid

FIELDS = tuple(fields())
NAMES = {field.name for field in FIELDS}
SMALLEST = {"name": "x", "model": "m", "data": "d.csv"}


def every_field(test: Any) -> Any:
    """Run a test for each field of the language."""
    return pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)(test)


def accepts(schema: Schema, value: Any) -> bool:
    """Whether a property, references resolved, accepts a value."""
    whole = {**schema, "$defs": read_schema()["$defs"]}
    return bool(Draft202012Validator(whole).is_valid(value))


def test_is_a_schema() -> None:
    """The schema obeys its metaschema."""
    Draft202012Validator.check_schema(read_schema())
    assert read_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@every_field
def test_annotations(field: Field) -> None:
    """Every field has words for editors, pages and the assistant."""
    schema = field.schema
    for key in ("title", "description"):
        assert schema[key].strip()
    assert schema["description"].endswith(".")
    assert schema["x-question"]["ask"].endswith("?")
    assert schema["x-question"]["why"].endswith(".")
    assert schema["examples"]
    assert expectation(schema)


@every_field
def test_default_and_examples_are_valid(field: Field) -> None:
    """An optional field has a default; defaults and examples are valid."""
    assert ("default" in field.schema) is not field.required
    if "default" in field.schema:
        assert accepts(field.schema, field.schema["default"])
    for example in field.schema["examples"]:
        assert accepts(field.schema, example)


@every_field
def test_closed_and_bounded(field: Field) -> None:
    """Objects are closed, numbers have both bounds, texts and lists have a maximum length."""
    for branch in branches(field.schema):
        kinds = types_of(branch) if "type" in branch else ()
        if "object" in kinds:
            values = branch["additionalProperties"]
            assert values is False or {"maxLength", "minimum", "maximum"} <= values.keys()
            assert values is False or "pattern" in branch["propertyNames"]
        if "enum" in branch or "const" in branch:
            continue
        if {"number", "integer"} & set(kinds):
            assert "maximum" in branch
            assert {"minimum", "exclusiveMinimum"} & branch.keys()
        if "string" in kinds and field.name != "name":
            assert "maxLength" in branch
        if "array" in kinds:
            assert "maxItems" in branch


@every_field
def test_short_form_is_a_field(field: Field) -> None:
    """A short form sets one field of its section, with the same rules."""
    if "x-short" in field.schema:
        inner = object_form(field.schema)
        assert inner is not None
        assert field.schema["x-short"] in inner["properties"]


def test_mirrors_the_sections() -> None:
    """The typed spec and the schema have the same fields, types and words."""
    seen: set[str] = set()
    walk_sections(Spec, "", seen)
    assert seen == NAMES - {"$schema", "ftc"}


def walk_sections(section: type, prefix: str, seen: set[str]) -> None:
    """Compare each field of a dataclass with the property of the same name."""
    by_name = {field.name: field for field in FIELDS}
    hints = get_type_hints(section)
    for inner in dataclass_fields(section):
        name = prefix + inner.name
        if name == "said":
            continue
        seen.add(name)
        hint = hints[inner.name]
        if isinstance(hint, type) and is_dataclass(hint):
            assert object_form(by_name[name].schema) is not None
            walk_sections(hint, f"{name}.", seen)
        else:
            words, kinds = said_by(hint)
            assert set(words_of(by_name[name].schema)) == words, name
            leaves = [leaf for leaf in branches(by_name[name].schema) if "enum" not in leaf]
            found = {kind for leaf in leaves if "const" not in leaf for kind in types_of(leaf)}
            assert found == kinds, name


def said_by(hint: Any) -> tuple[set[str], set[str]]:
    """Return the words and the JSON types of a type hint."""
    kinds = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
    origin = get_origin(hint)
    if origin is Literal:
        return set(get_args(hint)), set()
    if origin in (tuple, dict):
        return set(), {"array" if origin is tuple else "object"}
    if origin in {types.UnionType, getattr(types, "UnionType", None)} or "Union" in str(origin):
        parts = [said_by(part) for part in get_args(hint)]
        return set().union(*(p[0] for p in parts)), set().union(*(p[1] for p in parts))
    return set(), {kinds[hint]}


def test_defaults_make_a_spec() -> None:
    """The smallest spec becomes a typed one, and its defaults are the schema's."""
    spec = to_spec(SMALLEST)
    assert spec.said == {"/name", "/model", "/model/id", "/data", "/data/source"}
    long = normalise(SMALLEST)
    for field in FIELDS:
        value: Any = long
        if (
            field.name in {"$schema", "ftc", "data.source"}
            or field.required
            or object_form(field.schema)
        ):
            continue
        for key in field.name.split("."):
            value = value[key]
        assert value == field.schema["default"]


def test_chosen_defaults() -> None:
    """These are the defaults that are a choice."""
    spec = to_spec(SMALLEST)
    assert (spec.objective.type, spec.objective.loss_on) == ("sft", "completion")
    assert (spec.method.type, spec.method.dropout) == ("lora", 0.05)
    assert (spec.data.split, spec.data.splits.test, spec.data.splits.validation) == (
        "train",
        0.1,
        0.1,
    )
    assert (spec.training.weight_decay, spec.training.warmup) == (0.01, 0.03)
    assert (spec.training.seed, spec.training.keep_checkpoints) == (42, 2)
    assert (spec.hardware.gpu, spec.hardware.count, spec.export.types) == ("auto", "auto", ())


def test_what_is_unsupported_is_not_there() -> None:
    """An unsupported name is no field and no value, and its section exists."""
    unsupported = read_unsupported()
    pointers = {field.pointer: field for field in FIELDS}
    for pointer in unsupported["keys"]:
        assert pointer not in pointers
        assert pointer.rpartition("/")[0] in {"", *pointers}
        assert str(Message(f"unsupported.{pointer}"))[0].islower()
    for pattern, words in unsupported["values"].items():
        field = pointers[pattern.removesuffix("/*")]
        known = words_of(field.schema)
        for branch in branches(field.schema):
            known += words_of(branch.get("items", {})) if "items" in branch else ()
        assert known
        assert not set(words) & set(known)


def test_no_two_aliases_in_one_section() -> None:
    """An alias means one field of its section, and is not a field itself."""
    for parent in {field.pointer.rpartition("/")[0] for field in FIELDS}:
        siblings = [field for field in FIELDS if field.pointer.rpartition("/")[0] == parent]
        own = {field.pointer.rpartition("/")[2] for field in siblings}
        aliases = [alias for field in siblings for alias in field.schema.get("x-aliases", ())]
        assert len(set(aliases)) == len(aliases), parent
        assert not own & set(aliases), parent


def test_annotations_name_values_and_fields_that_are_there() -> None:
    """A field accepts its off value, and the fields and words that annotations name exist."""
    by_pointer = {field.pointer: field for field in FIELDS}
    for field in FIELDS:
        above = field.pointer.rpartition("/")[0]
        if "x-off" in field.schema:
            assert is_valid(field.schema["x-off"], field.schema), field.name
        if "x-off-at" in field.schema:
            assert "x-off" in by_pointer[field.schema["x-off-at"]].schema, field.name
        if "x-several" in field.schema:
            assert is_valid(["a"], by_pointer[f"{above}/{field.schema['x-several']}"].schema)
        if "x-on" in field.schema:
            assert "true" in field.schema["x-words"], field.name
        if "x-resource" in field.schema:
            assert f"{above}/{field.schema['x-resource']}" in by_pointer
        if "x-count" in field.schema:
            assert is_valid(2, by_pointer[f"{above}/{field.schema['x-count']}"].schema)
        if keyed := field.schema.get("x-keyed"):
            item = {keyed["name"]: "a", keyed["number"]: 1}
            assert is_valid([item], field.schema), field.name
        if product := field.schema.get("x-product"):
            assert f"{above}/{product['of']}" in by_pointer
            assert {*product["keys"], *product["shared"]} <= set(field.schema["x-aliases"])
        for word, coarser in field.schema.get("x-refines", {}).items():
            assert {word, *coarser} <= set(words_of(field.schema)), field.name


def test_a_synonym_means_a_word_of_its_field_and_is_none_itself() -> None:
    """`x-words` gives what other programs write; the field's own words need no entry.

    A list names several words, of which other programs call each so.
    """
    given = [field for field in FIELDS if "x-words" in field.schema]
    assert given
    for field in given:
        words = words_of(field.schema)
        for meant in field.schema["x-words"].values():
            for one in meant if isinstance(meant, list) else [meant]:
                fits = is_valid(one, field.schema) or is_valid([one], field.schema)
                assert fits, (field.name, one)
        assert not field.schema["x-words"].keys() & set(words), field.name
