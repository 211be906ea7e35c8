"""Finds prompts in a chained spec's data that the previous run trains on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.content.near_duplicates import PromptCount
from ftc.compiler.resolve.data.mask import read_examples
from ftc.compiler.resolve.explanations import SEEN_BEFORE
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.model.chain import FirstRun, find_first_run, read_fact
from ftc.compiler.resolve.rows.example import Example
from ftc.runtime.read.cleaning import fold
from ftc.runtime.read.rows import before_answer
from ftc.spec.findings.finding import Finding
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.validate import validate

_TRAINED: Final = "run/data/train.jsonl"
_SPEC: Final = "spec.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """The prompts of a spec's rows in their order, and the rule by which some are held out."""

    prompts: tuple[bytes, ...]
    rule: tuple[Any, ...]
    trained_share: float


def find_seen(spec: Spec, data: DataFacts, *, folder: Path, held_rows: int) -> tuple[Finding, ...]:
    """Return a warning if the previous run trains on rows that are held out here.

    `held_rows` counts those of validation and test. Prompts are compared by the user's text. Data
    that is not on this disk is not examined.
    """
    first = find_first_run(spec.model, folder=folder)
    mine = _read_rows(spec, data, folder=folder) if first is not None and held_rows else None
    if first is None or mine is None or not mine.prompts:
        return ()
    theirs = _read_first(first)
    if theirs is not None and (theirs.prompts, theirs.rule) == (mine.prompts, mine.rule):
        return ()
    bundle, distinct = first.folder.name, set(mine.prompts)
    trained = first.folder / _TRAINED
    if trained.is_file():
        seen, share = distinct.intersection(_read_trained(trained)), 1.0
        where = "trained"
    elif theirs is not None:
        seen, share = distinct.intersection(theirs.prompts), theirs.trained_share
        where = ""
    else:
        return ()
    rows = round(share * held_rows * sum(p in seen for p in mine.prompts) / len(mine.prompts))
    if not rows:
        return ()
    return (
        SEEN_BEFORE.finding(
            message=where,
            pointer="/data",
            seen=len(seen),
            prompts=len(distinct),
            bundle=bundle,
            share=share,
            rows=rows,
            held=held_rows,
        ),
    )


def _read_first(first: FirstRun) -> _Rows | None:
    """Return the rows of the first run's spec; None where they cannot be had."""
    data = read_fact(first, "data", DataFacts)
    document = load_document(str(first.folder / _SPEC))
    if data is None or isinstance(document, tuple):
        return None
    spec = validate(document)
    return None if isinstance(spec, tuple) else _read_rows(spec, data, folder=first.folder)


def _read_rows(spec: Spec, data: DataFacts, *, folder: Path) -> _Rows | None:
    """Read the rows that cleaning leaves; None where a file is not on this disk."""
    if any(part.path is None for part in data.sources or (data,)):
        return None
    count, splits = PromptCount(), spec.data.splits
    kept = (
        example
        for _, example in read_examples(spec, folder, data)
        if not (count.is_known(example) and spec.data.cleaning.drop_duplicates)
    )
    stratify = splits.stratify is not False and bool(data.labels)
    rule = (spec.training.seed, splits.test, splits.validation, stratify, spec.data.max_rows)
    share = 1 - splits.test - splits.validation
    return _Rows(prompts=tuple(map(_key_of, kept)), rule=rule, trained_share=share)


def _key_of(example: Example) -> bytes:
    turns = example.turns if example.turns[0][0] == "text" else example.prompt
    return _digest(" ".join(text for role, text in turns if role in {"user", "text"}))


def _read_trained(path: Path) -> Iterator[bytes]:
    """Yield the prompts that `prepare.py` has written for training."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line)
                turns = before_answer(row["messages"]) if "messages" in row else []
                said = " ".join(turn["content"] or "" for turn in turns if turn["role"] == "user")
                yield _digest(said or row.get("prompt", ""))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # not a row that `prepare.py` wrote


def _digest(text: str) -> bytes:
    return blake2b(fold(text).encode("utf-8", "surrogatepass"), digest_size=12).digest()
