"""Objectives that turn texts into vectors: how one is read off, and what is put before a text."""

from dataclasses import dataclass

from ftc.compiler.knowledge.encoders import is_encoder
from ftc.compiler.knowledge.objectives import gives_vectors
from ftc.compiler.plan.decision import Because, Decision, decide, keep
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Pooling, Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """What was decided; all fields are None under other objectives."""

    pooling: Decision[Pooling] | None = None
    scale: Decision[float] | None = None
    query_prompt: Decision[str | None] | None = None
    document_prompt: Decision[str | None] | None = None


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
