"""Writes the GGUF files of a reranker, and compares their scores with the model's.

llama.cpp must read every pair of the test split as the tokens that the model was trained on, and
the score must not differ by more than the bound of the file's type. llama.cpp joins two texts
differently, so users of a file must join them as `join` does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..evaluate import candidates
from ..stages import Identity
from .vector_files import MOST_OTHER, NAMED, Job, open_file, read_tokens, write_judged

__all__ = ["Job", "write_files"]

#: The largest difference of a score from 0 to 1, by type: 8 bits round more.
BOUNDS: Final = {"F16": 0.01, "BF16": 0.01, "Q8_0": 0.05}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The merged model's score and tokens of each pair."""

    pairs: Sequence[candidates.Pair]
    scores: Any
    tokens: Sequence[Sequence[int]]


def write_files(job: Job, identity: Identity) -> None:
    """Write and verify every file, and quality.json; ends the stage if one is not sound."""
    from ..models import relevance  # noqa: PLC0415 - slow, and not needed to read a file

    merged = job.run.folder / "merged"
    model = relevance.load(merged, **job.loading)
    pairs = candidates.list_pairs(job.run.read_rows(job.rows))
    read = (model.preprocess([list(pair)])["input_ids"][0].tolist() for pair in pairs)
    expected = Expected(
        pairs=pairs,
        scores=candidates.apply_sigmoid(relevance.score(model, pairs)),
        tokens=list(read),
    )
    write_judged(
        job,
        identity,
        judge=lambda path, kind: judge(job, path, expected, BOUNDS[kind]),
        describe=lambda entry: (
            f"scores within {entry['difference']:.6f} on {entry['pairs']:,} pairs"
        ),
    )


def judge(job: Job, path: Path, expected: Expected, bound: float) -> dict[str, Any]:
    """Return by how much a file's scores differ, and what is wrong with it."""
    llm = open_file(job.run, path, job.max_length, on_gpu=job.on_gpu, ranks=True)
    pairs = zip(expected.pairs, expected.tokens, strict=True)
    others = [
        place
        for place, (pair, ids) in enumerate(pairs, 1)
        if join(llm, *pair, max_length=job.max_length) != list(ids)
    ]
    found = [read_score(llm, ids) for ids in expected.tokens]
    llm.close()
    apart = np.abs(candidates.apply_sigmoid(np.array(found, "float32")) - expected.scores)
    fault = None
    if not float(apart.max()) <= bound:
        fault = f"a score differs by {float(apart.max()):.6f}, and at most {bound} is allowed"
    elif len(others) > MOST_OTHER * len(expected.pairs):
        fault = (
            f"llama.cpp reads {len(others):,} of {len(expected.pairs):,} pairs as other tokens than"
            f" the model was trained on; the first are pairs {others[:NAMED]}"
        )
    elif others:
        job.run.say(
            f"warning: llama.cpp reads {len(others):,} pairs as other tokens, the first is pair"
            f" {others[0]}; their scores differ"
        )
    return {
        "pairs": len(expected.pairs),
        "other_pairs": len(others),
        "difference": float(apart.max()),
        "mean_difference": float(apart.mean()),
        "bounds": {"max_difference": bound},
        "fault": fault,
    }


def read_score(llm: Any, ids: Sequence[int]) -> float:
    """Return the score of the tokens of a pair, before its sigmoid."""
    return float(read_tokens(llm, ids, 1)[0])


def join(llm: Any, query: str, text: str, *, max_length: int) -> list[int]:
    """Return the tokens of a pair as XLM-R's tokenizer joins them: `<s> query </s></s> text </s>`.

    A pair that is too long loses the last tokens of the longer of both, and then of both in turn:
    the text that was longer, or else the second, keeps one more (`longest_first` of tokenizers).
    """
    first, *asked, last = llm.tokenize(query.encode(), special=True)
    said = llm.tokenize(text.encode(), special=True)[1:-1]
    room = max_length - 4
    fewer = min(len(asked), len(said), room // 2)
    if len(asked) + len(said) > room:
        longer = room - fewer
        sizes = (longer, fewer) if len(asked) > len(said) else (fewer, longer)
        asked, said = asked[: sizes[0]], said[: sizes[1]]
    return [first, *asked, last, last, *said, last]
