"""Swap files on a local disk: their size, the host's buffers, and the step's time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.plan.memory.host import largest_shard
from ftc.compiler.plan.plan import Plan
from ftc.compiler.plan.planner import plan_once
from ftc.compiler.plan.reasons import sentence
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
OFFLOAD, NVME = "/spec/distribution/offload", "/spec/distribution/nvme_path"
FULL = {"/spec/method/type": "full", "/facts/hardware/count": 4}
ZERO3 = {**FULL, "/spec/distribution/strategy": "zero3"}
DISK = {NVME: "/local_nvme"}


def plan_of(build_known: BuildKnown, edits: Mapping[str, Any]) -> Plan:
    """Return the plan of the base with these edits."""
    return plan_once(*build_known(edits))


def shape_of(build_known: BuildKnown) -> Shape:
    """Return the shape of the base's model."""
    _, facts = build_known({})
    assert facts.model.shape is not None
    return facts.model.shape


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_disk_holds_sixteen_bytes_a_weight_and_the_weights(
    build_known: BuildKnown, nodes: int
) -> None:
    """An fp32 master, its gradient and two moments; every node has its share."""
    edits = {**ZERO3, **DISK, "/facts/hardware/nodes": nodes}
    states = plan_of(build_known, {**edits, OFFLOAD: "optimizer"}).decisions.distribution.nvme_bytes
    weights = plan_of(
        build_known, {**edits, OFFLOAD: "parameters"}
    ).decisions.distribution.nvme_bytes

    parameters = shape_of(build_known).parameters
    assert states is not None
    assert weights is not None
    assert abs(states.value - 16 * parameters / nodes) <= 1
    assert abs(weights.value - 18 * parameters / nodes) <= 1
    assert "assumed" in sentence(states.because)


@pytest.mark.parametrize("kept", ["optimizer", "parameters"])
def test_the_host_holds_buffers_and_waits_for_the_disk(build_known: BuildKnown, kept: str) -> None:
    """What lies on the disk is not in the host's memory; on the device nothing changes."""
    host = plan_of(build_known, {**ZERO3, OFFLOAD: kept, "/config/num_hidden_layers": 90})
    disk = plan_of(build_known, {**ZERO3, OFFLOAD: kept, "/config/num_hidden_layers": 90, **DISK})

    assert disk.host_ram_bytes < host.host_ram_bytes / 2
    assert disk.time_seconds is not None
    assert host.time_seconds is not None
    assert disk.time_seconds > host.time_seconds
    assert disk.memory.device_bytes == host.memory.device_bytes
    assert disk.disk_bytes == host.disk_bytes  # of `run/`, where checkpoints are copies


def test_a_folder_is_asked_for_and_then_used(build_known: BuildKnown) -> None:
    """Without a path nothing goes to a disk; with one ZeRO-3 offloads, as much as it takes."""
    least = {**FULL, "/facts/hardware/memory_bytes": 8 * 2**30}
    plain, asked = plan_of(build_known, least), plan_of(build_known, {**least, **DISK})

    assert plain.decisions.distribution.nvme_bytes is None
    assert asked.decisions.distribution.sharding.value == "zero3"
    assert asked.decisions.distribution.sharding.because.key == "sharding.nvme"
    assert (
        asked.decisions.distribution.offload.because.key
        == f"offload.{asked.decisions.distribution.offload.value}.nvme"
    )
    assert asked.decisions.distribution.nvme_bytes is not None


def test_a_buffer_holds_the_largest_matrix(build_known: BuildKnown) -> None:
    """DeepSpeed stops at a shard that its buffer is too small for: tables and experts count."""
    shape = shape_of(build_known)
    linear = max(kind.in_features * kind.out_features for kind in shape.linear_shapes.values())

    assert largest_shard(shape, 1) == max(linear, shape.embedding_parameters)
    assert largest_shard(shape, 3) * 3 >= max(linear, shape.embedding_parameters)
    experts = replace(shape, experts=8, expert_parameters=shape.layers * 10**10)
    assert largest_shard(experts, 4) == 10**10 // 4
