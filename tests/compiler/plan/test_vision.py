"""How large images may be: as large as fits in memory and in the context, and why."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL")

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.time.roofline import forward_seconds, micro_seconds
from ftc.compiler.plan.vision import planned_facts
from ftc.compiler.resolve.facts import KnownFacts, known
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.sections import Spec
from ftc.spec.validate import to_spec
from tests.compiler.seeing import write_model, write_pictures, write_rows

RESOLVER = Resolver()
SIZES = [(3000, 2000), (2500, 2400), (800, 600), (400, 300)] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model and large pictures."""
    place = tmp_path_factory.mktemp("pictures")
    write_model(place / "model")
    config = json.loads((write_model(place / "short") / "config.json").read_text())
    config["text_config"]["max_position_embeddings"] = 4096
    (place / "short" / "config.json").write_text(json.dumps(config))
    write_rows(place / "rows.jsonl", write_pictures(place, SIZES))
    return place


def plan_for(folder: Path, gpu: str, **said: Any) -> tuple[Spec, KnownFacts, Plan]:
    """Plan a LoRA fine-tune on one such GPU."""
    data = {"source": "rows.jsonl", **said.pop("data", {})}
    whole = {"name": "x", "model": "./model", "data": data, "hardware": f"1x {gpu}", **said}
    spec = to_spec(whole)
    facts = known(RESOLVER.resolve(spec, folder=folder))
    assert facts is not None
    return spec, facts, make_plan(spec, facts)


def test_the_processor_limits_what_fits(folder: Path) -> None:
    """With room for the largest picture no other limit is needed."""
    _, facts, plan = plan_for(folder, "H100-80GB")
    assert plan.decisions.rows.max_pixels is not None
    assert plan.decisions.rows.max_pixels.value == 12_845_056
    assert "the model's processor" in sentence(plan.decisions.rows.max_pixels.because)
    assert planned_facts(facts, plan).data.lengths == facts.data.lengths


def test_memory_limits_the_rest(folder: Path) -> None:
    """The limit is the largest that fits; the next larger one does not."""
    _, facts, plan = plan_for(folder, "RTX-3060")
    decided = plan.decisions.rows.max_pixels
    assert decided is not None
    assert plan.memory.fits
    assert decided.because.key == "max_pixels.memory"
    assert decided.value < decided.because.values["larger"] <= 12_845_056
    larger = {"images": {"max_pixels": decided.because.values["larger"]}}
    _, _, too_large = plan_for(folder, "RTX-3060", data=larger)
    assert too_large.memory.fits is False
    limited = planned_facts(facts, plan).data
    assert limited.lengths.max < facts.data.lengths.max
    assert limited.lengths.max <= plan.decisions.rows.max_length.value


def test_the_context_limits_them_too(folder: Path) -> None:
    """The images of a row leave room for its text."""
    _, facts, plan = plan_for(folder, "H100-80GB", model="./short")
    decided = plan.decisions.rows.max_pixels
    assert decided is not None
    assert decided.because.key == "max_pixels.context"
    assert planned_facts(facts, plan).data.lengths.max <= 4096


def test_a_limit_of_the_spec_is_kept(folder: Path) -> None:
    """Even where the run does not fit with it."""
    _, _, plan = plan_for(folder, "H100-80GB", data={"images": {"max_pixels": 500_000}})
    assert plan.decisions.rows.max_pixels is not None
    assert (plan.decisions.rows.max_pixels.value, plan.decisions.rows.max_pixels.source) == (
        500_000,
        "spec",
    )


def test_smaller_images_need_less_of_everything(folder: Path) -> None:
    """Memory and time fall with the limit."""
    plans = [
        plan_for(folder, "H100-80GB", data={"images": {"max_pixels": limit}})[2]
        for limit in (12_845_056, 1_048_576, 65_536)
    ]
    peaks = [plan.memory.phases["vision"] for plan in plans]
    assert peaks == sorted(peaks, reverse=True)
    assert len(set(peaks)) == 3
    times = [plan.time_seconds or 0 for plan in plans]
    assert times == sorted(times, reverse=True)


def test_trained_parts_are_counted(folder: Path) -> None:
    """Their weights are trained, and their activations kept."""
    _, facts, alone = plan_for(folder, "H100-80GB")
    parts = ["language_model", "projector", "vision_tower"]
    _, _, adapted = plan_for(folder, "H100-80GB", method={"type": "lora", "parts": parts})
    _, _, whole = plan_for(folder, "H100-80GB", method={"type": "full", "parts": parts})
    _, _, text = plan_for(folder, "H100-80GB", method={"type": "full"})
    assert facts.model.vision is not None
    tower = facts.model.vision.tower
    seeing = tower.parameters + tower.projector_parameters
    assert whole.trainable_parameters - text.trainable_parameters == seeing
    rank = adapted.decisions.lora.lora_rank
    assert rank is not None
    linears = (*tower.linears, *tower.projector_linears)
    matrices = rank.value * sum(count * (inner + outer) for inner, outer, count in linears)
    assert adapted.trainable_parameters - alone.trainable_parameters == matrices
    assert "vision_backward" in adapted.memory.phases
    assert "vision_backward" not in alone.memory.phases


def test_pairs_with_images_are_planned(folder: Path) -> None:
    """Each of two sequences sees the images; the reference sees them at every step."""
    rows = [json.loads(line) for line in (folder / "rows.jsonl").read_text().splitlines()]
    pairs = [
        {"image": row["image"], "prompt": "what?", "chosen": row["answer"], "rejected": "no"}
        for row in rows
    ]
    write_rows(folder / "pairs.jsonl", pairs)
    data = {"source": "pairs.jsonl", "images": {"max_pixels": 262_144}}
    training = {"micro_batch": 2, "gradient_checkpointing": True}
    said = {"data": data, "objective": "dpo", "training": training}
    _, _, adapted = plan_for(folder, "H100-80GB", **said)
    _, _, whole = plan_for(folder, "H100-80GB", **said, method="full")
    _, _, alone = plan_for(
        folder,
        "H100-80GB",
        data={"images": data["images"]},
        training={**training, "micro_batch": 4},
    )
    assert adapted.decisions.comparison.reference is not None
    assert whole.decisions.comparison.reference is not None
    assert (
        adapted.decisions.comparison.reference.value,
        whole.decisions.comparison.reference.value,
    ) == (
        "adapter_off",
        "copy",
    )
    assert adapted.decisions.comparison.reference.because.key == "reference.images"
    assert adapted.memory.phases["vision"] == pytest.approx(alone.memory.phases["vision"], rel=0.03)
    assert adapted.memory.phases["reference"] > adapted.memory.phases["vision"]


def test_every_forward_pass_sees(folder: Path) -> None:
    """The tower takes as long in an evaluation, where nothing is trained, as in training."""
    spec, facts, _ = plan_for(folder, "H100-80GB")
    job, hardware = (
        make_frame(spec, facts).job("single", checkpointing=False, micro=4),
        facts.hardware,
    )
    blind = replace(job, sight=None)
    training = micro_seconds(job, hardware, 50_000) - micro_seconds(blind, hardware, 50_000)
    passing = forward_seconds(job, hardware, 50_000) - forward_seconds(blind, hardware, 50_000)
    assert passing == pytest.approx(training, rel=0.01)


def test_rows_with_images_are_not_packed(folder: Path) -> None:
    """Whatever their lengths."""
    _, _, plan = plan_for(folder, "H100-80GB")
    assert plan.decisions.rows.packing.because.key == "packing.images"
