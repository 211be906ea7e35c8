"""Other accelerators for the same host, and those that an unchanged spec would fit on."""

from collections.abc import Callable
from dataclasses import replace

from ftc.compiler.knowledge.hardware.accelerators import (
    LEAST_CAPABILITY,
    Accelerator,
    all_accelerators,
    find_accelerator,
)
from ftc.compiler.resolve.facts import KnownFacts
from ftc.compiler.resolve.hardware import describe_device, link_of
from ftc.spec.sections import Spec

LeastBytes = Callable[[Spec, KnownFacts], int | None]


def fitting_gpus(spec: Spec, facts: KnownFacts, least_bytes: LeastBytes) -> tuple[str, ...]:
    """Return the accelerators that the unchanged spec would fit on, smallest first.

    Their number is that of the spec. Devices with the same features differ in memory alone, so one
    of each such group says what all of them need. `least_bytes` returns the least memory that any
    layout needs, None if the host holds none.
    """
    if facts.hardware.kind == "cpu":
        return ()
    needs: dict[tuple[object, ...], int | None] = {}
    fitting: list[Accelerator] = []
    for device in all_accelerators():
        if device.compute_capability < LEAST_CAPABILITY or device.is_laptop:
            continue
        if not _has_features(device, spec):
            continue
        alike = (device.bf16, device.compute_capability >= (9, 0))
        if alike not in needs:
            needs[alike] = least_bytes(spec, on_device(facts, device))
        least = needs[alike]
        if least is not None and least <= device.memory_bytes:
            fitting.append(device)
    fitting.sort(key=lambda device: (device.memory_bytes, device.name))
    return tuple(device.name for device in fitting)


def _has_features(device: Accelerator, spec: Spec) -> bool:
    """Return whether a device has the precision and the attention that the spec names."""
    if spec.training.precision == "bf16" and not device.bf16:
        return False
    return device.flash_attention_2 or spec.model.attention != "flash_attention_2"


def on_device(facts: KnownFacts, device: Accelerator) -> KnownFacts:
    """Return the facts with another accelerator in the same host, in the same number."""
    data_sheet = describe_device(device, facts.hardware.count)
    return replace(facts, hardware=replace(facts.hardware, calibration=None, **data_sheet))


def with_count(facts: KnownFacts, count: int) -> KnownFacts:
    """Return the facts with this number of the same accelerator in one host."""
    match = find_accelerator(facts.hardware.name)
    link = link_of(match.accelerator if match is not None else None, count)
    hardware = replace(facts.hardware, count=count, link=link, calibration=None)
    return replace(facts, hardware=hardware)
