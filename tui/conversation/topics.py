"""The topics of questions that can be answered with facts: licence, privacy, cost, time, ..."""

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal, get_args

from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import fold

Topic = Literal[
    "no_data", "gated", "reason", "licence", "privacy", "slow", "overfitting", "resume", "next",
    "quality", "data", "labels", "lengths", "dropped", "rows", "disk", "small_device", "inference",
    "diverged", "ollama", "cost", "memory", "time", "models",
]  # fmt: skip
TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)


def find_topic(text: str) -> Topic | None:
    """Return the topic of a question, or None; the most specific comes first."""
    folded = fold(text)
    return next((topic for topic in TOPICS if _patterns()[topic].search(folded)), None)


@cache
def _patterns() -> Mapping[Topic, re.Pattern[str]]:
    text = (files("ftc.tui.conversation") / "topics.json").read_text(encoding="utf-8")
    table = json.loads(text)
    return {topic: re.compile(any_of(words)) for topic, words in table.items()}
