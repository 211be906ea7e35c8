"""The explanations of resolve: one code each, in their ranges, with all four parts."""

from ftc.compiler.resolve.explanations import EXPLANATIONS

RANGES = (range(100, 120), range(200, 220), range(256, 270), range(300, 310))
#: FTC134 and FTC135 tell of files, FTC334 of a GPU's maker; FTC563 is of the evaluation, and found
#: where an earlier run is looked at.
OTHERS = ("FTC134", "FTC135", "FTC334", "FTC563")
PARTS = ("**What it is.**", "**Why it matters.**", "**Example**", "**Use instead.**")


def test_codes_and_names_are_unique_and_in_range() -> None:
    """A code is in the range of facts that could not be had."""
    assert (
        len(EXPLANATIONS)
        == len({each.code for each in EXPLANATIONS})
        == len({each.name for each in EXPLANATIONS})
    )
    for explanation in EXPLANATIONS:
        number = int(explanation.code.removeprefix("FTC"))
        assert explanation.code in OTHERS or any(number in codes for codes in RANGES), (
            explanation.code
        )


def test_every_explanation_has_its_parts() -> None:
    """`ftc explain` prints what, why, an example and what to use instead."""
    for explanation in EXPLANATIONS:
        assert all(part in explanation.text for part in PARTS), explanation.code
        assert explanation.severity == ("warning" if explanation.code == "FTC563" else "error")
