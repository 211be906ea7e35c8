"""Other accelerators under the same spec: which of the table would take a plan."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ftc.compiler.knowledge.accelerators import Accelerator, all_accelerators, find_accelerator
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import HardwareFacts
from ftc.spec.sections import Spec

PlanAgain = Callable[[Spec, KnownFacts], Plan]


def fitting_gpus(spec: Spec, facts: KnownFacts, plan_again: PlanAgain) -> tuple[str, ...]:
    """Return the names of accelerators that take the spec as it is, smallest first.

    As many of them as the spec has. Devices that compute alike differ in memory alone, and more
    memory never fits less: each such group is searched by halving.
    """
    if facts.hardware.kind == "cpu":
        return ()
    groups: dict[tuple[object, ...], list[Accelerator]] = defaultdict(list)
    for device in all_accelerators():
        capability = device.compute_capability or (0, 0)
        groups[device.bf16, capability >= (9, 0), device.vendor].append(device)
    fitting: list[Accelerator] = []
    for group in groups.values():
        group.sort(key=lambda device: device.memory_bytes)
        low, high = 0, len(group)
        while low < high:
            middle = (low + high) // 2
            if plan_again(spec, on_device(facts, group[middle])).memory.fits:
                high = middle
            else:
                low = middle + 1
        fitting += group[low:]
    fitting.sort(key=lambda device: (device.memory_bytes, device.name))
    return tuple(device.name for device in fitting)


def on_device(facts: KnownFacts, device: Accelerator) -> KnownFacts:
    """Return the facts with another accelerator in the same host, as many as there were."""
    return replace(facts, hardware=_hardware(facts.hardware, device))


def with_count(facts: KnownFacts, count: int) -> KnownFacts:
    """Return the facts with so many of the same accelerator in one host."""
    match = find_accelerator(facts.hardware.name)
    link = _link(match.accelerator, count) if match is not None else "pcie"
    return replace(facts, hardware=replace(facts.hardware, count=count, link=link))


def _link(device: Accelerator, count: int) -> Literal["nvlink", "pcie", "none"]:
    """Return how so many of a device talk in one host."""
    if count == 1:
        return "none"
    return "pcie" if device.link == "pcie" else "nvlink"


def _hardware(host: HardwareFacts, device: Accelerator) -> HardwareFacts:
    capability = device.compute_capability
    return replace(
        host,
        name=device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=None
        if capability is None
        else float(f"{capability[0]}.{capability[1]}"),
        bf16=device.bf16,
        flash_attention_2=device.flash_attention_2,
        bf16_tflops=device.bf16_tflops,
        bandwidth_gb_s=device.bandwidth_gb_s,
        link=_link(device, host.count),
    )
