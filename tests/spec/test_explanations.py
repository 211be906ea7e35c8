"""The explanations: codes in their range, names that state the bad pattern, four parts each."""

import json
import re
from pathlib import Path

import pytest

from ftc.compiler.checks.registry import RULES
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.explanations import EXPLANATIONS
from ftc.spec.load import load_document
from ftc.spec.text.document import Document
from ftc.spec.validate import validate


@pytest.mark.parametrize("explanation", EXPLANATIONS, ids=lambda each: each.code)
def test_explanation(explanation: Explanation) -> None:
    """An explanation has a name that reads well, and its four parts in order."""
    assert re.fullmatch(r"FTC(0[0-6]|21)\d", explanation.code)  # the latter, of a mixture
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", explanation.name)
    assert explanation.severity == "error"
    parts = [
        explanation.text.index(part)
        for part in ("What it is", "Why it matters", "Example", "Use instead")
    ]
    assert parts == sorted(parts)


def test_codes_and_names_are_unique() -> None:
    """Codes and names are unique, and explanations are sorted by code."""
    codes = [each.code for each in EXPLANATIONS]
    assert codes == sorted(set(codes))
    assert len({each.name for each in EXPLANATIONS}) == len(EXPLANATIONS)


@pytest.mark.parametrize(
    "explanation",
    [each for each in EXPLANATIONS if each.code >= "FTC030"],
    ids=lambda each: each.code,
)
def test_the_example_of_an_explanation_raises_its_code(
    explanation: Explanation, tmp_path: Path
) -> None:
    """Examples are specs or parts of specs; "Use instead" does not raise the code."""
    wrong, right = re.findall(r"```\w*\n(.*?)```", explanation.text, re.DOTALL)
    assert explanation.code in _codes(wrong, tmp_path)
    assert explanation.code not in _codes(right, tmp_path) or explanation.code == "FTC033"


def _codes(text: str, folder: Path) -> set[str]:
    path = folder / "spec.json"
    path.write_text(text, encoding="utf-8")
    document = load_document(str(path))
    found = validate(document) if isinstance(document, Document) else document
    return {finding.code for finding in found} if isinstance(found, tuple) else set()


def test_the_table_of_rule_names_is_that_of_the_rules() -> None:
    """`make sections` writes it, and `allow` reads it."""
    path = Path(__file__).parents[2] / "spec" / "values" / "rule_names.json"
    names = {each.explanation.name: each.explanation.code for each in RULES}
    assert json.loads(path.read_text(encoding="utf-8")) == names
