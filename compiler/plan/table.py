"""Other accelerators under the same spec: which of the table would take a plan."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from ftc.compiler.knowledge.accelerators import Accelerator, all_accelerators, find_accelerator
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Plan
from ftc.compiler.resolve.facts import HardwareFacts
from ftc.spec.sections import Spec

PlanAgain = Callable[[Spec, KnownFacts], Plan]
LeastBytes = Callable[[Spec, KnownFacts], int]


def fitting_gpus(spec: Spec, facts: KnownFacts, least_bytes: LeastBytes) -> tuple[str, ...]:
    """Return the names of accelerators that take the spec as it is, smallest first.

    As many of them as the spec has. Devices that compute alike differ in memory alone, so that one
    of each such group says what all of them need. `least_bytes` is what the leanest layout needs.
    """
    if facts.hardware.kind == "cpu":
        return ()
    needs: dict[tuple[object, ...], int] = {}
    fitting: list[Accelerator] = []
    for device in all_accelerators():
        capability = device.compute_capability or (0, 0)
        alike = (device.bf16, capability >= (9, 0), device.vendor)
        if alike not in needs:
            needs[alike] = least_bytes(spec, on_device(facts, device))
        if needs[alike] <= device.memory_bytes:
            fitting.append(device)
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
