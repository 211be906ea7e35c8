"""The pages: codes in their range, names that state the bad pattern, four parts each."""

import re

import pytest

from ftc.spec.page import Page
from ftc.spec.pages import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_page(page: Page) -> None:
    """A page has a name that reads well, and its four parts in order."""
    assert re.fullmatch(r"FTC0[0-6]\d", page.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", page.name)
    assert page.severity == "error"
    parts = [
        page.text.index(part) for part in ("What it is", "Why it matters", "Example", "Use instead")
    ]
    assert parts == sorted(parts)


def test_codes_and_names_are_unique() -> None:
    """A code or name means one thing, and pages stand in the order of their codes."""
    codes = [page.code for page in PAGES]
    assert codes == sorted(set(codes))
    assert len({page.name for page in PAGES}) == len(PAGES)
