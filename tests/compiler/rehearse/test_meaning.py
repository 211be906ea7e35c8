"""What a rehearsal cannot test: only the features that the spec uses."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check
from ftc.compiler.rehearse.meaning import find_unshown
from ftc.compiler.resolve.facts import known

SpecMaker = Callable[..., Path]
WORDS = ("kernels", "NCCL", "network", "FlashAttention", "4-bit", "offload", "fused")


def unshown(path: Path) -> list[str]:
    """Return what cannot be tested of a spec; each entry names another test."""
    outcome = check(str(path))
    assert outcome.plan is not None
    assert outcome.facts is not None
    facts = known(outcome.facts)
    assert facts is not None
    found = list(find_unshown(outcome.plan, facts.hardware))
    assert all(one.instead for one in found)
    return [one.what for one in found]


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"hardware": "cpu"}, []),
        ({}, ["kernels", "fused"]),
        ({"method": "qlora"}, ["kernels", "4-bit", "fused"]),
        (
            {"model": {"id": "./model", "attention": "flash_attention_2"}},
            ["kernels", "FlashAttention", "fused"],
        ),
        (
            {
                "method": "full",
                "hardware": "8x H100-SXM5-80GB",
                "distribution": {"strategy": "zero3", "offload": "optimizer"},
            },
            ["kernels", "NCCL", "offload"],
        ),
        (
            {"hardware": {"gpu": "A100-SXM4-80GB", "count": 8, "nodes": 2}},
            ["kernels", "NCCL", "fused", "network"],
        ),
    ],
)
def test_what_a_cpu_cannot_show(
    make_spec: SpecMaker, sections: dict[str, Any], named: list[str]
) -> None:
    """Each is listed only if the spec uses it; sizes and learning are always listed."""
    said = unshown(make_spec(**sections))
    assert "the real sizes" in said[0]
    assert "learns" in said[1]
    rest = " | ".join(said[2:])
    assert {word for word in WORDS if word in rest} == set(named)
