"""The table of the field's checks: every one is there, and every finding that it names exists."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from docs.site.rules import CODE, read_table
from ftc.explanations import EXPLANATIONS
from ftc.spec.schema import read_unsupported

#: The numbers of the field's checks: 87, in eighteen themes.
NUMBERED: Final = (
    *range(1, 29), *range(30, 50), *range(50, 58), *range(60, 66), *range(70, 75), *range(80, 97)
)  # fmt: skip
LETTERED: Final = {"C9b", "C19b", "C19c"}
TABLE: Final = read_table()
CHECKS: Final = TABLE["checks"]


def test_every_check_of_the_field_has_its_row() -> None:
    """None is left out, and none is there twice."""
    numbers = [row["number"] for row in CHECKS]
    assert len(numbers) == len(set(numbers)) == 87
    assert set(numbers) == {f"C{number}" for number in NUMBERED} | LETTERED


def test_every_theme_has_checks() -> None:
    """A to R; what has no check of its own says what answers it."""
    assert "".join(theme["letter"] for theme in TABLE["themes"]) == "ABCDEFGHIJKLMNOPQR"
    for theme in TABLE["themes"]:
        rows = [row for row in CHECKS if row["theme"] == theme["letter"]]
        assert bool(rows) != ("answer" in theme), theme
    assert sum("answer" in theme for theme in TABLE["themes"]) == 1


@pytest.mark.parametrize("row", CHECKS, ids=lambda row: str(row["number"]))
def test_every_finding_of_the_table_exists(row: Mapping[str, Any]) -> None:
    """A row that claims a finding names one; every code has a page; a cell is one line."""
    named = set(CODE.findall(row["by"]))
    assert named <= {page.code for page in EXPLANATIONS}
    assert named or row["how"] != "finding"
    assert row["how"] in {"finding", "built in", "waits"}
    assert all(row[key] and "|" not in row[key] for key in ("what", "by", "seen"))


@pytest.mark.parametrize("row", CHECKS, ids=lambda row: str(row["number"]))
def test_what_waits_is_not_there_yet(row: Mapping[str, Any]) -> None:
    """Every key and word that a check waits for is still one that the language only plans."""
    unsupported = read_unsupported()
    for name in row.get("planned", ()):
        pointer, _, word = name.partition(" ")
        known = unsupported["values"].get(pointer, ()) if word else unsupported["keys"]
        assert (word or pointer) in known, (
            f"the language has `{name}` now: say in docs/site/checks.json which finding "
            f"answers {row['number']}"
        )
    assert ("planned" in row) == (row["how"] == "waits")
