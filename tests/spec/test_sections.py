"""The typed spec is what `.ci/sections.py` makes of the schema; see `--update-golden`."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ftc.spec.schema import read_schema
from ftc.spec.sections import Data, Model, Spec
from ftc.spec.validate import to_spec
from tests.generators import load_generator

ROOT = Path(__file__).parents[2]
SECTIONS = ROOT / "spec" / "sections.py"
TEXT = {"type": "string", "maxLength": 9}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """Return the module that writes the typed spec."""
    return load_generator("sections")


def with_field(**field: Any) -> dict[str, Any]:
    """Return the schema with one more optional field in `cleaning`: `extra`."""
    schema: dict[str, Any] = json.loads(json.dumps(read_schema()))
    schema["$defs"]["cleaning"]["properties"]["extra"] = field
    return schema


def test_sections_are_generated(generator: ModuleType, *, update_golden: bool) -> None:
    """The committed file is generated from the schema, byte for byte."""
    made = generator.generate(read_schema())
    if update_golden:
        SECTIONS.write_text(made, encoding="utf-8")
    assert SECTIONS.read_text(encoding="utf-8") == made, "run: make sections"


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ({"type": "boolean", "default": True}, "extra: bool = True"),
        ({"type": "number", "default": 1}, "extra: float = 1.0"),
        ({"type": "integer", "default": 1}, "extra: int = 1"),
        ({"type": ["integer", "null"], "default": None}, "extra: int | None = None"),
        (TEXT | {"default": "a\"b'\\"}, r"""extra: str = "a\"b'\\" """.rstrip()),
        (
            {"anyOf": [{"const": "auto"}, {"type": "number"}], "default": "auto"},
            'extra: float | Auto = "auto"',
        ),
        (
            {"type": "string", "enum": ["auto", "x"], "default": "auto"},
            'extra: Extra | Auto = "auto"',
        ),
        (
            {"type": "string", "enum": ["x"], "x-type": "Other", "default": "x"},
            'extra: Other = "x"',
        ),
        ({"type": "string", "enum": ["fp32", "fp16"], "default": "fp16"}, 'extra: Extra = "fp16"'),
        ({"type": "array", "items": TEXT, "default": ["x"]}, 'extra: tuple[str, ...] = ("x",)'),
        (
            {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}], "default": None},
            "extra: tuple[str, ...] | None = None",
        ),
    ],
)
def test_a_field_is_declared_once(
    generator: ModuleType, field: Mapping[str, Any], line: str
) -> None:
    """One property of the schema is one attribute, with its type and its default."""
    made = generator.generate(with_field(description="What it is.", **field))

    assert f'    {line}\n    """What it is."""\n' in made
    compile(made, "sections.py", "exec")


def test_an_object_in_a_list_is_a_class(generator: ModuleType) -> None:
    """Its fields are optional unless required; an omitted list is empty."""
    pair = {
        "x-type": "Pair",
        "description": "Two of them.",
        "type": "object",
        "required": ["first"],
        "properties": {"first": TEXT, "second": TEXT, "more": {"type": "array", "items": TEXT}},
    }
    field = {"type": "array", "items": {"anyOf": [TEXT, pair]}, "default": []}

    made = generator.generate(with_field(description="Pairs.", **field))

    assert "    extra: tuple[str | Pair, ...] = ()\n" in made
    assert (
        'class Pair:\n    """Two of them."""\n\n    first: str\n'
        "    second: str | None = None\n    more: tuple[str, ...] = ()\n"
    ) in made
    assert made.index("class Pair:") < made.index("class Cleaning:")


@pytest.mark.parametrize("name", ["extra", "model"])
def test_different_types_need_different_names(generator: ModuleType, name: str) -> None:
    """One name may not be used for two lists of words, or for words and a section."""
    schema = with_field(type="string", enum=["x"], default="x")
    schema["$defs"]["splits"]["properties"][name] = {"type": "string", "enum": ["y"]}

    with pytest.raises(ValueError, match=rf"x-type for one of \['{name.title()}'\]"):
        generator.generate(schema)


def test_defaults_are_those_of_the_long_form() -> None:
    """A spec of defaults equals the smallest written spec."""
    written = {"name": "x", "model": "m", "data": "d.csv"}
    spec = to_spec(written)

    assert spec == Spec(name="x", model=Model(id="m"), data=Data(source="d.csv"), said=spec.said)
