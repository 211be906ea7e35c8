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
    "no_data", "gated", "reason", "licence", "personal", "privacy", "energy", "slow",
    "overfitting", "resume", "next", "quality", "data", "labels", "lengths", "dropped", "rows",
    "disk", "file_size", "small_device", "inference", "diverged", "ollama", "cost", "memory",
    "time", "models", "spec", "changes",
]  # fmt: skip
TOPICS: Final[tuple[Topic, ...]] = get_args(Topic)


def find_topic(text: str) -> Topic | None:
    """Return the topic of a question, or None; the most specific comes first.

    A topic without patterns is found by its common question alone.
    """
    folded = fold(text)
    return next((topic for topic, pattern in _patterns().items() if pattern.search(folded)), None)


@cache
def _patterns() -> Mapping[Topic, re.Pattern[str]]:
    text = (files("ftc.tui.conversation") / "topics.json").read_text(encoding="utf-8")
    table = json.loads(text)
    return {topic: re.compile(any_of(table[topic])) for topic in TOPICS if topic in table}
