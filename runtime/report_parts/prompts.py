"""The part of a report about answers to prompts alone, which have rewards or divergences."""

from collections.abc import Mapping
from typing import Any

from .answers import halve


def divide(
    rows: list[Mapping[str, Any]],
) -> tuple[dict[str, list[Mapping[str, Any]]], dict[str, str]]:
    """Sort the rows, and return both halves by their headings and the titles of the columns."""
    columns = {"prompt": "end of the prompt", "said": "trained model"}
    columns["base_said"] = "before training"
    is_reward = "reward" in rows[0]
    rows.sort(key=lambda row: row["reward"] if is_reward else -row["divergence"])
    return halve(rows), columns
