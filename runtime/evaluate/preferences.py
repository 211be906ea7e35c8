"""Judges pairs of answers: which one a model finds likelier, and the rewards of objectives.

The results of a model are a mapping with the nats and the number of learned tokens of each
row: `nats` and `tokens` for the chosen answer, `rejected_nats` and `rejected_tokens` for the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..metric.metrics import Measured, interval, mean, share
from ..tokens.encoding import NOT_LEARNED

Found = Mapping[str, Any]


def beats(found: Measured, chance: float) -> str:
    """Return whether a number is better than chance, judged by its interval."""
    ends = interval(found)
    if ends is None or ends[0] <= chance <= ends[1]:
        return "not distinguishable"
    return "better" if (ends[0] > chance) == found.higher else "worse"


def list_rejected(rows: Sequence[Mapping[str, Any]]) -> list[tuple[list[int], list[int]]]:
    """Return the ids and labels of each row's prompt with its rejected answer."""
    begins = [row["labels"].count(NOT_LEARNED) for row in rows]
    return [
        (
            row["input_ids"][:begin] + row["rejected_ids"],
            [NOT_LEARNED] * begin + row["rejected_ids"],
        )
        for row, begin in zip(rows, begins, strict=True)
    ]


def compute_likelihoods(found: Found) -> tuple[list[float], list[float]]:
    """Return the log-probability per token of the chosen answers, and of the rejected ones."""
    chosen = zip(found["nats"], found["tokens"], strict=True)
    rejected = zip(found["rejected_nats"], found["rejected_tokens"], strict=True)
    one, other = ([-nats / tokens for nats, tokens in pairs] for pairs in (chosen, rejected))
    return one, other


def compute_margins(found: Found) -> list[float]:
    """Return by how much each chosen answer is likelier than the rejected one, per token."""
    return [one - other for one, other in zip(*compute_likelihoods(found), strict=True)]


def measure_likelier(found: Found) -> dict[str, Measured]:
    """Return in which share of pairs the chosen answer is likelier."""
    return {"chosen_likelier": share([float(margin > 0) for margin in compute_margins(found)])}


def measure_odds(found: Found, beta: float) -> dict[str, Measured]:
    """Return the rewards of ORPO and SimPO: `beta` times the log-probability per token."""
    chosen, rejected = (
        [beta * number for number in numbers] for numbers in compute_likelihoods(found)
    )
    return _describe([beta * margin for margin in compute_margins(found)], chosen, rejected)


def measure_totals(found: Found, beta: float) -> dict[str, Measured]:
    """Return the rewards of CPO: `beta` times the log-probability of the whole answer."""
    chosen, rejected = (
        [-beta * nats for nats in found[name]] for name in ("nats", "rejected_nats")
    )
    margins = [one - other for one, other in zip(chosen, rejected, strict=True)]
    return _describe(margins, chosen, rejected)


def measure_rewards(after: Found, before: Found, beta: float) -> dict[str, Measured]:
    """Return the rewards of DPO: `beta` times how much likelier training made an answer."""
    chosen, rejected = (
        [beta * (old - new) for old, new in zip(before[name], after[name], strict=True)]
        for name in ("nats", "rejected_nats")
    )
    margins = [one - other for one, other in zip(chosen, rejected, strict=True)]
    return _describe(margins, chosen, rejected)


def _describe(
    margins: Sequence[float], chosen: Sequence[float], rejected: Sequence[float]
) -> dict[str, Measured]:
    return {
        "reward_accuracy": share([float(margin > 0) for margin in margins]),
        "reward_margin": mean(margins),
        "chosen_reward": mean(chosen),
        "rejected_reward": mean(rejected),
    }


def list_predictions(
    rows: Sequence[Mapping[str, Any]], tokenizer: Any, after: Found, before: Found
) -> Iterator[dict[str, Any]]:
    """Yield each pair as text, with its margin after and before training."""
    margins, base_margins = compute_margins(after), compute_margins(before)
    for row, margin, base_margin in zip(rows, margins, base_margins, strict=True):
        yield {
            "prompt": tokenizer.decode(row["prompt_ids"]),
            "chosen": tokenizer.decode(row["chosen_ids"], skip_special_tokens=True),
            "rejected": tokenizer.decode(row["rejected_ids"], skip_special_tokens=True),
            "margin": margin,
            "base_margin": base_margin,
        }
