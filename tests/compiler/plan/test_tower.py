"""The memory of vision towers against traces of the real classes."""

from dataclasses import replace
from typing import Final

import pytest

from ftc.compiler.knowledge.multimodal.towers import read_tower
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.tower import forward_bytes, kept_bytes, pixel_bytes
from ftc.compiler.plan.sight import Sight
from ftc.compiler.plan.software import PINNED
from tests.compiler.conftest import BuildKnown

NAMES: Final = (
    *("gemma3", "idefics3", "internvl", "lfm2_vl", "llava", "mistral3", "qwen2_5_vl", "qwen2_vl"),
    *("qwen3_5", "qwen3_vl", "smolvlm"),
)
BOUND: Final = 0.02
SIDE: Final = 16
LAYERS: Final = 6
RANK: Final = 8


@pytest.mark.prove
@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_real_tower_allocates_what_is_planned(build_known: BuildKnown, name: str) -> None:
    """A frozen one at its peak; trained, or with adapters, for its backward pass: within 2 %."""
    pytest.importorskip("transformers")
    from tests.compiler.plan.trace_tower import (  # noqa: PLC0415 - torch
        DROPOUT,
        OUT,
        make_images,
        trace,
    )

    for trained, rank in ((False, 0), (True, 0), (True, RANK)):
        found, patches, config = trace(name, layers=LAYERS, side=SIDE, trained=trained, rank=rank)
        tower = read_tower(config, hidden=OUT)
        assert tower is not None
        sight = Sight(
            tower=tower,
            trains_tower=trained,
            trains_projector=trained,
            adapts=rank > 0,
            trainable=0,
            row_patches=patches,
            mean_patches=patches,
            picture_patches=patches,
            row_tokens=patches // tower.merge**2,
        )
        job = replace(job_of(build_known, sight), rank=rank, dropout=DROPOUT)
        planned = kept_bytes(job) if trained else forward_bytes(job, rows=1)
        assert planned == pytest.approx(found, rel=BOUND), (trained, rank, planned / found)
        images, _, _ = make_images(name, SIDE)
        held = sum(t.nbytes for key, t in images.items() if key.startswith("pixel"))
        assert pixel_bytes(job, rows=1) == held


def job_of(build_known: BuildKnown, sight: Sight) -> Job:
    """Return a job of one row that sees so much."""
    shape = build_known({})[1].model.shape
    assert shape is not None
    return Job(
        shape=shape,
        full=True,
        trainable=0,
        load_bytes=2,
        compute_bytes=2,
        attention="sdpa",
        sharding="single",
        world=1,
        micro=1,
        accumulation=1,
        length_tokens=64,
        checkpointing=False,
        gpu=True,
        sight=sight,
        stack=replace(PINNED, adapter_input_bytes=2),  # the adapters have the type of the weights
    )
