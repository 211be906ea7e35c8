"""Compares the held-out rows with the training rows of earlier runs; prepare.py calls it.

Runs are chained when the model of one is the result of another bundle. The model has then learned
the rows of all earlier runs, and a test on the same prompts does not measure new prompts.
"""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..files import read_json
from ..read.rows import before_answer


def find_bundles(model: Path) -> Iterator[Path]:
    """Yield the bundles that this model comes from, the latest first."""
    folder, found = model.resolve(), set[Path]()
    while True:
        if folder.name == "merged":
            folder = folder.parents[1]  # of run/merged
        if folder in found or not (folder / "ftc.lock.json").is_file():
            return
        found.add(folder)
        yield folder
        try:
            named = read_json(folder / "spec.json")["model"]
        except (OSError, ValueError, KeyError):
            return
        folder = (folder / (named["id"] if isinstance(named, dict) else named)).resolve()


def read_prompts(path: Path) -> Iterator[str]:
    """Yield the user's text before the answer in each row, with its white space normalized."""
    with path.open(encoding="utf-8") as file:
        for row in map(json.loads, file):
            turns = before_answer(row["messages"]) if "messages" in row else []
            said = " ".join(turn["content"] or "" for turn in turns if turn["role"] == "user")
            yield " ".join(unicodedata.normalize("NFC", said or row.get("prompt", "")).split())


def find_seen(model: Path, data: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each split and each earlier run that trained on prompts of the split."""
    held = {name: list(read_prompts(data / f"{name}.jsonl")) for name in names}
    asked = {prompt for prompts in held.values() for prompt in prompts if prompt}
    for bundle in find_bundles(model):
        rows = bundle / "run" / "data" / "train.jsonl"
        seen = asked.intersection(read_prompts(rows)) if rows.is_file() else ()
        for name, prompts in held.items():
            if count := sum(prompt in seen for prompt in prompts):
                yield (
                    f"{count:,} of {len(prompts):,} rows in {name} have a prompt that the bundle"
                    f" `{bundle.name}` trained on, so they do not measure new prompts: give both"
                    " specs the same `training.seed`, the same `data.splits` with `stratify` false,"
                    " and prompts in the same order; or remove those prompts from the data"
                )
