"""Finds hard negatives for each training row: texts close to the query that do not belong to it.

The untrained model reads all texts of the split, by sentence-transformers' `mine_hard_negatives`.
The found texts are written into the rows, so that training reads the same ones each time. No text
of another split is read.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from datasets import Dataset
from sentence_transformers.util import mine_hard_negatives

from ..files import write_json, write_rows
from ..models import vectors
from ..run import Run
from ..tokens.vector_records import MINED
from .preparing import write_table

#: A text is left out if its similarity to the query is above 95% of the right text's, because it
#: may be right too: "TopK-PercPos" of NV-Retriever (arXiv 2407.15831, section 3.2).
MARGIN: Final = 0.05
LEAST_SHARE: Final = 0.5  # of the texts that should be close; with fewer the model is too weak
_QUERIES: Final = 1024  # that are compared with all texts at once
_DRAWN: Final = 32  # texts to draw per random wrong text


def add_hard_negatives(run: Run, path: Path, model: Any, *, many: int, seed: int) -> Path:
    """Write `many` wrong texts into each row of a split, and what was found into a file beside it.

    Returns the path of that file. Where fewer texts are far enough from the right one, the rest are
    random. Ends the stage where all texts belong to one query.
    """
    rows = run.read_rows(path)
    known = _Texts(rows)
    near, draw = _mine(model, known, many), random.Random(seed)  # noqa: S311 - no secret
    count = 0
    for row in rows:
        anchor = known.name(row["anchor"])
        mined = near.get(anchor, [])[:many]
        drawn = known.draw(anchor, mined, many - len(mined), draw)
        if not mined and not drawn:
            run.stop(f"all texts of the data belong to {anchor!r}: there is no wrong one to learn")
        wrong = ([*mined, *drawn] * many)[:many]
        row |= {f"{MINED}{place}": text for place, text in enumerate(wrong, 1)}
        count += len(mined)
    write_rows(path, rows)
    with path.open("rb") as lines:
        write_table(path, longest_bytes=max(map(len, lines)))
    return _report(
        run, path.with_name("hard_negatives.json"), many=many, rows=len(rows), count=count
    )


def _report(run: Run, note: Path, *, many: int, rows: int, count: int) -> Path:
    """Write and print how many texts were found, and what to do if they are few."""
    wanted = many * rows
    numbers = {"rows": rows, "mined": count, "random": wanted - count}
    write_json(note, {"version": 1, "per_row": many, "margin": MARGIN, **numbers})
    run.say(f"hard negatives: {count:,} of {wanted:,} are close to their query, the rest is random")
    if count < LEAST_SHARE * wanted:
        run.say(
            "warning: the untrained model finds few of them, because other texts are almost as"
            " similar as the right one, or more similar. Train without hard negatives first, then"
            " again with them and that result as the model."
        )
    return note


class _Texts:
    """The pairs of a split; texts that differ in case or white space only are one text."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._names: dict[str, str] = {}
        self.pairs = list(
            dict.fromkeys((self.name(row["anchor"]), self.name(row["positive"])) for row in rows)
        )
        self.documents = list(dict.fromkeys(text for _, text in self.pairs))
        self._own: dict[str, set[str]] = {}
        for anchor, text in self.pairs:
            self._own.setdefault(anchor, {anchor}).add(text)

    def name(self, text: str) -> str:
        """Return the first text of the split that equals this one."""
        return self._names.setdefault(" ".join(text.casefold().split()), text)

    def is_wrong(self, anchor: str, text: str) -> bool:
        """Return whether a text does not belong to the query, and is not the query itself."""
        return text not in self._own[anchor]

    def draw(self, anchor: str, taken: Sequence[str], many: int, draw: random.Random) -> list[str]:
        """Return random wrong texts; fewer if there are no more."""
        if not many:
            return []

        def choose(texts: Sequence[str]) -> list[str]:
            return [t for t in texts if self.is_wrong(anchor, t) and t not in taken][:many]

        found = choose(draw.sample(self.documents, min(len(self.documents), many * _DRAWN)))
        return found if len(found) == many else choose(self.documents)


def _mine(model: Any, known: _Texts, many: int) -> dict[str, list[str]]:
    """Return the closest wrong texts of each query that has some, the closest first."""
    anchors, positives = zip(*known.pairs, strict=True)
    prompts = model.prompts
    found = mine_hard_negatives(
        Dataset.from_dict({"anchor": anchors, "positive": positives}),
        model,
        num_negatives=many + 1,  # one may be the query itself
        relative_margin=MARGIN,
        query_prompt=prompts.get(vectors.QUERY) or "",
        corpus_prompt=prompts.get(vectors.DOCUMENT) or "",
        batch_size=vectors.BATCH_TEXTS,
        faiss_batch_size=_QUERIES,
        verbose=False,
    )
    near: dict[str, list[str]] = {}
    for anchor, text in zip(found["anchor"], found["negative"], strict=True):
        held = near.setdefault(anchor, [])
        if known.is_wrong(anchor, text) and text not in held:
            held.append(text)
    return near
