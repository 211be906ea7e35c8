"""Several nodes: one world, one batch, each node's own memory, and the network between them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import plan_once
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.plan.time.roofline import host_link_speed, link_speed
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
EIGHT = {"/facts/hardware/count": 8, "/facts/hardware/bf16": True}
FULL = {**EIGHT, "/spec/method/type": "full"}


def plan_of(build_known: BuildKnown, edits: Mapping[str, Any]) -> Plan:
    """Return the plan of the base with these edits."""
    return plan_once(*build_known(edits))


@pytest.mark.parametrize(("count", "nodes"), [(1, 1), (8, 1), (8, 2), (4, 4), (1, 16)])
@pytest.mark.parametrize("method", ["lora", "full"])
def test_the_global_batch_is_kept(
    build_known: BuildKnown, count: int, nodes: int, method: str
) -> None:
    """Micro-batch x accumulation x world is what the spec says, however many nodes there are."""
    edits = {
        "/facts/hardware/count": count,
        "/facts/hardware/nodes": nodes,
        "/spec/training/global_batch": 64,
        "/spec/method/type": method,
    }
    plan = plan_of(build_known, edits)
    decided = plan.decisions

    assert decided.distribution.world.value == count * nodes
    assert decided.batch.global_batch.value == 64
    for micro, accumulation in plan.ladder:
        assert micro * accumulation * decided.distribution.world.value == 64


def test_sixteen_processes_share_as_much_in_one_place_as_in_two(build_known: BuildKnown) -> None:
    """What a GPU holds follows from the world alone; what a host holds, from its own processes."""
    zero = {**FULL, "/spec/distribution/strategy": "zero3"}
    zero["/spec/distribution/offload"] = "parameters"
    one = plan_of(build_known, {**zero, "/facts/hardware/count": 16})
    two = plan_of(build_known, {**zero, "/facts/hardware/nodes": 2})

    assert two.memory.allocated_bytes == one.memory.allocated_bytes
    assert two.host_ram_bytes < 0.7 * one.host_ram_bytes


def test_a_slow_network_costs_time(build_known: BuildKnown) -> None:
    """ZeRO-3 over 10 Gbit/s is slower than over 400, and what was assumed lies between."""
    zero = {**FULL, "/spec/distribution/strategy": "zero3", "/facts/hardware/nodes": 2}

    def seconds(gbit: float | None) -> float:
        found = plan_of(build_known, {**zero, "/facts/hardware/network_gbit": gbit}).time_seconds
        assert found is not None
        return found

    assert seconds(10) > 2 * seconds(400)
    assert seconds(400) < seconds(None) < seconds(10)


def test_the_network_bounds_the_ring(build_known: BuildKnown) -> None:
    """A ring over nodes is as fast as its slowest part; one node has no network in it."""
    _, one = build_known(EIGHT)
    _, fast = build_known(
        {**EIGHT, "/facts/hardware/nodes": 2, "/facts/hardware/network_gbit": 9000}
    )
    _, slow = build_known({**EIGHT, "/facts/hardware/nodes": 2, "/facts/hardware/network_gbit": 10})

    assert link_speed(one.hardware) == link_speed(fast.hardware) == host_link_speed(one.hardware)
    assert link_speed(slow.hardware) == pytest.approx(1e9)


def test_the_planner_says_where_the_network_comes_from(build_known: BuildKnown) -> None:
    """The spec's figure is the spec's; without one the plan names what it took."""
    two = {**EIGHT, "/facts/hardware/nodes": 2}
    assumed = plan_of(build_known, two).decisions.distribution.network
    said = plan_of(
        build_known, {**two, "/facts/hardware/network_gbit": 400}
    ).decisions.distribution.network

    assert assumed is not None
    assert said is not None
    assert (assumed.value, assumed.source) == (100.0, "derived")
    assert "hardware.network_gbit" in sentence(assumed.because)
    assert (said.value, said.source) == (400, "spec")
    assert plan_of(build_known, EIGHT).decisions.distribution.network is None


def test_all_nodes_are_paid_for(build_known: BuildKnown) -> None:
    """The price is of one GPU: two nodes of eight are sixteen of them."""
    edits = {**EIGHT, "/facts/hardware/nodes": 2, "/spec/hardware/price_per_hour": 2.0}
    plan = plan_of(build_known, edits)

    assert plan.cost is not None
    assert plan.time_seconds is not None
    assert plan.cost.total == pytest.approx(32 * plan.time_seconds / 3600, abs=0.01)
