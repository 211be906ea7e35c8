"""Answers about images, as evaluate.py writes them down, with small copies of some images."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from ..files import write_rows
from ..json_lines import read_rows

PICTURES: Final = 8  # rows whose images are kept for the report
SIDE: Final = 256  # pixels of a kept image, at most

Row = Mapping[str, Any]


def add_pictures(folder: Path, rows: Sequence[Row], images: Any, *, token: str) -> None:
    """Add its images to each row of `folder`/predictions.jsonl, and small copies to some.

    The prompt then has the placeholder `token` once for each. `images` is an
    image_batches.ImageReader, and `rows` are those that the predictions are of.
    """
    path, tokenizer = folder / "predictions.jsonl", images.processor.tokenizer
    names = _keep_pictures(images, rows, folder / "pictures")
    number = tokenizer.convert_tokens_to_ids(token)
    found = []
    for answer, row, pictures in zip(read_rows(path), rows, names, strict=True):
        runs = ((one, list(run)) for one, run in groupby(row["prompt_ids"]))
        ids = [each for one, run in runs for each in (run[:1] if one == number else run)]
        added = {"prompt": tokenizer.decode(ids), "images": row["images"], "pictures": pictures}
        found.append(answer | added)
    write_rows(path, found)


def _keep_pictures(images: Any, rows: Sequence[Row], folder: Path) -> list[list[str]]:
    """Write small copies of the images of some rows, evenly spaced; return the names by row."""
    folder.mkdir(parents=True, exist_ok=True)
    names: list[list[str]] = [[] for _ in rows]
    for place in range(0, len(rows), max(1, len(rows) // PICTURES)):
        for number, reference in enumerate(json.loads(rows[place]["images"])):
            small = images.open(reference)
            small.thumbnail((SIDE, SIDE))
            names[place].append(f"{place}-{number}.png")
            small.save(folder / names[place][-1])
    return names
