"""What is offered in words is what the patch of the offer does."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
GIB = 2**30


@pytest.mark.parametrize("strategy", ["fsdp", "ddp"])
def test_an_offer_names_the_strategy_that_takes_the_place_of_the_spec_s(
    strategy: str, build_known: BuildKnown
) -> None:
    """FSDP and DDP offload nothing, so an offer to offload also leaves them."""
    edits = {
        "/spec/method/type": "full",
        "/spec/distribution/strategy": strategy,
        "/facts/hardware/count": 4,
        "/facts/hardware/memory_bytes": 12 * GIB,
    }
    plan = make_plan(*build_known(edits))
    offers = [
        (each.change, {step["path"]: step.get("value") for step in each.fix})
        for each in plan.alternatives
    ]
    offloading = [(words, fix) for words, fix in offers if "/distribution/offload" in fix]
    assert offloading, offers
    for words, fix in offloading:
        assert fix["/distribution/strategy"] == "auto"
        assert "ZeRO-" in words
