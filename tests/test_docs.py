"""The reference pages say what `ftc explain` says; `--update-golden` rewrites them."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from ftc.commands.explain import command
from tests.rule_pages import CODE, RULES, STAGES, TABLE, make_pages, read_table

ROOT = Path(__file__).resolve().parent.parent
FIELDS = ROOT / "docs" / "fields.md"


def entries(kind: str) -> list[Mapping[str, Any]]:
    """Return the entries of one kind of `ftc explain --list --format json`."""
    done = CliRunner().invoke(command, ["--list", "--format", "json"])
    listed: list[Mapping[str, Any]] = json.loads(done.stdout)["entries"]
    return [entry for entry in listed if entry["kind"] == kind]


def fields_page() -> Iterator[str]:
    """Yield the lines of the page of fields."""
    yield "# The language, field by field"
    for entry in entries("field"):
        presence = "required" if entry["required"] else f"default `{json.dumps(entry['default'])}`"
        values = ", ".join(f"`{value}`" for value in entry["values"])
        examples = ", ".join(f"`{json.dumps(one)}`" for one in entry["examples"])
        yield from ("", f"## {entry['field']}", "", entry["text"], "", f"* {presence}")
        yield from (f"* values: {values}",) if values else ()
        yield from (f"* examples: {examples}",) if examples else ()


def test_the_page_of_fields_says_what_explain_says(*, update_golden: bool) -> None:
    """The committed page is what the schema gives today."""
    expected = "\n".join(fields_page()) + "\n"
    if update_golden:
        FIELDS.write_text(expected, encoding="utf-8")

    assert FIELDS.read_text(encoding="utf-8") == expected


def test_the_pages_of_rules_say_what_explain_says(*, update_golden: bool) -> None:
    """One page for each code and an index, from the catalogue and the table; none is left over."""
    expected = make_pages(entries("code"), read_table())
    if update_golden:
        for path in RULES.glob("*.md"):
            path.unlink()
        for name, text in expected.items():
            (RULES / name).write_text(text, encoding="utf-8")

    committed = {path.name: path.read_text(encoding="utf-8") for path in RULES.glob("*.md")}
    assert sorted(committed) == sorted(expected), "run `make docs`"
    assert committed == expected, "run `make docs`"
    assert {path.name for path in RULES.iterdir()} == {*expected, TABLE.name}


def test_every_code_stands_in_the_index() -> None:
    """Under the stage that its first digit names."""
    index = (RULES / "README.md").read_text(encoding="utf-8")
    codes = {entry["code"] for entry in entries("code")}
    assert {code[3] for code in codes} == set(STAGES)
    assert set(re.findall(r"^\| \[(FTC\d{3})\]\(\1\.md\) \|", index, re.MULTILINE)) == codes


def test_links_of_the_rules_lead_somewhere() -> None:
    """Pages that exist, and sections of the index."""
    for page in RULES.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            file, _, anchor = target.partition("#")
            if file.startswith("http"):
                continue
            assert not file or (RULES / file).is_file(), (page.name, target)
            assert not anchor or file or anchor in anchors, (page.name, target)


def test_the_readme_leads_to_the_rules() -> None:
    """And to no page of findings that is not there any more."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/rules/README.md)" in readme
    for target in re.findall(r"\]\((docs/[^)#]+)", readme):
        assert (ROOT / target).exists(), target
    assert CODE.search(readme)
