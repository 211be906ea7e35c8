"""Every field of the schema by its names, in the notations that people write."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

import pytest

from ftc.spec.schema import Field, choices, fields, fields_by_pointer
from ftc.tui.understanding.fields.field_index import field_index, kinds_of, normalise
from ftc.tui.understanding.reader import read
from tests.tui.understanding.doubts.test_certainty import DRAFT

NOTATIONS: Final = ("{name}={value}", "{name}: {value}", "--{name} {value}")
AROUND: Final = ("{}", "keep 2 checkpoints, {}, val 6%")
BESIDE: Final = frozenset({"/training/keep_checkpoints", "/data/splits/validation"})
MOST_VALUES: Final = 3
AUTOMATIC: Final = ("auto", "none")


def settable() -> Iterator[Field]:
    """Yield the fields that hold one value, not a section or a list of objects."""
    for field in fields():
        if field.pointer.count("/") > 1 and "object" not in kinds_of(field):
            yield field


def fitting_draft(field: Field) -> Mapping[str, Any]:
    """Return a draft in which a field is read."""
    draft: dict[str, Any] = deepcopy(dict(DRAFT))
    todo = [field.pointer]
    while todo:
        for at, values in fields_by_pointer()[todo.pop()].schema.get("x-when", {}).items():
            *above, last = at[1:].split("/")
            section: Any = draft
            for key in above:
                inner = section.get(key)
                section[key] = dict(inner) if isinstance(inner, Mapping) else {}
                section = section[key]
            if section.get(last) not in values:
                section[last] = values[0]
            todo.append(at)
    return draft


def values_of(field: Field) -> list[Any]:
    """Return some values that a field admits: those of its list, and its examples."""
    texts = [each for each in choices(field.schema) if isinstance(each, str)]
    plain = [
        each for each in field.schema.get("examples", ()) if isinstance(each, str | int | float)
    ]
    words = [each for each in (*texts, *plain) if isinstance(each, bool) or " " not in str(each)]
    return list(dict.fromkeys(words))[:MOST_VALUES]


def surely_named(field: Field) -> list[str]:
    """Return the dotted name of a field, and its own where no other field has it."""
    own = field.name.rpartition(".")[2]
    alone = {each.field.pointer for each in field_index().get(own.replace("_", " "), ())}
    return [field.name, *([own] if alone == {field.pointer} and "_" in own else [])]


def in_two_tiers() -> list[Any]:
    """List the fields; every second one is tried by `make prove`."""
    return [
        pytest.param(field, id=field.name, marks=[pytest.mark.prove] if number % 2 else [])
        for number, field in enumerate(settable())
    ]


@pytest.mark.parametrize("field", in_two_tiers())
def test_a_field_is_set_by_its_name(field: Field) -> None:
    """In each notation, alone or between other settings, the field has the value and no other."""
    draft = fitting_draft(field)
    failed = []
    for value in values_of(field):
        written = str(value).lower() if isinstance(value, bool) else str(value)
        for name in surely_named(field):
            for notation in NOTATIONS:
                for around in AROUND if field.pointer not in BESIDE else AROUND[:1]:
                    text = around.format(notation.format(name=name, value=written))
                    found = {each.pointer: each.value for each in read(text, draft).changes}
                    got = found.pop(field.pointer, "nothing")
                    others = {at for at in found.keys() - BESIDE if at.rpartition("/")[2] != "type"}
                    fits = [value, [value], *([None] if value in AUTOMATIC else [])]
                    if got not in fits or others:
                        failed.append((text, got, others))
    assert not failed


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("repo acme/triage-2, merged", {"/publish/repo": "acme/triage-2"}),
        ("best checkpoint by: metric", {"/training/evaluation/best_by": "metric"}),
        ("dataset=acme/chats-20k", {"/data/source": "acme/chats-20k"}),
        ("patience = 2; seed: 11", {"/training/early_stopping": 2, "/training/seed": 11}),
        ("velocidad de aprendizaje: 3e-5", {"/training/learning_rate": 3e-5}),
        ("max_steps 400, warmup_steps 20", {"/training/warmup": 0.05}),
        ("upload=adapter+gguf", {"/publish/what": ["adapter", "gguf"]}),
        ("load_in_4bit w/ seed 5", {"/method/type": "qlora"}),
    ],
)
def test_a_name_and_a_value_set_a_field(text: str, sets: dict[str, Any]) -> None:
    """Names are those of the schema, of its titles in three languages, and of other tools."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.items() >= sets.items()


@pytest.mark.parametrize("text", ["gpus: 4090, lora", "3 gpus: 4090", "no group_by_length"])
def test_a_number_of_another_kind_is_no_value(text: str) -> None:
    """The number of a card is no count, and what is denied is not switched on."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.get("/hardware/count", 1) < 10
    assert found.get("/training/group_by_length") is not True


def test_names_are_normalised() -> None:
    """A separator in a name may be a space, a dash or an underscore."""
    assert normalise("Best_checkpoint-by") == "best checkpoint by"
