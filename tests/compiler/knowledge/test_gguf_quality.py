"""The published figures of GGUF types: complete, in order, and never better than measured."""

from typing import get_args

import pytest

from ftc.compiler.knowledge.exports.gguf_quality import published
from ftc.spec.sections import GgufType

KINDS: tuple[GgufType, ...] = get_args(GgufType)


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_the_language_has_figures(kind: GgufType) -> None:
    """A type that a spec can name has a divergence, a ratio of perplexities and an agreement."""
    known = published(kind)
    assert 0 < known.divergence < 3
    assert 1 < known.perplexity_ratio < 10
    assert 0 <= known.agreement < 1


@pytest.mark.parametrize(
    ("kind", "agreement"),
    [("Q8_0", 0.97674), ("Q4_K_M", 0.91901), ("Q5_K_M", 0.91901), ("IQ4_XS", 0.71138)],
)
def test_agreement_is_published_or_that_of_a_worse_type(kind: GgufType, agreement: float) -> None:
    """Q5_K_M has no figure of its own, so it is given that of Q4_K_M, the next worse one with."""
    assert published(kind).agreement == agreement


def test_the_coarsest_types_have_no_agreement_to_hold() -> None:
    """Nothing worse than Q2_K was published."""
    assert published("IQ2_XXS").agreement == 0


def test_more_divergence_never_means_more_agreement() -> None:
    """The figures keep one order."""
    ordered = sorted(map(published, KINDS), key=lambda each: each.divergence)
    agreements = [each.agreement for each in ordered]
    assert agreements == sorted(agreements, reverse=True)
