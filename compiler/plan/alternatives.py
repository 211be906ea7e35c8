"""What would fit: changes to a spec that does not, each planned again, the cheapest first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.lengths import round_up, share_above
from ftc.compiler.plan.plan import Alternative, Kind, Plan
from ftc.compiler.plan.table import PlanAgain, with_count
from ftc.spec.sections import Spec

_COUNTS: Final = (2, 4, 8)  # GPUs of one host
_ORDER: Final[tuple[Kind, ...]] = ("layout", "method", "data", "hardware")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit: the words for it, the spec and facts with it, and its JSON patch's operation."""

    words: str
    kind: Kind
    spec: Spec
    facts: KnownFacts
    fix: Mapping[str, Any]


Edit = Callable[[Spec, KnownFacts, Plan], tuple[Change, ...]]


def find_alternatives(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: PlanAgain
) -> tuple[Alternative, ...]:
    """Return the changes that fit; where no single one does, the shortest run of them that does.

    First what trains the same, then another method, then less of the data, then more hardware;
    within each the fastest first. `plan_again` plans a spec without alternatives of its own.
    """
    found = []
    for edit in _EDITS:
        for change in edit(spec, facts, plan):
            tried = plan_again(change.spec, change.facts)
            if tried.memory.fits:
                found.append(_alternative((change,), tried, plan))
                break
    if all(alternative.kind == "hardware" for alternative in found):
        found += _together(spec, facts, plan, plan_again)
    return tuple(sorted(found, key=_rank))


def _rank(alternative: Alternative) -> tuple[int, float]:
    seconds = alternative.time_seconds
    return _ORDER.index(alternative.kind), float("inf") if seconds is None else seconds


def _together(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: PlanAgain
) -> tuple[Alternative, ...]:
    """Pile the changes up, one on the other, until the plan fits: with the same hardware if it can.

    Of the hardware only more of it is added at the end.
    """
    made: tuple[Change, ...] = ()
    for edit in _EDITS:
        changes = edit(spec, facts, plan)
        if not changes:
            continue
        # the last is the strongest of its kind: the shortest rows, the most GPUs
        change = changes[-1]
        spec, facts, made = change.spec, change.facts, (*made, change)
        tried = plan_again(spec, facts)
        if tried.memory.fits:
            return (_alternative(made, tried, plan),) if len(made) > 1 else ()
    return ()


def _alternative(made: tuple[Change, ...], tried: Plan, plan: Plan) -> Alternative:
    before, after = plan.time_seconds, tried.time_seconds
    return Alternative(
        change=" and ".join(change.words for change in made),
        device_bytes=tried.memory.device_bytes,
        fix=tuple(change.fix for change in made),
        kind=max((change.kind for change in made), key=_ORDER.index),
        time_seconds=after,
        time_ratio=round(after / before, 2) if before and after else None,
    )


def _checkpoint(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Recompute activations instead of keeping them."""
    if plan.decisions.gradient_checkpointing.value:
        return ()
    training = replace(spec.training, gradient_checkpointing=True)
    return (
        Change(
            words="gradient checkpointing",
            kind="layout",
            spec=replace(spec, training=training),
            facts=facts,
            fix=_set("/training/gradient_checkpointing", value=True),
        ),
    )


def _shrink(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Leave the micro-batch to the planner, which takes one that divides the batch and fits."""
    del plan
    if spec.training.micro_batch in ("auto", 1):
        return ()
    return (
        Change(
            words="a micro-batch that fits",
            kind="layout",
            spec=replace(spec, training=replace(spec.training, micro_batch="auto")),
            facts=facts,
            fix=_set("/training/micro_batch", value="auto"),
        ),
    )


def _attend(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Attention that never holds the matrix of scores."""
    if plan.decisions.attention.value != "eager":
        return ()
    return (
        Change(
            words="SDPA attention",
            kind="layout",
            spec=replace(spec, model=replace(spec.model, attention="sdpa")),
            facts=facts,
            fix=_set("/model/attention", value="sdpa"),
        ),
    )


def _halve(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """16-bit numbers where the spec asked for fp32 and the hardware has bf16."""
    if plan.decisions.precision.value != "fp32" or not facts.hardware.bf16:
        return ()
    return (
        Change(
            words="bf16 precision",
            kind="layout",
            spec=replace(spec, training=replace(spec.training, precision="bf16")),
            facts=facts,
            fix=_set("/training/precision", value="bf16"),
        ),
    )


def _divide(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Divide weights, gradients and optimizer states among the processes."""
    if plan.decisions.world.value == 1 or plan.decisions.sharding.value == "zero3":
        return ()
    return (
        Change(
            words="ZeRO-3",
            kind="layout",
            spec=replace(spec, distribution=replace(spec.distribution, strategy="zero3")),
            facts=facts,
            fix=_set("/distribution/strategy", value="zero3"),
        ),
    )


def _adapt(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Train an adapter instead of every weight."""
    del plan
    if spec.method.type != "full":
        return ()
    return (
        Change(
            words="LoRA instead of a full fine-tune",
            kind="method",
            spec=replace(spec, method=replace(spec.method, type="lora")),
            facts=facts,
            fix=_set("/method/type", value="lora"),
        ),
    )


def _shorten(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Rows no longer than the 99th, 95th or 90th percentile: the first of them that fits."""
    lengths = facts.data.lengths
    limits = {round_up(tokens): None for tokens in (lengths.p99, lengths.p95, lengths.p90)}
    return tuple(
        Change(
            words=f"max_length {tokens:,} (cuts {share_above(lengths, tokens):.1%} of rows)",
            kind="data",
            spec=replace(spec, data=replace(spec.data, max_length=tokens)),
            facts=facts,
            fix=_set("/data/max_length", value=tokens),
        )
        for tokens in limits
        if lengths.prompt_max <= tokens < plan.decisions.max_length.value
    )


def _multiply(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """More of the same GPU, in one host."""
    del plan
    hardware = facts.hardware
    if hardware.kind == "cpu" or hardware.origin == "machine":
        return ()
    return tuple(
        Change(
            words=f"{count} GPUs",
            kind="hardware",
            spec=replace(spec, hardware=replace(spec.hardware, count=count)),
            facts=with_count(facts, count),
            fix=_set("/hardware/count", value=count),
        )
        for count in _COUNTS
        if count > hardware.count
    )


_EDITS: Final[tuple[Edit, ...]] = (
    _shrink, _checkpoint, _attend, _halve, _divide, _adapt, _shorten, _multiply,
)  # fmt: skip


def _set(path: str, *, value: object) -> Mapping[str, Any]:
    """Return an RFC 6902 operation on the long form of the spec."""
    return {"op": "add", "path": path, "value": value}
