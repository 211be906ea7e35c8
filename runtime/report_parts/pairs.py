"""The parts of a report about pairs of a better and a worse answer."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..reports.results import Numbers


def describe_chance(judged: Numbers) -> str:
    """Return how often the better answer is rewarded more by chance."""
    share = f"{judged['chance']:.0%}"
    if "chance_verdict" not in judged:
        return f"By chance the better answer is rewarded more in {share} of pairs."
    return (
        "A reward is how much more likely training made an answer, so the model before training"
        f" has none. By chance the better answer is rewarded more in {share} of"
        f" pairs: the trained model is {judged['chance_verdict']}."
    )


def divide(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[dict[str, list[Mapping[str, Any]]], dict[str, str]]:
    """Return the bad and the good rows by their headings, and the titles of the columns."""
    columns = {"prompt": "end of the prompt", "chosen": "chosen", "rejected": "rejected"}
    lost, won = ([row for row in rows if (row["margin"] > 0) == good] for good in (False, True))
    return {"Pairs ranked incorrectly": lost, "Pairs ranked correctly": won}, columns
