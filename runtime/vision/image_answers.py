"""Answers about images, as evaluate.py writes them down, with small copies of some images."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

PICTURES: Final = 8  # rows whose images are kept for the report
SIDE: Final = 256  # pixels of a kept image, at most

Row = Mapping[str, Any]


def keep_pictures(images: Any, rows: Sequence[Row], folder: Path) -> list[list[str]]:
    """Write small copies of the images of some rows, evenly spaced; return the names by row.

    `images` is an image_batches.ImageReader.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names: list[list[str]] = [[] for _ in rows]
    for place in range(0, len(rows), max(1, len(rows) // PICTURES)):
        for number, reference in enumerate(json.loads(rows[place]["images"])):
            small = images.open(reference)
            small.thumbnail((SIDE, SIDE))
            names[place].append(f"{place}-{number}.png")
            small.save(folder / names[place][-1])
    return names


def add_images(
    predictions: Iterable[dict[str, Any]],
    rows: Sequence[Row],
    names: Sequence[Sequence[str]],
    tokenizer: Any,
    token: str,
) -> Iterator[dict[str, Any]]:
    """Yield each prediction with its images; the prompt has a placeholder `token` once for each."""
    number = tokenizer.convert_tokens_to_ids(token)
    for said, row, pictures in zip(predictions, rows, names, strict=True):
        runs = ((one, list(run)) for one, run in groupby(row["prompt_ids"]))
        ids = [each for one, run in runs for each in (run[:1] if one == number else run)]
        added = {"prompt": tokenizer.decode(ids), "images": row["images"]}
        yield said | added | {"pictures": list(pictures)}
