"""How many processes there are, how they may share a model, and what waits on the host."""

from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.source import derived, keep
from ftc.spec.sections import Offload, Spec


def decide_world(facts: KnownFacts) -> Decision[int]:
    """One process per GPU, or as many processes as the spec asks of a CPU."""
    hardware = facts.hardware
    values = {"count": max(1, hardware.count), "hardware": hardware.name}
    return derived(max(1, hardware.count), f"world.{hardware.kind}", **values)


def shardings(frame: Frame) -> tuple[Sharding, ...]:
    """Return the shardings to try, fastest first; a strategy that the spec names is the only one.

    DDP needs no traffic for weights, ZeRO-1 and ZeRO-2 gather updated ones once a step, ZeRO-3
    gathers each layer twice. What is offloaded needs ZeRO, on one process too; a base in 4 bits
    cannot be divided (FTC427).
    """
    strategy, offload = frame.spec.distribution.strategy, frame.spec.distribution.offload
    if strategy == "ddp" and frame.world == 1:
        return ("single",)
    if strategy != "auto":
        return (strategy,)
    if offload == "parameters":
        return ("zero3",)
    if offload == "optimizer":
        options: tuple[Sharding, ...] = ("zero2", "zero3")
    else:
        options = ("single",) if frame.world == 1 else ("ddp", "zero1", "zero2", "zero3")
    return options if frame.storage == "plain" else tuple(o for o in options if o != "zero3")


def decide_offload(spec: Spec) -> Decision[Offload]:
    """Keep what the spec offloads; nothing where it leaves that open."""
    written = spec.distribution.offload
    if written == "auto":
        return derived("none", "offload.none")
    return keep(spec, "/distribution/offload", written)


def decide_sharding(
    frame: Frame, sharding: Sharding, options: tuple[Sharding, ...]
) -> Decision[Sharding]:
    """Give the reason of a chosen sharding, out of the options that were tried in order."""
    strategy = frame.spec.distribution.strategy
    if strategy == sharding:
        return keep(frame.spec, "/distribution/strategy", sharding)
    if sharding == "single":
        return derived(sharding, "sharding.single")
    if frame.spec.distribution.offload not in ("auto", "none"):
        return derived(sharding, "sharding.offload")
    first = options[0] == sharding
    key = "sharding.ddp" if first else f"sharding.{sharding}"
    return derived(sharding, key, world=frame.world)
