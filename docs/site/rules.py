"""The pages of the rules: one for each code of `ftc explain`, and an index by code and theme."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).parent / "checks.json"
CODE: Final = re.compile(r"FTC\d{3}")
Rows = Sequence[Mapping[str, Any]]
#: What the first digit of a code says: the order of a run.
STAGES: Final[Mapping[str, str]] = {
    "0": "The file and its keys",
    "1": "Model and tokenizer",
    "2": "Data",
    "3": "Precision and hardware",
    "4": "Memory and sharding",
    "5": "Schedule, evaluation, checkpoints",
    "6": "Export",
    "9": "What is written",
}
INTRODUCTION: Final = """\
# The rules

{codes} findings, each with a page of its own: what it is, why it matters, an example, and what to
use instead. `ftc explain CODE` prints the same pages; `ftc check` reports the findings of a spec.

* [By code](#by-code)
* [By theme](#by-theme): common problems, in eighteen themes
* [Check by check](#check-by-check): {checks} checks that users ask for, and what covers each
"""
CHECKS_SAY: Final = """\
The checks C1 to C96 come from issues and from the checks of other trainers. The third column says
how each is covered. *finding*: `ftc check` reports it with the codes named. *built in*: no spec can
cause it, and what prevents it is named. *waits*: it is about a feature, which is named, that the
spec language does not have yet.

`tests/test_checks_table.py` holds this table, whose source is `docs/site/checks.json`.
`tests/end_to_end/whole/test_themes.py` starts from a spec of each theme, and
`tests/end_to_end/faults/test_real_failures.py` shows for ten of them that the failure is real."""


def read_table() -> Mapping[str, Any]:
    """Return the themes, and the field's checks with what answers each."""
    table: Mapping[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def make_pages(codes: Rows, table: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the text of every page by its name, from the entries of `ftc explain --list`."""
    pages = {f"{entry['code']}.md": rule_page(entry, table["checks"]) for entry in codes}
    return {"index.md": "\n".join(index(codes, table)) + "\n", **pages}


def rule_page(entry: Mapping[str, Any], checks: Rows) -> str:
    """Return the page of a code: what `ftc explain` prints, and the checks that it answers."""
    answered = [row for row in checks if entry["code"] in CODE.findall(row["by"])]
    lines = [
        f"# {entry['code']} {entry['name']}",
        "",
        f"*{entry['severity']}* | [all rules](index.md)",
        "",
        entry["text"],
    ]
    if answered:
        lines += ["", "**Seen in**", ""]
        lines += [f"* {row['number']}, {row['what']}: {row['seen']}" for row in answered]
    return "\n".join(lines) + "\n"


def index(codes: Rows, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the index."""
    checks = table["checks"]
    yield INTRODUCTION.format(codes=len(codes), checks=len(checks))
    yield "## By code"
    for digit, title in STAGES.items():
        yield from ("", f"### {digit}xx: {title}", "", "| code | name | | what it is |")
        yield "| --- | --- | --- | --- |"
        for entry in (each for each in codes if each["code"][3] == digit):
            cells = (link(entry["code"]), entry["name"], entry["severity"], gist(entry["text"]))
            yield f"| {' | '.join(cells)} |"
    yield from ("", "## By theme", "", "| theme | | checks | covered by |")
    yield "| --- | --- | --- | --- |"
    for theme in table["themes"]:
        rows = [row for row in checks if row["theme"] == theme["letter"]]
        numbers = ", ".join(row["number"] for row in rows)
        yield f"| {theme['letter']} | {theme['title']} | {numbers} | {answers(theme, rows)} |"
    yield from ("", "## Check by check", "", CHECKS_SAY)
    for theme in table["themes"]:
        rows = [row for row in checks if row["theme"] == theme["letter"]]
        if not rows:
            continue
        yield from ("", f"### {theme['letter']}. {theme['title']}", "")
        yield "| check | what goes wrong | how | by | seen in |"
        yield "| --- | --- | --- | --- | --- |"
        for row in rows:
            checked = (row["number"], row["what"], row["how"], link(row["by"]), row["seen"])
            yield f"| {' | '.join(checked)} |"


def answers(theme: Mapping[str, Any], rows: Rows) -> str:
    """Return the findings of a theme, and how many of its checks need none or wait."""
    if "answer" in theme:
        return link(theme["answer"])
    found = sorted({code for row in rows for code in CODE.findall(row["by"])})
    parts = [", ".join(map(link, found))] if found else []
    for how, word in {"built in": "built in", "waits": "waiting"}.items():
        count = sum(row["how"] == how for row in rows)
        parts += [f"{count} {word}"] if count else []
    return "; ".join(parts)


def link(text: str) -> str:
    """Link every code of a text to its page."""
    return CODE.sub(r"[\g<0>](\g<0>.md)", text)


def gist(text: str) -> str:
    """Return what a page says that its finding is, as one cell of a table."""
    first = " ".join(text.split("\n\n", 1)[0].split())
    return first.removeprefix("**What it is.** ").replace("|", "\\|")
