"""`ftc explain`: the page of a finding's code, of a field of the language, or of a term."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from textwrap import indent
from typing import Any, Final

import click

from ftc.commands import COMMANDS
from ftc.commands.options import format_option
from ftc.compiler.knowledge.glossary import Entry, all_entries, find_entry
from ftc.explanations import EXPLANATIONS
from ftc.report.json_output import VERSION, dump
from ftc.spec.findings.explanation import Explanation
from ftc.spec.schema import Field, branches, fields
from ftc.spec.values.expectation import words_of

#: A code without its leading zeros, or its number alone.
_BOLD: Final = re.compile(r"\*\*(.+?)\*\*")
_FENCED: Final = re.compile(r"^```\w*\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
_ALIKE: Final = 0.6
_SHORT_CODE: Final = re.compile(r"^(?:ftc)?(\d{1,3})$")
_CODE: Final = re.compile(r"ftc\d+")


@click.command(name="explain", short_help=COMMANDS["explain"])
@click.argument("topic", metavar="CODE|FIELD|TERM", required=False)
@click.option("--list", "lists", is_flag=True, help="List every code, field and term.")
@format_option("pages")
def command(topic: str | None, lists: bool, report: str) -> None:
    """Explain the code of a finding, a field of the spec, or a term.

    For example `ftc explain FTC031`, `ftc explain unknown-key`, `ftc explain model.revision`,
    `ftc explain grpo` or `ftc explain ZeRO-3`. In a terminal the page opens in a pager.
    """
    if lists == (topic is not None):
        raise click.UsageError("Give a code, a field or a term, or --list.")
    entries = [
        *map(_explanation_data, EXPLANATIONS),
        *map(_field_data, fields()),
        *map(_term_data, all_entries()),
    ]
    if topic is not None:
        entries = [_find(topic, entries)]
    if report == "json":
        click.echo(dump({"version": VERSION, "entries": entries}))
        return
    if lists:
        text = "\n".join(f"{_key(entry):<32} {_title(entry)}" for entry in entries)
    else:
        text = _unmark("\n".join(_text(entries[0])))
    if sys.stdout.isatty():
        click.echo_via_pager(f"{text}\n")
    else:
        click.echo(text)


def _unmark(text: str) -> str:
    """Return Markdown as a terminal shows it: titles without asterisks, examples indented."""
    bare = _FENCED.sub(lambda match: indent(match[1], "    "), text)
    return _BOLD.sub(r"\1", bare)


def _explanation_data(explanation: Explanation) -> Mapping[str, Any]:
    return {
        "kind": "code",
        "code": explanation.code,
        "name": explanation.name,
        "severity": explanation.severity,
        "text": explanation.text.strip(),
    }


def _field_data(field: Field) -> Mapping[str, Any]:
    """Return a field's page, with the words and keys that it or its items accept, if any."""
    schema = field.schema
    inner = [branch["items"] for branch in branches(schema) if "items" in branch]
    taken = (*branches(schema), *(branch for items in inner for branch in branches(items)))
    values = [word for branch in taken for word in branch.get("enum", ())]
    return {
        "kind": "field",
        "field": field.name,
        "title": schema["title"],
        "text": schema["description"],
        "required": field.required,
        "values": values,
        "default": schema.get("default"),
        "examples": list(schema.get("examples", ())),
        "keys": [
            key for branch in taken if branch is not schema for key in branch.get("properties", ())
        ],
    }


def _term_data(term: Entry) -> Mapping[str, Any]:
    """Return a term's page: English, like everything but the assistant."""
    return {
        "kind": "term",
        "term": term.term,
        "also": list(term.also),
        "text": term.text["en"],
    }


def _find(topic: str, entries: list[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the entry of a code, its name, a field (as a pointer too) or a term, in any case.

    A field is also found by its last name, if only one field has it.
    """
    wanted = topic.strip("/").replace("/", ".").lower()
    wanted = _SHORT_CODE.sub(lambda match: f"ftc{match[1]:0>3}", wanted)
    names = {
        name.lower(): entry
        for entry in entries
        for name in (entry.get("name"), _key(entry))
        if name
    }
    if wanted in names:
        return names[wanted]
    if (term := find_entry(topic)) is not None:
        return _term_data(term)
    last = [name for name in names if name.rpartition(".")[2] == wanted]
    if len(last) == 1:
        return names[last[0]]
    if last:
        listed = ", ".join(f"`{name}`" for name in last)
        raise click.UsageError(f"Several fields are called `{topic}`: {listed}.")
    if field := _find_value(wanted):
        return names[field]
    if len(meant := _find_alias(wanted)) == 1:
        return names[meant[0]]
    is_code = _CODE.fullmatch(wanted) is not None  # a code is like many others
    near = [] if is_code else get_close_matches(wanted, [*meant, *names], n=1, cutoff=_ALIKE)
    hint = f" Did you mean `{_key(names[near[0]])}`?" if near else ""
    raise click.UsageError(
        f"No code, field or term is called `{topic}`.{hint} `--list` names them all."
    )


def _find_value(wanted: str) -> str | None:
    """Return the field that has a word among its values, preferably one that names a section.

    Those are the types of objectives, methods and launchers, and the strategies.
    """
    found = [field.name.lower() for field in fields() if wanted in words_of(field.schema)]
    kinds = [name for name in found if name.rpartition(".")[2] in ("type", "strategy")]
    chosen = kinds or found
    return chosen[0] if len(chosen) == 1 else None


def _find_alias(wanted: str) -> list[str]:
    """Return the fields that other tools call by this name, in the given section, if any."""
    section, _, alias = wanted.rpartition(".")
    named = ((field.name, field.schema) for field in fields())
    found = [
        name
        for name, schema in named
        if alias in (*schema.get("x-aliases", ()), *schema.get("x-aliases-when", ()))
    ]
    return [name for name in found if not section or name.rpartition(".")[0] == section]


def _key(entry: Mapping[str, Any]) -> str:
    return str(entry[entry["kind"]])


def _title(entry: Mapping[str, Any]) -> str:
    match entry["kind"]:
        case "code":
            return f"{entry['severity']}: {entry['name']}"
        case "term":
            return f"also: {', '.join(entry['also'])}" if entry["also"] else "a term"
    return str(entry["title"])


def _text(entry: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_key(entry)}  {_title(entry)}"
    yield ""
    yield entry["text"]
    if entry["kind"] != "field":
        return
    yield ""
    if entry["keys"]:
        yield f"keys:     {', '.join(entry['keys'])}"
    if entry["values"]:
        yield f"values:   {', '.join(map(str, entry['values']))}"
    needed = "required" if entry["required"] else f"default {json.dumps(entry['default'])}"
    yield f"presence: {needed}"
    for example in entry["examples"]:
        yield f"example:  {json.dumps(example, ensure_ascii=False)}"
