"""Freezing: which layers are trained, and what stands outside of them and is trained too."""

from dataclasses import dataclass

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide, derived, keep
from ftc.spec.sections import Part, Spec

_SHARE = 4  # one layer of so many


@dataclass(frozen=True, slots=True, kw_only=True)
class Freezing:
    """The layers that are trained, by number from 0, and how many weights move in all."""

    layers: Decision[tuple[int, ...]]
    parameters: int
    frozen_layers: int


def decide_freezing(spec: Spec, shape: Shape) -> Freezing | None:
    """Return what a fine-tune of some layers trains, None under other methods.

    The last quarter, where nothing is said: what an answer says and how is made there. No backward
    pass reaches below the first trained layer unless the embeddings are trained.
    """
    if spec.method.type != "freeze":
        return None
    written = spec.method.layers

    def derive() -> tuple[tuple[int, ...], Because]:
        count = max(1, shape.layers // _SHARE)
        values = {"count": count, "layers": shape.layers}
        return _last(shape, count), Because(key="trained_layers.quarter", values=values)

    if isinstance(written, int):
        layers = keep(spec, "/method/layers", _last(shape, written))
    else:
        layers = decide(spec, "/method/layers", written, derive)
    inside = [layer for layer in layers.value if layer < shape.layers]
    outside, embeds = part_parameters(spec, shape), trains_embedding(spec, shape)
    return Freezing(
        layers=layers,
        parameters=len(inside) * shape.largest_layer_parameters + outside,
        frozen_layers=0 if embeds else min(inside, default=0),
    )


def decide_parts(spec: Spec) -> Decision[tuple[Part, ...]] | None:
    """Return what is trained whole beside layers or an adapter, None where nothing is."""
    parts = spec.method.also_train
    return keep(spec, "/method/also_train", parts) if parts else None


def decide_new_tokens(spec: Spec) -> Decision[int] | None:
    """Return how many tokens are added, None where none is."""
    count = len(spec.model.new_tokens)
    return derived(count, "new_tokens", field="model.new_tokens") if count else None


def token_parameters(spec: Spec, shape: Shape) -> int:
    """Return the weights of new rows beside an adapter, in tables that are not trained whole."""
    tables = int(not trains_embedding(spec, shape))
    tables += int(not shape.tied and not trains_head(spec, shape))
    return len(spec.model.new_tokens) * shape.hidden * tables


def part_parameters(spec: Spec, shape: Shape) -> int:
    """Return the weights of the parts outside the layers that are trained whole."""
    head = shape.head_parameters if trains_head(spec, shape) and not shape.tied else 0
    return head + (shape.embedding_parameters if trains_embedding(spec, shape) else 0)


def trains_embedding(spec: Spec, shape: Shape) -> bool:
    """Whether the embedding is trained whole; a tied head is the embedding."""
    parts = spec.method.also_train
    return "embeddings" in parts or (shape.tied and "head" in parts)


def trains_head(spec: Spec, shape: Shape) -> bool:
    """Whether the output head is trained whole, as one that scores always is: it is new."""
    parts = spec.method.also_train
    if OBJECTIVES[spec.objective.type].head == "scores":
        return True
    return "head" in parts or (shape.tied and "embeddings" in parts)


def _last(shape: Shape, count: int) -> tuple[int, ...]:
    return tuple(range(max(0, shape.layers - count), shape.layers))
