"""The metric `rouge_l`: the F of ROUGE-L, by the longest common subsequence of words (Lin 2004)."""

from collections.abc import Sequence

from rouge_score.rouge_scorer import RougeScorer


def grade(said: Sequence[str], right: Sequence[str]) -> list[float]:
    """Return the F of ROUGE-L of each answer, from 0 to 1."""
    scorer = RougeScorer(["rougeL"])
    return [scorer.score(b, a)["rougeL"].fmeasure for a, b in zip(said, right, strict=True)]


def measure(said: Sequence[str], right: Sequence[str]) -> float:
    """Return the mean over the answers."""
    return sum(grade(said, right)) / len(right)
