"""The words of an offer describe its patch."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.compiler.plan.planner import make_plan, plan_once
from ftc.compiler.plan.summary.devices import on_device
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


def test_a_batch_that_cannot_be_divided_hides_no_alternative(build_known: BuildKnown) -> None:
    """It has a finding of its own: what would fit is the same as with a batch that can."""
    edits = {"/spec/method/type": "full", "/spec/training/micro_batch": 3}

    def offers(batch: int) -> set[str]:
        plan = make_plan(*build_known(edits | {"/spec/training/global_batch": batch}))
        return {alternative.change for alternative in plan.alternatives}

    assert offers(100) == offers(96)
    assert any("LoRA" in words for words in offers(100))


def test_gpus_that_would_fit_are_those_whose_plan_fits(build_known: BuildKnown) -> None:
    """Packed rows that are too long for a GPU are made shorter, as the plan of that GPU does."""
    edits = {
        "/spec/data/packing": "best-fit",
        "/spec/data/max_length": 8192,
        "/spec/training/global_batch": 64,
        "/spec/training/micro_batch": 16,
        "/spec/hardware/gpu": "RTX-4090",
        "/facts/hardware/name": "RTX-4090",
        "/facts/hardware/memory_bytes": 25_000_000_000,
    }
    spec, facts = build_known(edits)
    fitting = set(make_plan(spec, facts).fitting_gpus)
    for device in all_accelerators():
        if device.name in {"H200-SXM-141GB", "A100-SXM4-80GB", "B200-192GB"}:
            fits = plan_once(spec, on_device(facts, device)).memory.fits
            assert (device.name in fitting) == fits, device.name


def test_an_offer_never_gives_vllm_what_it_cannot_load(build_known: BuildKnown) -> None:
    """QLoRA comes without vLLM, which loads no quantized base, and its server has no room here."""
    edits = {
        "/spec/objective/type": "grpo",
        "/spec/objective/vllm": "server",
        "/facts/data/labels": [],
        "/facts/data/rewards": {"rows": 1000, "numbered_rows": 1000},
        "/facts/hardware/count": 2,
        "/facts/hardware/memory_bytes": 20 * GIB,
    }
    plan = make_plan(*build_known(edits))

    assert plan.alternatives
    for each in plan.alternatives:
        fix = {step["path"]: step.get("value") for step in each.fix}
        assert (fix["/method/type"], fix["/objective/vllm"]) == ("qlora", "off")
        assert "without vLLM" in each.change


def test_a_beta_of_zero_needs_no_reference(build_known: BuildKnown) -> None:
    """TRL makes none then; any other beta of a full fine-tune needs a second model."""
    edits = {
        "/spec/objective/type": "grpo",
        "/spec/method/type": "full",
        "/facts/data/labels": [],
        "/facts/data/rewards": {"rows": 1000, "numbered_rows": 1000},
    }
    plans = {
        beta: make_plan(*build_known({**edits, "/spec/objective/beta": beta}))
        for beta in (0, "auto", 0.04)
    }
    peaks = {beta: plan.memory.phases["optimizer_step"] for beta, plan in plans.items()}

    assert peaks[0] == peaks["auto"] < peaks[0.04]
