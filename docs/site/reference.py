"""The pages of the fields of a spec and of the glossary."""

import json
from collections.abc import Iterator

from docs.site.entries import list_entries

_FIELDS = """\
# The fields of a spec

Most specs need `name`, `model`, `data`, `hardware` and `method`. ftc decides every other field, and
says why. `ftc explain FIELD` prints the same text as this page; `ftc schema` prints the JSON Schema
for editors.
"""
_TERMS = """\
# Glossary

`ftc explain TERM` prints the same text, such as `ftc explain ZeRO-3`.
"""


def fields_page() -> str:
    """Return the page of fields, in the order of the schema."""
    return "\n".join((_FIELDS, *_field_lines())) + "\n"


def _field_lines() -> Iterator[str]:
    section = ""
    for entry in list_entries("field"):
        name = entry["field"]
        if name.partition(".")[0] != section:
            section = name.partition(".")[0]
            yield from (f"## {section}", "")
        if "." in name:
            yield from (f"### {name}", "")
        presence = "required" if entry["required"] else f"default `{json.dumps(entry['default'])}`"
        values = ", ".join(f"`{value}`" for value in entry["values"])
        examples = ", ".join(f"`{json.dumps(one)}`" for one in entry["examples"])
        yield from (entry["text"], "", f"* {presence}")
        yield from (f"* values: {values}",) if values else ()
        yield from (f"* examples: {examples}",) if examples else ()
        yield ""


def glossary_page() -> str:
    """Return the page of terms, in alphabetical order."""
    lines = [_TERMS]
    for entry in sorted(list_entries("term"), key=lambda each: each["term"].casefold()):
        also = ", ".join(entry["also"])
        lines += [f"## {entry['term']}", "", *([f"*Also: {also}*", ""] if also else [])]
        lines += [entry["text"], ""]
    return "\n".join(lines)
