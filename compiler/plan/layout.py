"""The layout as decisions: what the search chose, with its reason and the runner-up's cost."""

from dataclasses import dataclass
from typing import Any

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.plan import Memory, Sharding
from ftc.compiler.plan.search import Candidate, Search
from ftc.compiler.plan.source import decide, derived
from ftc.spec.sections import Offload

_SAME = 0.0005  # a smaller difference is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The chosen layout and its memory."""

    sharding: Decision[Sharding]
    offload: Decision[Offload]
    checkpointing: Decision[bool]
    micro: Decision[int]
    memory: Memory


def decide_layout(frame: Frame, found: Search) -> Layout:
    """Return the layout that runs fastest of those that fit, each part of it with its reason."""
    spec, chosen = frame.spec, found.chosen
    written = spec.distribution
    way = chosen.way

    def derive_checkpointing() -> tuple[bool, Because]:
        key = "checkpointing.on" if way.checkpointing else "checkpointing.off"
        return way.checkpointing, _because(key, chosen, found.checkpointing)

    def derive_micro() -> tuple[int, Because]:
        return chosen.micro, _why_micro(frame, found)

    def derive_offload() -> tuple[Offload, Because]:
        if written.nvme_path is not None and way.offload != "none":
            states = way.offload == "optimizer"
            key = "offload.optimizer.nvme" if states else "offload.parameters.nvme"
            return way.offload, Because(key=key)
        return way.offload, _because(f"offload.{way.offload}", chosen, _slower(found.offload))

    return Layout(
        sharding=_decide_sharding(frame, found),
        offload=decide(spec, "/distribution/offload", written.offload, derive_offload),
        checkpointing=decide(
            spec,
            "/training/gradient_checkpointing",
            spec.training.gradient_checkpointing,
            derive_checkpointing,
        ),
        micro=decide(spec, "/training/micro_batch", spec.training.micro_batch, derive_micro),
        memory=chosen.memory,
    )


def _decide_sharding(frame: Frame, found: Search) -> Decision[Sharding]:
    way, written = found.chosen.way, frame.spec.distribution.strategy

    def derive() -> tuple[Sharding, Because]:
        if frame.spec.distribution.nvme_path is not None:
            return way.sharding, Because(key="sharding.nvme")
        if frame.spec.distribution.offload in ("optimizer", "parameters"):
            return way.sharding, Because(key="sharding.offload")
        because = _because(f"sharding.{way.sharding}", found.chosen, found.sharding)
        values = {**because.values, "world": frame.world}
        return way.sharding, Because(key=because.key, values=values)

    if way.sharding == "single":
        return derived(way.sharding, "sharding.single")
    return decide(frame.spec, "/distribution/strategy", written, derive)


def _because(key: str, chosen: Candidate, runner: Candidate | None) -> Because:
    """Return the reason with the runner-up's cost: the time that it takes more, or what it needs.

    `key` alone where there is no other, or where nothing is known to be slower.
    """
    if runner is None or chosen.memory.fits is None:
        return Because(key=key)
    values: dict[str, Any] = {
        "runner": runner.way.sharding,
        "rows": runner.micro,
    }
    if runner.memory.fits is False:
        return Because(
            key=f"{key}.needs", values={**values, "device_bytes": runner.memory.device_bytes}
        )
    if chosen.memory.fits is False:
        return Because(key=key)
    slower = runner.seconds / chosen.seconds - 1
    if slower < _SAME:
        return Because(key=key)
    return Because(key=f"{key}.slower", values={**values, "slower_share": slower})


def _slower(runner: Candidate | None) -> Candidate | None:
    """Return a runner-up that fits: what does not fit is no reason against offloading it."""
    return runner if runner is not None and runner.memory.fits else None


def _why_micro(frame: Frame, found: Search) -> Because:
    chosen, runner = found.chosen, found.micro
    memory, rows = chosen.memory, frame.batch.rows_per_process
    sizes = {"device_bytes": memory.device_bytes, "capacity_bytes": memory.capacity_bytes}
    if memory.fits is None:
        return Because(key="micro_batch.unknown", values={"rows": rows})
    if memory.fits is False:
        return Because(key="micro_batch.tight", values=sizes)
    whole = chosen.micro == rows
    if runner is None:
        return Because(key="micro_batch.whole" if whole else "micro_batch.only", values=sizes)
    slower = runner.seconds / chosen.seconds - 1
    values = {**sizes, "rows": runner.micro, "slower_share": slower}
    key = "micro_batch.whole.slower" if whole else "micro_batch.fastest.slower"
    return Because(key=key, values=values)
