"""Turns texts and their labels into tokens and label indices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..read.rows import DataError, Turns
from .encoding import Encoder


def make_classes(
    group: Sequence[Turns], *, encoder: Encoder, labels: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the record of each text: its tokens, its label by number and by name.

    Raises DataError for a label that is not in `labels`.
    """
    numbers = {name: number for number, name in enumerate(labels)}
    texts = list(map(text_of, group))
    records = []
    for turns, text, ids in zip(group, texts, encoder.encode_marked(texts), strict=True):
        name = turns[-1][1]
        if name not in numbers:
            raise DataError(
                f"{name!r} is not one of the {len(labels)} labels of the plan: compile again"
            )
        records.append({"input_ids": ids, "label": numbers[name], "prompt": text, "answer": name})
    return records


def text_of(turns: Turns) -> str:
    """Return the text to classify: the turns of a prompt, joined by line feeds."""
    return "\n".join([text for _, text in turns[:-1]])


def read_answers(records: Any, numbers: Iterable[int]) -> Iterator[str]:
    """Yield the answers of rows by their numbers; `records` is a preparing.Records with labels."""
    names = list(records.names)
    return (names[records.labels[number]] for number in numbers)


def count_labels(
    labels: Sequence[str], answers: Mapping[str, Iterable[str]]
) -> list[dict[str, Any]]:
    """Return how often each label is in each split; `answers` are those of a split's records."""
    counts = {split: dict.fromkeys(labels, 0) for split in answers}
    for split, names in answers.items():
        for name in names:
            counts[split][name] += 1
    return [
        {"name": label, **{split: rows[label] for split, rows in counts.items()}}
        for label in labels
    ]
