"""The table of the field's checks: every one is there, and every finding that it names exists."""

import re
from pathlib import Path
from typing import Final

from ftc.catalogue import PAGES

TABLE: Final = Path(__file__).resolve().parent.parent / "docs" / "checks.md"
#: The numbers of the field's checks: 87, in ten groups.
NUMBERED: Final = (
    *range(1, 29), *range(30, 50), *range(50, 58), *range(60, 66), *range(70, 75), *range(80, 97)
)  # fmt: skip
LETTERED: Final = {"C9b", "C19b", "C19c"}
ROW: Final = re.compile(
    r"\| (C\d+[bc]?) \| ([^|]+) \| (finding|built in|waits) \| ([^|]+) \| [^|]+ \|"
)


def rows() -> list[tuple[str, str, str]]:
    """Return (number, how, by) of every row of the table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    found = [ROW.fullmatch(line) for line in lines if line.startswith("| C")]
    assert all(found), "a row of another form"
    return [(match[1], match[3], match[4]) for match in found if match is not None]


def test_every_check_of_the_field_has_its_row() -> None:
    """None is left out, and none is there twice."""
    numbers = [number for number, _, _ in rows()]
    assert len(numbers) == len(set(numbers)) == 87
    assert set(numbers) == {f"C{number}" for number in NUMBERED} | LETTERED


def test_every_finding_of_the_table_exists() -> None:
    """A row that claims a finding names one; every code has a page; what waits names no code."""
    codes = {page.code for page in PAGES}
    for number, how, by in rows():
        named = set(re.findall(r"FTC\d{3}", by))
        assert named <= codes, f"{number}: {sorted(named - codes)}"
        assert named or how != "finding", number
        assert by.strip()


def test_the_page_is_as_wide_as_documents_are() -> None:
    """It reads in an editor; tables apart, which have one line to a row."""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        assert line.startswith("|") or len(line) <= 140
