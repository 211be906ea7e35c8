"""The pages of resolve: one code each, in their ranges, with all four parts."""

from ftc.compiler.resolve.pages import PAGES

RANGES = (range(100, 120), range(200, 220), range(256, 270), range(300, 310))
PARTS = ("**What it is.**", "**Why it matters.**", "**Example**", "**Use instead.**")


def test_codes_and_names_are_unique_and_in_range() -> None:
    """A code is in the range of facts that could not be had."""
    assert len(PAGES) == len({page.code for page in PAGES}) == len({page.name for page in PAGES})
    for page in PAGES:
        number = int(page.code.removeprefix("FTC"))
        assert any(number in codes for codes in RANGES), page.code


def test_every_page_has_its_parts() -> None:
    """`ftc explain` prints what, why, an example and what to use instead."""
    for page in PAGES:
        assert all(part in page.text for part in PARTS), page.code
        assert page.severity == "error"
