"""Pairs of real messages to a bank, by their intents: for search, ranking and preferences."""

import csv
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

QUERIES: Final = 90
OTHERS: Final = ("exchange", "refund", "top_up", "transfer")
EACH: Final = 4  # right texts of a query, and as many wrong ones


def pair_by_intent(data: Path) -> Iterator[list[str]]:
    """Yield each message with the first message of the same intent: 77 documents."""
    firsts: dict[str, str] = {}
    for text, intent in _read(data):
        first = firsts.setdefault(intent, text)
        if text != first:
            yield [text, first]


def prefer_intents(data: Path) -> Iterator[dict[str, str]]:
    """Yield every fourth message with its intent, and with that of another message as worse.

    A wrong intent is as common as a right one, so that how common it is tells them not apart.
    """
    rows = list(_read(data))
    generator = random.Random(7)  # noqa: S311 - no secret
    for text, intent in rows[::4]:
        _, other = generator.choice(rows)
        while other == intent:
            _, other = generator.choice(rows)
        words = intent.replace("_", " "), other.replace("_", " ")
        yield {"prompt": text, "chosen": words[0], "rejected": words[1]}


def label_pairs(data: Path) -> list[list[str]]:
    """Return messages about a card, each with others about one and some that are not."""
    about: list[str] = []
    others: list[str] = []
    for text, intent in _read(data):
        if "card" in intent:
            about.append(text)
        elif any(word in intent for word in OTHERS):
            others.append(text)
    generator = random.Random(7)  # noqa: S311 - no secret
    generator.shuffle(about)
    generator.shuffle(others)
    rows = []
    for _ in range(QUERIES):
        query = about.pop()
        rows += [[query, texts.pop(), label] for texts, label in ((about, "1"), (others, "0"))
                 for _ in range(EACH)]  # fmt: skip
    return rows


def _read(data: Path) -> Iterator[tuple[str, str]]:
    with (data / "banking77_train.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["text"], row["category"]
