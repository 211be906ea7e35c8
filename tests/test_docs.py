"""The reference pages say what `ftc explain` says; `--update-golden` rewrites them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ftc.commands.explain import command

DOCS = Path(__file__).resolve().parent.parent / "docs"


def entries() -> list[Mapping[str, Any]]:
    """Return every entry of `ftc explain --list --format json`."""
    done = CliRunner().invoke(command, ["--list", "--format", "json"])
    listed: list[Mapping[str, Any]] = json.loads(done.stdout)["entries"]
    return listed


def fields_page(listed: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page of fields."""
    yield "# The language, field by field"
    for entry in (each for each in listed if each["kind"] == "field"):
        presence = "required" if entry["required"] else f"default `{json.dumps(entry['default'])}`"
        values = ", ".join(f"`{value}`" for value in entry["values"])
        examples = ", ".join(f"`{json.dumps(one)}`" for one in entry["examples"])
        yield from ("", f"## {entry['field']}", "", entry["text"], "", f"* {presence}")
        yield from (f"* values: {values}",) if values else ()
        yield from (f"* examples: {examples}",) if examples else ()


def findings_page(listed: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page of findings."""
    yield "# The findings, code by code"
    for entry in (each for each in listed if each["kind"] == "code"):
        yield from ("", f"## {entry['code']} {entry['name']} ({entry['severity']})", "")
        yield entry["text"]


@pytest.mark.parametrize(
    ("name", "make"), [("fields.md", fields_page), ("findings.md", findings_page)]
)
def test_reference_page_says_what_explain_says(
    name: str, make: Any, *, update_golden: bool
) -> None:
    """The committed page is what the schema and the catalogue give today."""
    expected = "\n".join(make(entries())) + "\n"
    page = DOCS / name
    if update_golden:
        page.write_text(expected, encoding="utf-8")

    assert page.read_text(encoding="utf-8") == expected
