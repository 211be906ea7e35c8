"""How many processes there are, how they may share a model, and what waits on the host."""

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.plan.source import derived
from ftc.compiler.plan.traffic import ASSUMED_GBIT
from ftc.spec.sections import Offload


def decide_world(facts: KnownFacts) -> Decision[int]:
    """One process per GPU of each node, or as many processes as the spec asks of a CPU."""
    hardware = facts.hardware
    values: dict[str, object] = {"count": max(1, hardware.count), "hardware": hardware.name}
    if hardware.nodes > 1:
        values["nodes"] = hardware.nodes
        return derived(hardware.world, f"world.{hardware.kind}.nodes", **values)
    return derived(hardware.world, f"world.{hardware.kind}", **values)


def decide_network(facts: KnownFacts) -> Decision[float] | None:
    """Return what a node sends to the others, in Gbit/s, and who said so; None on one node."""
    hardware = facts.hardware
    if hardware.nodes == 1:
        return None
    if hardware.network_gbit is None:
        return derived(ASSUMED_GBIT, "network.assumed")
    because = Because(key="said", values={"field": "hardware.network_gbit"})
    return Decision(value=hardware.network_gbit, source="spec", because=because)


def shardings(frame: Frame) -> tuple[Sharding, ...]:
    """Return the shardings to try, fastest first; a strategy that the spec names is the only one.

    DDP needs no traffic for weights, ZeRO-1 and ZeRO-2 gather updated ones once a step, ZeRO-3
    gathers each layer twice. What is offloaded needs ZeRO, on one process too; a base in 4 bits
    gains nothing from ZeRO-3 (FTC427), and FSDP alone divides it. For other weights FSDP holds what
    ZeRO-3 holds, so that the planner leaves it to who asks for it.
    """
    strategy, offload = frame.spec.distribution.strategy, frame.spec.distribution.offload
    if strategy == "ddp" and frame.world == 1:
        return ("single",)
    if strategy != "auto":
        return (strategy,)
    if frame.spec.distribution.nvme_path is not None:
        return ("zero3",)
    if offload == "parameters":
        return ("zero3",)
    if offload == "optimizer":
        options: tuple[Sharding, ...] = ("zero2", "zero3")
    else:
        options = ("single",) if frame.world == 1 else ("ddp", "zero1", "zero2", "zero3")
    return options if frame.storage == "plain" else tuple(o for o in options if o != "zero3")


def offloads(frame: Frame, sharding: Sharding) -> tuple[Offload, ...]:
    """Return what may wait on the host under a sharding; what the spec names is the only one.

    The planner offloads by itself only where it is known how much memory the host has, since that
    must hold it: what a spec does not say of a rented machine cannot be counted on. A single GPU
    needs no DeepSpeed, whose CPU optimizer is compiled where it runs, and gets it only if asked;
    that optimizer is AdamW. A disk is used by who names a folder of it, and then in any case.
    """
    written, hardware = frame.spec.distribution.offload, frame.facts.hardware
    if written != "auto":
        return (written,)
    if frame.spec.distribution.nvme_path is not None and sharding == "zero3":
        return ("optimizer", "parameters") if frame.storage == "plain" else ("optimizer",)
    divided = sharding in ("zero2", "zero3") and frame.spec.training.optimizer == "adamw"
    if not divided or hardware.kind == "cpu" or hardware.host_ram_bytes is None:
        return ("none",)
    whole = sharding == "zero2" or frame.storage != "plain"
    return ("none", "optimizer") if whole else ("none", "optimizer", "parameters")
