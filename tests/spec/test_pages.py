"""The pages: codes in their range, names that state the bad pattern, four parts each."""

import re
from pathlib import Path

import pytest

from ftc.spec.document import Document
from ftc.spec.load import load_document
from ftc.spec.page import Page
from ftc.spec.pages import PAGES
from ftc.spec.validate import validate


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_page(page: Page) -> None:
    """A page has a name that reads well, and its four parts in order."""
    assert re.fullmatch(r"FTC(0[0-6]|21)\d", page.code)  # the latter, of a mixture
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


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.code >= "FTC030"], ids=lambda page: page.code
)
def test_the_example_of_a_page_raises_its_code(page: Page, tmp_path: Path) -> None:
    """Examples are specs, or parts of one: what stands under "Use instead" does not raise it."""
    wrong, right = re.findall(r"```\w*\n(.*?)```", page.text, re.DOTALL)
    assert page.code in _codes(wrong, tmp_path)
    assert page.code not in _codes(right, tmp_path) or page.code == "FTC033"


def _codes(text: str, folder: Path) -> set[str]:
    path = folder / "spec.json"
    path.write_text(text, encoding="utf-8")
    document = load_document(str(path))
    found = validate(document) if isinstance(document, Document) else document
    return {finding.code for finding in found} if isinstance(found, tuple) else set()
