"""Objectives that compare texts: pooling of vectors, and the texts compared with a query."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.architectures.encoders import is_encoder
from ftc.compiler.knowledge.objectives import gives_relevance, gives_vectors
from ftc.compiler.plan.decision import Because, Decision, decide, keep
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.activations import shortened_bytes
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.spec.sections import Objective, Pooling, Spec

#: The poolings of `modules.json` that the spec has too.
_POOLINGS: Final[Mapping[str, Pooling]] = {
    "mean": "mean",
    "cls": "cls",
    "lasttoken": "lasttoken",
}
_MEBI: Final = 1024**2
_WRONG_TEXTS: Final = 3  # `num_negatives` of sentence-transformers' `mine_hard_negatives`


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The decisions; all fields are None under other objectives."""

    pooling: Decision[Pooling] | None = None
    scale: Decision[float] | None = None
    dimensions: Decision[tuple[int, ...]] | None = None
    hard_negatives: Decision[int] | None = None
    query_prompt: Decision[str | None] | None = None
    document_prompt: Decision[str | None] | None = None


def decide_wrong_texts(spec: Spec, data: DataFacts) -> Decision[int] | None:
    """Return the wrong texts drawn per row; None if the data has wrong texts or scores."""
    if not gives_relevance(spec.objective.type) or data.form != "prompt_completion":
        return None
    return decide(
        spec,
        "/objective/wrong_texts",
        spec.objective.wrong_texts,
        lambda: (_WRONG_TEXTS, Because(key="wrong_texts.usual")),
    )


def count_mined(spec: Spec, data: DataFacts) -> int:
    """Return how many hard negatives each row gets; only pairs without a score get some."""
    is_mined = gives_vectors(spec.objective.type) and data.form == "prompt_completion"
    return spec.objective.hard_negatives if is_mined else 0


def count_texts(spec: Spec, data: DataFacts) -> int | None:
    """Return how many texts of a row an embedding model reads, or how many pairs a reranker.

    None under other objectives.
    """
    if gives_vectors(spec.objective.type):
        return (3 if data.form == "preference" else 2) + count_mined(spec, data)
    if not gives_relevance(spec.objective.type):
        return None
    drawn = decide_wrong_texts(spec, data)
    if drawn is not None:
        return 1 + drawn.value
    return 1 if data.form == "scored" else 2  # a triplet has a right and a wrong text


def count_vector_numbers(spec: Spec, hidden: int) -> int:
    """Return the numbers of a text's vectors of all sizes; 0 where one size is trained."""
    if not gives_vectors(spec.objective.type) or not spec.objective.matryoshka_dimensions:
        return 0
    return sum({hidden, *spec.objective.matryoshka_dimensions})


def pairs_in_passes(objective: Objective, data: DataFacts) -> bool:
    """Return whether the loss compares the scored pairs of one pass, so that its rows change it."""
    return gives_vectors(objective.type) and data.form == "scored"


def decide_vectors(
    spec: Spec, model: ModelFacts, data: DataFacts, *, job: Job, mining_seconds: float | None
) -> Vectors:
    """Return how texts become vectors, and with which texts they are compared.

    The tokens of an encoder see the whole text, and so do those of a causal class without its mask,
    so that their mean stands for it; of a model that reads from left to right only the last token
    has seen all others. `mining_seconds` is the time of
    reading all texts for hard negatives, None where no rate is known.
    """
    if not gives_vectors(spec.objective.type):
        return Vectors()

    own = () if model.text_modules is None else model.text_modules.poolings

    def derive() -> tuple[Pooling, Because]:
        if len(own) == 1 and own[0] in _POOLINGS:
            return _POOLINGS[own[0]], Because(key="pooling.own")
        if is_encoder(model.architecture):
            return "mean", Because(key="pooling.encoder")
        if model.reads_both_ways:
            return "mean", Because(key="pooling.both_ways")
        return "lasttoken", Because(key="pooling.causal")

    said = spec.objective
    return Vectors(
        pooling=decide(spec, "/objective/pooling", said.pooling, derive),
        scale=keep(spec, "/objective/similarity_scale", said.similarity_scale),
        dimensions=_decide_dimensions(spec, job),
        hard_negatives=_decide_hard_negatives(spec, data, mining_seconds),
        query_prompt=keep(spec, "/objective/query_prompt", said.query_prompt),
        document_prompt=keep(spec, "/objective/document_prompt", said.document_prompt),
    )


def _decide_dimensions(spec: Spec, job: Job) -> Decision[tuple[int, ...]] | None:
    """Return the shorter sizes, largest first; None if only the full size is trained."""
    dimensions = spec.objective.matryoshka_dimensions
    if not dimensions:
        return None
    because = Because(
        key="matryoshka",
        values={
            "sizes": len({job.shape.hidden, *dimensions}),
            "extra_mib": math.ceil(shortened_bytes(job) / _MEBI),
        },
    )
    shorter = tuple(sorted(dimensions, reverse=True))
    return Decision(value=shorter, source="spec", because=because)


def _decide_hard_negatives(
    spec: Spec, data: DataFacts, seconds: float | None
) -> Decision[int] | None:
    """Return how many are mined for a row; None where there are none."""
    many = count_mined(spec, data)
    if not many:
        return None
    key = "hard_negatives" if seconds is None else "hard_negatives.time"
    values = {} if seconds is None else {"seconds": math.ceil(seconds)}
    return Decision(value=many, source="spec", because=Because(key=key, values=values))
