"""Metrics of answers: each measures what its name says."""

import pytest
import sacrebleu

from ftc.runtime.metric import (
    accuracy,
    chrf,
    exact_match,
    macro_f1,
    numeric_match,
    rouge_l,
)
from ftc.runtime.upstream import chrf_counts

SAID = ["lost", "late", "late", "sent"]
RIGHT = ["lost", "late", "sent", "sent"]


def test_accuracy_is_the_share_of_right_answers() -> None:
    """Three of four; another case is another label."""
    assert accuracy.measure(SAID, RIGHT) == 0.75
    assert accuracy.grade(["Lost", "late"], ["lost", "late"]) == [0.0, 1.0]


def test_macro_f1_weighs_labels_alike() -> None:
    """The F1 of lost is 1, of late and of sent 2/3."""
    assert macro_f1.measure(SAID, RIGHT) == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)


def test_exact_match_ignores_white_space_and_case() -> None:
    """Another word is not ignored."""
    said = ["The  answer\n", "the answers"]

    assert exact_match.measure(said, ["the answer", "the answer"]) == 0.5


def test_numeric_match_reads_the_last_number() -> None:
    """Thousands are grouped, a full stop ends a sentence, and no number is not right."""
    said = ["5 + 5 = 10, so #### 1,250", "it is -3.50.", "none", "12 or 13", "about 7"]
    right = ["#### 1250", "-3.5", "none", "12", "7.0"]

    assert numeric_match.measure(said, right) == 3 / 5


def test_rouge_is_the_longest_common_subsequence() -> None:
    """Of five words on each side three are common in order: F is 3/5."""
    said = ["the cat sat on mats"]

    assert rouge_l.measure(said, ["the dog sat on rugs"]) == pytest.approx(3 / 5)


def test_chrf_is_that_of_sacrebleu() -> None:
    """It is 1 for equal texts, and sacrebleu's own number, as a share, for others."""
    said, right = ["on the shelf"], ["on a shelf"]

    assert chrf.measure(right, right) == pytest.approx(1)
    assert chrf.measure(said, right) == pytest.approx(
        sacrebleu.corpus_chrf(said, [right]).score / 100
    )


def test_counts_of_chrf_give_the_scores_of_sacrebleu() -> None:
    """The private functions of sacrebleu agree with its public ones, for any sample of rows."""
    said = ["on the shelf", "in a box", "", "it was sent on Monday"]
    right = ["on a shelf", "in a box", "lost", "it is sent every Monday"]
    counts = chrf_counts.count(said, right)
    sums = [sum(column) for column in zip(*counts, strict=True)]

    assert chrf_counts.total(sums) / 100 == pytest.approx(chrf.measure(said, right))
    assert chrf.measure_rows(said, right).value == pytest.approx(chrf.measure(said, right))
    assert [chrf_counts.total(list(row)) / 100 for row in counts] == pytest.approx(
        chrf.grade(said, right)
    )
