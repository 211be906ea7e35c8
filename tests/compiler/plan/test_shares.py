"""The share of rows that are longer than a limit, from counted lengths."""

import pytest

from ftc.compiler.plan.batch.lengths import share_above
from ftc.compiler.resolve.data.lengths import summarise


def share(totals: list[int], tokens: int) -> float:
    """Return the reported share of rows with these lengths."""
    return share_above(summarise([(total, 1) for total in totals], estimate=False), tokens)


def test_rows_below_the_limit_do_not_count() -> None:
    """Rows of 970 tokens are no rows of more than 1,000, though they are nearly as long."""
    totals = [200] * 962 + [970] * 31 + [1010] * 7
    assert share(totals, 1000) == pytest.approx(0.007, abs=0.003)


@pytest.mark.parametrize("tokens", [8, 64, 120, 512, 576, 1024, 1984, 4096])
def test_the_share_is_exact_at_lengths_that_a_plan_chooses(tokens: int) -> None:
    """Multiples of 8 and, above 512, of 64."""
    totals = [(37 * row) % 5000 + 1 for row in range(3000)]
    assert share(totals, tokens) == sum(total > tokens for total in totals) / len(totals)


@pytest.mark.parametrize("tokens", [1, 50, 333, 500, 1000, 1500, 3000, 4999])
def test_the_share_is_never_too_low(tokens: int) -> None:
    """At most a bin of rows, a 32nd of their length, is counted too many."""
    totals = [(37 * row) % 5000 + 1 for row in range(3000)]
    true = sum(total > tokens for total in totals) / len(totals)
    wider = sum(total > tokens - max(8, tokens // 16) for total in totals) / len(totals)
    assert true <= share(totals, tokens) <= wider
