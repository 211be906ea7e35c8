"""The shortlist: at most four models, each for a reason of its own."""

from dataclasses import replace

import pytest

from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.facts import HardwareFacts
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.compiler.shortlist import (
    MOST_FOR_LABELS,
    ROOM,
    ModelRequirements,
    list_models,
    nominal_data,
    shortlist,
)
from ftc.spec.validate import to_spec

MACHINES = ("RTX-3060", "RTX-4090", "A100-SXM4-80GB", "2x H100-SXM5-80GB", "T4")


def wish(machine: str | None) -> ModelRequirements:
    """Return a wish for a machine, with rows of 512 tokens."""
    written = {"name": "a", "model": "b", "data": "c"} | ({"hardware": machine} if machine else {})
    spec = to_spec(written)
    hardware = resolve_hardware(spec) if machine else None
    assert hardware is None or isinstance(hardware, HardwareFacts)
    return ModelRequirements(spec=spec, data=nominal_data(), hardware=hardware)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_pick_fits_and_differs(machine: str) -> None:
    """Four reasons at most, no model twice, nothing that lacks something or takes a day."""
    picks = shortlist(wish(machine))
    assert 1 <= len(picks) <= 4
    assert len({pick.reason for pick in picks}) == len(picks)
    assert len({pick.candidate.model.id for pick in picks}) == len(picks)
    for pick in picks:
        plan = pick.candidate.plan
        assert plan is not None
        assert plan.memory.fits
        assert plan.time_seconds is None or plan.time_seconds <= 24 * 3600
        assert pick.candidate.lacks == ()
        assert pick.candidate.model.kind == "instruct"


def test_the_reasons_are_true() -> None:
    """Largest, of another maker, quickest, without conditions: each by the numbers."""
    picks = {pick.reason: pick.candidate.model for pick in shortlist(wish("RTX-4090"))}
    sizes = {reason: model.shape.parameters for reason, model in picks.items()}
    assert sizes["largest"] == max(sizes.values())
    assert sizes["quickest"] == min(sizes.values()) >= 10**9
    makers = {reason: model.id.partition("/")[0] for reason, model in picks.items()}
    assert makers["another_maker"] != makers["largest"]
    assert picks["free_licence"].licence in {"apache-2.0", "mit"}
    assert not picks["free_licence"].gated


def test_the_next_larger_needs_more_than_the_machine_has() -> None:
    """What would change the choice: a model that only a larger device is missing for."""
    largest = next(p for p in shortlist(wish("RTX-4090")) if p.reason == "largest")
    larger = largest.larger
    assert larger is not None
    assert larger.plan is not None
    assert larger.lacks == ("memory",)
    assert larger.model.shape.parameters > largest.candidate.model.shape.parameters
    assert larger.plan.memory.device_bytes > (larger.plan.memory.capacity_bytes or 0)


def test_lora_is_taken_before_qlora() -> None:
    """A small model keeps its weights as they are; a large one is quantized to fit."""
    small, large = find_model("Qwen/Qwen3-0.6B"), find_model("Qwen/Qwen3-14B")
    assert small is not None
    assert large is not None
    found = {each.model.id: each.method for each in list_models(wish("RTX-3060"), [small, large])}
    assert found == {small.id: "lora", large.id: "qlora"}


def test_a_method_that_was_said_is_the_only_one_tried() -> None:
    """A full fine-tune leaves only what fits in full."""
    asked = wish("RTX-4090")
    full = shortlist(replace(asked, methods=("full",)))
    assert {pick.candidate.method for pick in full} == {"full"}
    sizes = [pick.candidate.model.shape.parameters for pick in full]
    assert max(sizes) < max(p.candidate.model.shape.parameters for p in shortlist(asked))


def test_without_hardware_there_are_no_plans() -> None:
    """What is asked of languages and context still counts."""
    picks = shortlist(replace(wish(None), languages=("ca",), context_tokens=4000))
    assert picks
    for pick in picks:
        assert pick.candidate.plan is None
        assert "ca" in pick.candidate.model.languages
        assert pick.candidate.model.context_tokens >= 4000


def test_a_wish_that_nothing_meets_gives_an_empty_list() -> None:
    """No model is offered against what was asked."""
    assert shortlist(replace(wish(None), languages=("xx",))) == ()
    assert all(
        "languages" in each.lacks for each in list_models(replace(wish(None), languages=("xx",)))
    )


def test_a_quantized_model_is_never_proposed() -> None:
    """It fits in memory, and FTC120 refuses it."""
    found = {each.model.id: each for each in list_models(wish("8x H200"))}
    assert found["openai/gpt-oss-20b"].lacks == ("16_bit_weights",)


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_suggested_leaves_room(machine: str) -> None:
    """A plan with a few megabytes to spare is not suggested where others fit."""
    for pick in shortlist(wish(machine)):
        assert pick.candidate.plan is not None
        memory = pick.candidate.plan.memory
        assert memory.capacity_bytes is not None
        assert memory.device_bytes <= (1 - ROOM) * memory.capacity_bytes


def test_a_tight_model_is_suggested_where_no_other_fits() -> None:
    """It fits, and that is more than nothing."""
    asked = replace(wish("RTX-4090"), allowed=frozenset({"Qwen/Qwen3-32B"}))
    (pick,) = shortlist(asked)
    assert pick.candidate.plan is not None
    assert pick.candidate.plan.memory.fits


def test_a_small_model_comes_first_for_labels() -> None:
    """The quickest is the first pick, and none is larger than labels need."""
    asked = replace(wish("RTX-4090"), labels=True, most_parameters=MOST_FOR_LABELS)
    picks = shortlist(asked)
    assert picks[0].reason == "quickest"
    sizes = [pick.candidate.model.shape.parameters for pick in picks]
    assert sizes[0] == min(sizes)
    assert max(sizes) <= MOST_FOR_LABELS
