"""The image input of a training process: the tower, its trained parts, and its patches."""

from dataclasses import dataclass, replace

from ftc.compiler.knowledge.architectures.shape import Shape
from ftc.compiler.knowledge.multimodal.towers import Tower
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Method, ModelPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The image input of a process: the tower, its trained parts, and the patches.

    `row_patches` and `row_tokens` are those of the row with the most, `mean_patches` those of a row
    on average; `picture_patches` are compared with each other. `trainable` counts the trained
    weights of tower and projector, which are those of adapters if `adapts`.
    """

    tower: Tower
    trains_tower: bool
    trains_projector: bool
    adapts: bool
    trainable: int
    row_patches: int
    mean_patches: float
    picture_patches: int
    row_tokens: int


def make_sight(
    method: Method, facts: KnownFacts, *, rank: int | None, dora: bool = False
) -> Sight | None:
    """Return the tower's input under the first of the limits; None for rows without images.

    `rank` is that of adapters, which may be of DoRA; None where weights are trained in full.
    """
    vision, pictures = facts.model.vision, facts.data.pictures
    if vision is None or pictures is None or not pictures.sizes:
        return None
    size, parts = pictures.sizes[0], method.parts
    tower, projector = "vision_tower" in parts, "projector" in parts
    return Sight(
        tower=vision.tower,
        trains_tower=tower,
        trains_projector=projector,
        adapts=rank is not None,
        trainable=sum(_count(vision.tower, part, rank=rank, dora=dora) for part in parts),
        row_patches=size.row_patches_max,
        mean_patches=size.row_patches_mean,
        picture_patches=size.picture_patches_max,
        row_tokens=size.row_tokens_max,
    )


def see(shape: Shape, facts: KnownFacts) -> Shape:
    """Return the shape with the tower and projector in memory, if rows have images."""
    vision = facts.model.vision
    if vision is None or facts.data.pictures is None:
        return shape
    tower = vision.tower
    return replace(shape, frozen_parameters=tower.parameters + tower.projector_parameters)


def _count(tower: Tower, part: ModelPart, *, rank: int | None, dora: bool) -> int:
    """Count the trained weights of a vision part, or those of its adapters."""
    whole, linears = {
        "language_model": (0, ()),
        "projector": (tower.projector_parameters, tower.projector_linears),
        "vision_tower": (tower.parameters, tower.linears),
    }[part]
    if rank is None:
        return whole
    magnitudes = sum(outer * count for _, outer, count in linears) if dora else 0
    return rank * sum(count * (inner + outer) for inner, outer, count in linears) + magnitudes
