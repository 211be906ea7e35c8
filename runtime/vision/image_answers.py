"""Answers about images, as evaluate.py writes them down, with small copies of some images."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..files import read_rows, write_rows
from .image_tokens import count_repeats, unrepeat_tokens

PICTURES: Final = 8  # rows whose images are kept for the report
SIDE: Final = 256  # pixels of a kept image, at most

Row = Mapping[str, Any]


def add_pictures(folder: Path, rows: Sequence[Row], images: Any, *, token: str) -> None:
    """Add its images to each row of `folder`/predictions.jsonl, and small copies to some.

    The prompt then has the placeholder `token` once for each. `images` is an
    image_batches.ImageReader, and `rows` are those that the predictions are of.
    """
    path, tokenizer = folder / "predictions.jsonl", images.processor.tokenizer
    answers = list(read_rows(path))
    names = _keep_pictures(images, rows, folder / "pictures")
    number = tokenizer.convert_tokens_to_ids(token)
    found = []
    for answer, row, pictures in zip(answers, rows, names, strict=True):
        sizes = [(one["width"], one["height"]) for one in json.loads(row["images"])]
        ids = unrepeat_tokens(row["prompt_ids"], number, count_repeats(images.rule, sizes))
        added = {"prompt": tokenizer.decode(ids), "images": row["images"], "pictures": pictures}
        found.append(answer | added)
    write_rows(path, found)


def _keep_pictures(images: Any, rows: Sequence[Row], folder: Path) -> list[list[str]]:
    """Write small copies of the images of some rows, evenly spaced; return the names by row."""
    shutil.rmtree(folder, ignore_errors=True)  # those of an earlier evaluation
    folder.mkdir(parents=True)
    names: list[list[str]] = [[] for _ in rows]
    kept = min(PICTURES, len(rows))
    for place in (number * len(rows) // kept for number in range(kept)):
        for number, reference in enumerate(json.loads(rows[place]["images"])):
            small = images.open(reference)
            small.thumbnail((SIDE, SIDE))
            names[place].append(f"{place}-{number}.png")
            small.save(folder / names[place][-1])
    return names
