"""The bytes of images: the batch's pixels, the tower's forward pass, and its stored activations.

The coefficients are those of the classes in the pinned transformers, under SDPA and in 16 bits: the
test of this module traces every tensor of their forward passes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.multimodal.towers import Kind, Linear, Tower
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.sight import Sight

_FP32, _HALF, _INT32, _INT64 = 4, 2, 4, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Bytes per patch: for each unit of the width, the MLP's width, a head's, a patch's numbers.

    `heads` is for each head, `out` for the width of the language model, in which some patches share
    a token, and `one` for the patch itself.
    """

    wide: float = 0
    inner: float = 0
    head: float = 0
    values: float = 0
    heads: float = 0
    out: float = 0
    one: float = 0

    def of(self, tower: Tower) -> float:
        """Return the bytes of one patch in this tower."""
        return (
            self.wide * tower.hidden
            + self.inner * tower.intermediate
            + self.head * tower.hidden / tower.heads
            + self.values * tower.patch_values
            + self.heads * tower.heads
            + self.out * tower.out / tower.merge**2
            + self.one
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """What a tower has allocated: in attention and in the MLP of a layer, and what it keeps.

    `layer` is kept for the backward pass of one layer, `rest` outside the layers. Of these bytes
    `freed` is what a layer does not keep where adapters are trained in place of its weights, and
    `adapted` is then kept outside the layers; the adapters' own come on top.
    """

    attention: Terms
    mlp: Terms
    layer: Terms
    rest: Terms
    freed: Terms
    adapted: Terms


_LAYERED: Final = Terms(wide=16, inner=4, heads=4, one=8)
_LAYERED_FREED: Final = Terms(wide=4, inner=2)
_BLOCKS_FREED: Final = Terms(wide=6, inner=2)
_PASSES: Final[Mapping[Kind, Passes]] = {
    "clip": Passes(
        attention=Terms(wide=14),
        mlp=Terms(wide=8, inner=6),
        layer=Terms(wide=16, inner=6, heads=4, one=8),
        rest=Terms(wide=6, values=2, out=4, one=4),
        freed=_LAYERED_FREED,
        adapted=Terms(wide=-3, out=2, one=-4),
    ),
    "idefics3": Passes(
        attention=Terms(wide=14, values=14 / 3),
        mlp=Terms(wide=8, inner=4, values=14 / 3),
        layer=_LAYERED,
        rest=Terms(wide=4, values=2, one=12),
        freed=_LAYERED_FREED,
        adapted=Terms(wide=-3),
    ),
    "internvl": Passes(
        attention=Terms(wide=16, values=2),
        mlp=Terms(wide=10, inner=4, values=2),
        layer=Terms(wide=20, inner=4, heads=4, one=8),
        rest=Terms(wide=4, values=2, out=4, one=1),
        freed=Terms(wide=8, inner=2),
        adapted=Terms(wide=-3, out=2, one=-3),
    ),
    "lfm2_vl": Passes(
        attention=Terms(wide=16),
        mlp=Terms(wide=8, inner=4),
        layer=_LAYERED,
        rest=Terms(wide=6, values=2, out=4, one=5),
        freed=_LAYERED_FREED,
        adapted=Terms(wide=-1, out=2, one=1),
    ),
    "pixtral": Passes(
        attention=Terms(wide=22, head=6, one=16),
        mlp=Terms(wide=10, inner=6, head=4, one=16),
        layer=Terms(wide=24, inner=8, heads=4, one=8),
        rest=Terms(wide=14.5, head=4, values=2, out=4, one=8),
        freed=Terms(wide=8, inner=2),
        adapted=Terms(wide=-3, head=4, out=2),
    ),
    "qwen2_5_vl": Passes(
        attention=Terms(wide=34, head=8, values=2, one=18),
        mlp=Terms(wide=6, inner=6, head=8, values=2, one=18),
        layer=Terms(wide=30, inner=8, heads=4, one=8),
        rest=Terms(wide=12, head=8, values=2, one=8),
        freed=Terms(wide=10, inner=2),
        adapted=Terms(wide=1, head=8, one=2),
    ),
    "qwen2_vl": Passes(
        attention=Terms(wide=34, head=8, values=2, one=16),
        mlp=Terms(wide=6, inner=6, head=8, values=2, one=16),
        layer=Terms(wide=22, inner=6, heads=4, one=8),
        rest=Terms(wide=8, head=8, values=2, one=4),
        freed=_BLOCKS_FREED,
        adapted=Terms(wide=1, head=8),
    ),
    "qwen3_5": Passes(
        attention=Terms(wide=38, head=8, values=2, one=64),
        mlp=Terms(wide=10, inner=4, head=8, values=2, one=64),
        layer=Terms(wide=22, inner=4, heads=4, one=8),
        rest=Terms(wide=8, head=8, values=2, one=52),
        freed=_BLOCKS_FREED,
        adapted=Terms(wide=1, head=8),
    ),
    "qwen3_vl": Passes(
        attention=Terms(wide=38, head=8, values=2, one=64),
        mlp=Terms(wide=10, inner=4, head=8, values=2, one=64),
        layer=Terms(wide=22, inner=4, heads=4, one=8),
        rest=Terms(wide=14, head=8, values=2, one=52),
        freed=_BLOCKS_FREED,
        adapted=Terms(wide=3, head=8, one=1),
    ),
    "siglip": Passes(
        attention=Terms(wide=14),
        mlp=Terms(wide=8, inner=4),
        layer=_LAYERED,
        rest=Terms(wide=6.5, values=2, one=5),
        freed=_LAYERED_FREED,
        adapted=Terms(one=1),
    ),
}
#: Pixtral compares the patches of a batch under one mask, in 16 bits.
_MASKED: Final = frozenset({"pixtral"})


def pixel_bytes(job: Job, *, rows: int) -> int:
    """Return the bytes of the processed images of a number of rows, in fp32.

    Idefics3 and SmolVLM have a mask of the pixels besides, in int64, LFM2-VL one of the patches.
    """
    sight = job.sight
    if sight is None:
        return 0
    each = _FP32 * sight.tower.patch_values
    if sight.tower.kind == "idefics3":
        each += _INT64 * sight.tower.patch**2
    elif sight.tower.kind == "lfm2_vl":
        each += _INT32
    return rows * sight.row_patches * each


def forward_bytes(job: Job, *, rows: int) -> int:
    """Return the bytes of the tower's forward pass at its peak, beside what a trained one keeps."""
    sight = job.sight
    if sight is None:
        return 0
    passes = _PASSES[sight.tower.kind]
    most = max(passes.attention.of(sight.tower), passes.mlp.of(sight.tower))
    stacked = rows * sight.row_tokens * sight.tower.out * sight.tower.deepstack * job.compute_bytes
    patches = rows * sight.row_patches
    return round((patches * most + mask_bytes(sight, patches)) * _width(job)) + stacked


def mask_bytes(sight: Sight, patches: int) -> int:
    """Return the bytes of the mask that keeps the pictures of a batch apart."""
    return _HALF * patches**2 if sight.tower.kind in _MASKED else 0


def kept_bytes(job: Job) -> int:
    """Return the bytes that tower and projector keep for their backward pass, 0 if frozen.

    A recomputed layer keeps its input alone.
    """
    sight = job.sight
    if sight is None or not (sight.trains_tower or sight.trains_projector):
        return 0
    tower, passes = sight.tower, _PASSES[sight.tower.kind]
    each = (passes.adapted if sight.adapts else passes.rest).of(tower) * _width(job)
    if sight.trains_projector and sight.adapts:
        each = max(0, each) + _adapter_bytes(job, tower.projector_linears) / tower.merge**2
    if sight.trains_tower:
        recomputed = _HALF * tower.hidden * _width(job)
        each += tower.layers * (recomputed if job.checkpointing else _layer_bytes(job, sight))
    return round(job.sequences * sight.row_patches * max(0, each))


def recomputed_bytes(job: Job) -> int:
    """Return the bytes of the layer of a trained tower that is recomputed for its backward pass."""
    sight = job.sight
    if sight is None or not sight.trains_tower or not job.checkpointing:
        return 0
    return round(job.sequences * sight.row_patches * _layer_bytes(job, sight))


def _layer_bytes(job: Job, sight: Sight) -> float:
    """Return the bytes that a layer of a trained tower and its adapters keep for each patch."""
    tower, passes = sight.tower, _PASSES[sight.tower.kind]
    kept = passes.layer.of(tower) * _width(job)
    if not sight.adapts:
        return kept
    own = _adapter_bytes(job, tower.linears) / max(1, tower.layers)
    return kept - passes.freed.of(tower) * _width(job) + own


def _adapter_bytes(job: Job, linears: Sequence[Linear]) -> int:
    """Return the bytes that adapters of linear modules keep for each token, as in other layers."""
    wide = max(job.stack.adapter_input_bytes, job.compute_bytes)
    masked = wide + (1 if job.dropout else 0)
    outputs = 2 * job.compute_bytes if job.dora else 0
    return sum(
        count * (inner * masked + outer * outputs + job.rank * wide)
        for inner, outer, count in linears
    )


def feature_bytes(job: Job) -> int:
    """Return the bytes of the features of images in the language model, deepstack's included."""
    sight: Sight | None = job.sight
    if sight is None:
        return 0
    copies = 1 + sight.tower.deepstack
    return job.sequences * sight.row_tokens * sight.tower.out * copies * job.compute_bytes


def _width(job: Job) -> float:
    return job.compute_bytes / _HALF
