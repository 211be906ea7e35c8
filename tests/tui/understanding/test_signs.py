"""Signs for words, sizes as English says them, and wishes that name no field."""

import pytest

from ftc.tui.understanding.reader import read
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.vague import find_vague


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        ("r -> 64, a -> 128", {"/method/rank": 64, "/method/alpha": 128}),
        ("r/alpha 128/256", {"/method/rank": 128, "/method/alpha": 256}),
        ("lr/wd 1e-4/0.01", {"/training/learning_rate": 1e-4, "/training/weight_decay": 0.01}),
        (
            "micro/global batch 1/32",
            {"/training/micro_batch": 1, "/training/global_batch": 32},
        ),
        ("r=32 \u03b1=16", {"/method/rank": 32, "/method/alpha": 16}),
        ("top1 >= 0.95", {"/export/verify/min_agreement": 0.95}),
        ("bump the rank up to one twenty-eight", {"/method/rank": 128}),
        ("a context of twenty forty-eight", {"/data/max_length": 2048}),
    ],
)
def test_signs_and_sizes_are_read(said: str, changes: dict[str, object]) -> None:
    """Every number belongs to the name before it."""
    assert {each.pointer: each.value for each in read(said, {}).changes} == changes


@pytest.mark.parametrize("said", ["train/val/test 80/10/10", "8 -> 16", "x -> y", "and/or 1/2/3"])
def test_other_slashes_and_arrows_stay(said: str) -> None:
    """Shares of rows, a change from one number to another, and words are no pairs."""
    assert Message(said).folded == said


@pytest.mark.parametrize(
    ("said", "pointer", "values"),
    [
        ("24 please", "/method/rank", (24,)),
        ("0.0002", "/training/learning_rate", (0.0002,)),
        ("posa'n vuit", "/method/rank", (8,)),
        ("could you turn it down a notch?", "/training/learning_rate", ()),
        ("que vagi m\u00e9s de pressa", "/training/epochs", ()),
        ("quiero uno mejor", "/model/id", ()),
    ],
)
def test_a_vague_wish_is_asked_about(said: str, pointer: str, values: tuple[float, ...]) -> None:
    """The question proposes the number, if there is one."""
    choice = find_vague(said)
    assert choice is not None
    assert (choice.pointer, choice.values) == (pointer, values)


@pytest.mark.parametrize("said", ["rank 24", "make it rhyme", "thanks", "the other day", ""])
def test_other_messages_are_not_vague_wishes(said: str) -> None:
    """A message with a field, or about something else, gets no such question."""
    assert find_vague(said) is None
