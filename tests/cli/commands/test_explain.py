"""`ftc explain` and `ftc schema`."""

import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from ftc.catalogue import PAGES
from ftc.spec.page import Page
from ftc.spec.schema import fields

Call = Callable[..., Any]

KNOWN = re.compile(r"FTC[0-69]\d\d")  # no floor has 700 or 800


def test_codes_are_unique_and_in_range() -> None:
    """No two pages share a code or a name, whichever floor they come from."""
    assert len({page.code for page in PAGES}) == len(PAGES)
    assert len({page.name for page in PAGES}) == len(PAGES)
    assert all(KNOWN.fullmatch(page.code) for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_every_page_has_its_parts(call: Call, page: Page) -> None:
    """What, why, an example, and what to use instead; by code and by name, in any case."""
    result = call("explain", page.code.lower())
    assert result.code == 0
    assert result.out == call("explain", page.name).out
    for part in ("What it is", "Why it matters", "Example", "Use instead"):
        assert part in result.out


@pytest.mark.parametrize("name", [field.name for field in fields()])
def test_every_field_has_a_page(call: Call, name: str) -> None:
    """By its dotted name and by its pointer, with its presence and an example."""
    result = call("explain", name)
    assert result.code == 0
    assert result.out == call("explain", "/" + name.replace(".", "/")).out
    assert re.search(r"^presence: (required|default )", result.out, re.MULTILINE)


def test_did_you_mean(call: Call) -> None:
    """A near miss is named; exit code 2."""
    result = call("explain", "model.revison")
    assert result.code == 2
    assert "Did you mean `model.revision`?" in result.err


def test_the_list(call: Call) -> None:
    """Every code and every field, as text and as JSON."""
    names = [page.code for page in PAGES] + [field.name for field in fields()]
    lines = call("explain", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == names
    entries = json.loads(call("explain", "--list", "--format", "json").out)["entries"]
    assert [entry.get("code") or entry["field"] for entry in entries] == names


def test_the_schema_is_one(call: Call) -> None:
    """What `ftc schema` prints is a schema of its draft, and refuses an unknown key."""
    schema = json.loads(call("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"name": "a", "model": "m", "data": "d", "extra": 1}, schema)
