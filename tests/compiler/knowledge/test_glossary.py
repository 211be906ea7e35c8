"""The glossary has every objective and method, and terms without ambiguity."""

from collections import Counter

import pytest

from ftc.compiler.knowledge.glossary import all_entries, find_entry, find_mentioned
from ftc.spec.schema import choices, find_field


@pytest.mark.parametrize("pointer", ["/objective/type", "/method/type"])
def test_each_choice_is_explained(pointer: str) -> None:
    """People ask "what is sft?" about each word that a spec takes."""
    assert not [
        each for each in choices(find_field(pointer).schema) if find_entry(str(each)) is None
    ]


def test_a_term_has_one_entry() -> None:
    """No two entries have the same name."""
    names = [
        {each.casefold().replace("-", "").replace(" ", "") for each in (entry.term, *entry.also)}
        for entry in all_entries()
    ]
    assert not [
        name for name, count in Counter(n for each in names for n in each).items() if count > 1
    ]


@pytest.mark.parametrize(
    ("text", "term"),
    [("gkd do", "GKD"), ("the gradient checkpointing cost here", "gradient checkpointing"),
     ("you do on a Sunday", None)],
)  # fmt: skip
def test_a_mentioned_term_is_found(text: str, term: str | None) -> None:
    """The longest one counts."""
    found = find_mentioned(text)
    assert (found and found.term) == term
