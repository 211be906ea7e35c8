"""The table of objectives says the same as the schema's conditions (`x-when`)."""

from collections.abc import Callable

import pytest

from ftc.compiler.knowledge.objectives import OBJECTIVES, Objective
from ftc.spec.schema import find_field
from ftc.spec.sections import FORMS
from ftc.spec.values.expectation import words_of


def test_every_objective_has_an_entry() -> None:
    """With the forms of the schema."""
    assert list(FORMS) == list(words_of(find_field("/objective/type").schema))
    assert {name: entry.forms for name, entry in OBJECTIVES.items()} == FORMS


@pytest.mark.parametrize(
    ("pointer", "reads"),
    [
        ("/objective/teacher", lambda entry: entry.divergence is not None),
        ("/objective/answer_tokens", lambda entry: entry.samples),
        ("/objective/rewards", lambda entry: entry.rewards),
        ("/objective/loss_on", lambda entry: entry.masks),
        ("/data/reasoning", lambda entry: entry.masks),
        ("/data/packing", lambda entry: entry.packs),
    ],
)
def test_fields_are_read_where_the_entry_says_so(
    pointer: str, reads: Callable[[Objective], bool]
) -> None:
    """A field that belongs to one property of an objective is read by exactly those with it."""
    condition = find_field(pointer).schema["x-when"]["/objective/type"]

    assert set(condition) == {name for name, entry in OBJECTIVES.items() if reads(entry)}
