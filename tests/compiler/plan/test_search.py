"""The search: what it chooses is the fastest of all that fit, and says what the next costs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.plan.plan import Memory
from ftc.compiler.plan.planner import make_frame, make_plan
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.search.layout import least_device_bytes, leaves_room, search, ways
from ftc.compiler.plan.search.padding import choose_padding
from ftc.compiler.plan.search.space import Frame, partly_recomputed
from ftc.compiler.plan.time.run import pass_tokens, step_seconds
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
GIB = 2**30
CASES: tuple[Mapping[str, Any], ...] = (
    {},
    {"/facts/hardware/memory_bytes": 24 * GIB},
    {"/spec/method/type": "qlora", "/facts/hardware/memory_bytes": 16 * GIB},
    {"/spec/method/type": "full", "/facts/hardware/count": 2},
    {"/spec/method/type": "full", "/facts/hardware/count": 8, "/facts/hardware/link": "pcie"},
    {"/facts/hardware/count": 4, "/spec/training/global_batch": 96},
    *({"/facts/hardware/memory_bytes": gib * GIB} for gib in (19, 20, 21, 22, 23, 26, 30, 36)),
    {"/spec/method/type": "full", "/facts/hardware/memory_bytes": 150 * GIB},
)


@pytest.mark.parametrize("edits", CASES)
def test_nothing_that_fits_is_much_faster(
    build_known: BuildKnown, edits: Mapping[str, Any]
) -> None:
    """Every layout there is, measured and timed one by one: only one without room is faster."""
    frame = make_frame(*build_known(edits))
    chosen = search(frame).chosen
    assert chosen.memory.fits
    least = chosen.memory.device_bytes
    parts = [
        replace(way, checkpointing=part)
        for way in ways(frame)
        for part in partly_recomputed(frame, way.sharding)
    ]
    for way in (*ways(frame), *parts):
        for micro in frame.batch.micro_options:
            job = frame.job(
                way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload
            )
            memory = frame.memory(
                way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload
            )
            step = frame.batch.decision.value
            tokens = pass_tokens(frame.arrangement, micro=micro, world=frame.world.value, step=step)
            least = min(least, memory.device_bytes)
            if memory.fits:
                seconds = step_seconds(job, frame.facts.hardware, tokens)
                cost = 1.1 if leaves_room(chosen.memory) and not leaves_room(memory) else 1
                assert cost * seconds >= chosen.seconds - 1e-6
    assert least_device_bytes(frame) == least


GPUS = [10, 16, 22, 24, 32, 44, 48, 80, 96, 141]
METHODS = ["lora", "qlora", "full"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length", [200, 1000, 4000])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_memory_stays_free_where_it_costs_little(
    build_known: BuildKnown, method: str, length: int, count: int
) -> None:
    """On cards of every size: 8 % is free, or freeing it takes a tenth of the time; and it says."""
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    rows = {f"/facts/data/lengths/{name}": length for name in names}
    histogram = {"/facts/data/lengths/histogram": [[length, 4000]]}
    for size in GPUS:
        edits = {"/spec/method/type": method, "/facts/hardware/memory_bytes": size * GIB}
        plan = make_plan(
            *build_known({**rows, **histogram, **edits, "/facts/hardware/count": count})
        )
        if not plan.memory.fits:
            continue
        because = plan.decisions.batch.micro_batch.because
        share = float(because.values.get("slower_share") or 0)
        if because.key == "layout.free":
            assert leaves_room(plan.memory)
            assert -1e-6 <= share <= 0.1 + 1e-6
        elif not leaves_room(plan.memory) and because.key == "micro_batch.full":
            assert share > 0.1
        elif not leaves_room(plan.memory):
            assert because.key == "micro_batch.least"
            frame, found, _ = choose_padding(
                make_frame(
                    *build_known({**rows, **histogram, **edits, "/facts/hardware/count": count})
                )
            )
            assert not any(leaves_room(memory) for memory in _memories(frame))
            assert found.roomy is None


def _memories(frame: Frame) -> Iterator[Memory]:
    """Yield the memory of every layout that fits."""
    for way in ways(frame):
        for micro in frame.batch.micro_options:
            memory = frame.memory(
                way.sharding, checkpointing=way.checkpointing, micro=micro, offload=way.offload
            )
            if memory.fits:
                yield memory


def test_each_choice_carries_its_reason_and_the_cost_of_the_next(build_known: BuildKnown) -> None:
    """In time where the runner-up fits, in memory where it does not."""
    decisions = make_plan(*build_known({})).decisions
    recomputing = sentence(decisions.batch.gradient_checkpointing.because)
    assert "with any recomputed, a step takes" in recomputing
    assert "rows at a time a step takes" in sentence(decisions.batch.micro_batch.because)
    tight = {
        "/facts/hardware/memory_bytes": 30 * GIB,
        "/facts/hardware/host_ram_bytes": None,
        "/spec/method/type": "full",
    }
    decisions = make_plan(*build_known({**tight, "/facts/hardware/count": 8})).decisions
    assert decisions.distribution.sharding.value == "zero3"
    assert "GiB" in sentence(decisions.distribution.sharding.because)


def test_the_link_decides_what_traffic_costs(build_known: BuildKnown) -> None:
    """ZeRO-3 over PCIe is slower than over NVLink, and DDP of an adapter hardly is."""
    full = {"/spec/method/type": "full", "/spec/distribution/strategy": "zero3"}
    times: dict[tuple[str, str], float] = {}
    for name, edits in (("zero3", full), ("ddp", {"/spec/distribution/strategy": "ddp"})):
        for link in ("nvlink", "pcie"):
            more = {"/facts/hardware/count": 8, "/facts/hardware/link": link}
            plan = make_plan(*build_known({**edits, **more}))
            assert plan.time is not None
            times[name, link] = plan.time.training_seconds
    assert times["zero3", "pcie"] > 1.5 * times["zero3", "nvlink"]
    assert times["ddp", "pcie"] < 1.3 * times["ddp", "nvlink"]


def test_recomputing_costs_a_third_of_a_full_fine_tune(build_known: BuildKnown) -> None:
    """Three passes become four."""
    rows = {f"/facts/data/lengths/{name}": 2000 for name in ("mean", "p50", "p99", "max")}
    fixed = {**rows, "/spec/method/type": "full", "/facts/hardware/memory_bytes": 400 * GIB}
    edits = {**fixed, "/spec/training/micro_batch": 4}
    with_it, without = (
        make_plan(*build_known({**edits, "/spec/training/gradient_checkpointing": on})).time
        for on in (True, False)
    )
    assert with_it is not None
    assert without is not None
    assert 1.2 < with_it.training_seconds / without.training_seconds < 1.4


def test_offload_is_for_a_host_that_is_known_to_hold_it(build_known: BuildKnown) -> None:
    """Eight small cards: with memory in the host they take it, and say what it costs."""
    tight = {
        "/spec/method/type": "full",
        "/facts/hardware/count": 2,
        "/facts/hardware/memory_bytes": 24 * GIB,
    }
    host = {"/facts/hardware/host_ram_bytes": 512 * GIB}
    held = make_plan(*build_known({**tight, **host}))
    assert held.memory.fits
    assert held.decisions.distribution.offload.value != "none"
    unknown = make_plan(*build_known({**tight, "/facts/hardware/host_ram_bytes": None}))
    assert unknown.decisions.distribution.offload.value == "none"
    assert unknown.memory.fits is False
    assert any("host's memory" in offer.change for offer in unknown.alternatives)
    poor = make_plan(*build_known({**tight, "/facts/hardware/host_ram_bytes": 32 * GIB}))
    assert not any("host's memory" in offer.change for offer in poor.alternatives)


def test_the_global_batch_is_kept_exactly(build_known: BuildKnown) -> None:
    """Whatever divides it; a prime number of rows leaves one at a time or all at once."""
    for batch in (7, 96, 97, 100):
        plan = make_plan(*build_known({"/spec/training/global_batch": batch}))
        decisions = plan.decisions
        assert decisions.batch.micro_batch.value * decisions.batch.accumulation.value == batch


FUSED = {
    "/spec/training/liger": "auto",
    "/spec/training/global_batch": 64,
    "/facts/hardware/memory_bytes": 24 * GIB,
}


def test_kernels_that_keep_less_make_room_for_a_faster_layout(build_known: BuildKnown) -> None:
    """The planner uses them where the same search without them finds only slower layouts."""
    found = search(make_frame(*build_known(FUSED)))
    without = search(make_frame(*build_known({**FUSED, "/spec/training/liger": False})))
    assert found.liger
    assert found.chosen.memory.fits
    assert found.other == without.chosen
    assert without.chosen.seconds > 1.02 * found.chosen.seconds
    decided = make_plan(*build_known(FUSED)).decisions.batch.liger
    assert decided is not None
    assert (decided.value, decided.because.key) == (True, "liger.faster")


@pytest.mark.parametrize(
    ("edits", "key"),
    [
        ({"/facts/model/model_type": "gpt_neox"}, "liger.unwritten"),
        ({"/facts/hardware/compute_capability": None}, "liger.unusable"),
        ({"/spec/training/compile": True}, "liger.compiled"),
        (
            {"/facts/hardware/memory_bytes": 400 * GIB, "/spec/training/global_batch": 8},
            "liger.unneeded",
        ),
        ({"/spec/training/liger": False}, "said"),
    ],
)
def test_kernels_that_save_nothing_or_do_not_exist_are_not_used(
    build_known: BuildKnown, edits: Mapping[str, Any], key: str
) -> None:
    """With the reason."""
    decided = make_plan(*build_known({**FUSED, **edits})).decisions.batch.liger
    assert decided is not None
    assert not decided.value
    assert decided.because.key in (key, "default")
