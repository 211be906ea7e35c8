"""How many processes there are, and how they may share a model."""

from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.source import derived, keep


def decide_world(facts: KnownFacts) -> Decision[int]:
    """One process per GPU, or as many processes as the spec asks of a CPU."""
    hardware = facts.hardware
    values = {"count": max(1, hardware.count), "hardware": hardware.name}
    return derived(max(1, hardware.count), f"world.{hardware.kind}", **values)


def shardings(frame: Frame) -> tuple[Sharding, ...]:
    """Return the shardings to try, fastest first; a strategy that the spec names is the only one.

    DDP needs no traffic for weights, ZeRO-2 gathers none either, ZeRO-3 gathers each layer twice.
    """
    strategy = frame.spec.distribution.strategy
    if strategy == "auto":
        return ("single",) if frame.world == 1 else ("ddp", "zero2", "zero3")
    if strategy == "ddp" and frame.world == 1:
        return ("single",)
    return (strategy,)


def decide_sharding(
    frame: Frame, sharding: Sharding, options: tuple[Sharding, ...]
) -> Decision[Sharding]:
    """Give the reason of a chosen sharding, out of the options that were tried in order."""
    strategy = frame.spec.distribution.strategy
    if strategy == sharding:
        return keep(frame.spec, "/distribution/strategy", sharding)
    if sharding == "single":
        return derived(sharding, "sharding.single")
    first = options[0] == sharding
    key = "sharding.ddp" if first else f"sharding.{sharding}"
    return derived(sharding, key, world=frame.world)
