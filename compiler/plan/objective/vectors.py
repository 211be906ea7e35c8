"""Objectives that compare texts: how a vector is read off, and what a query is compared with."""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.encoders import is_encoder
from ftc.compiler.knowledge.objectives import gives_relevance, gives_vectors
from ftc.compiler.plan.decision import Because, Decision, decide, keep
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.spec.sections import Objective, Pooling, Spec

_WRONG_TEXTS: Final = 3  # `num_negatives` of sentence-transformers' `mine_hard_negatives`


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """The decisions; all fields are None under other objectives."""

    pooling: Decision[Pooling] | None = None
    scale: Decision[float] | None = None
    query_prompt: Decision[str | None] | None = None
    document_prompt: Decision[str | None] | None = None


def decide_wrong_texts(spec: Spec, data: DataFacts) -> Decision[int] | None:
    """Return how many wrong texts are drawn for a row; None where the data have them, or scores."""
    if not gives_relevance(spec.objective.type) or data.form != "prompt_completion":
        return None
    return decide(
        spec,
        "/objective/wrong_texts",
        spec.objective.wrong_texts,
        lambda: (_WRONG_TEXTS, Because(key="wrong_texts.usual")),
    )


def count_pairs(spec: Spec, data: DataFacts) -> int | None:
    """Return how many pairs a reranker reads of a row; None under other objectives."""
    if not gives_relevance(spec.objective.type):
        return None
    drawn = decide_wrong_texts(spec, data)
    if drawn is not None:
        return 1 + drawn.value
    return 1 if data.form == "scored" else 2  # a triplet has a right and a wrong text


def pairs_in_passes(objective: Objective, data: DataFacts) -> bool:
    """Tell whether the loss compares the scored pairs of one pass, so that its rows change it."""
    return gives_vectors(objective.type) and data.form == "scored"


def decide_vectors(spec: Spec, model: ModelFacts) -> Vectors:
    """Return how texts become vectors.

    An encoder's tokens see the whole text, so that their mean stands for it; of a model that reads
    from left to right only the last token has seen all others.
    """
    if not gives_vectors(spec.objective.type):
        return Vectors()

    def derive() -> tuple[Pooling, Because]:
        if is_encoder(model.architecture):
            return "mean", Because(key="pooling.encoder")
        return "lasttoken", Because(key="pooling.causal")

    said = spec.objective
    return Vectors(
        pooling=decide(spec, "/objective/pooling", said.pooling, derive),
        scale=keep(spec, "/objective/similarity_scale", said.similarity_scale),
        query_prompt=keep(spec, "/objective/query_prompt", said.query_prompt),
        document_prompt=keep(spec, "/objective/document_prompt", said.document_prompt),
    )
