"""What would fit: changes to a spec that does not, each planned again, the cheapest first."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ftc.compiler.plan.comparison import REFERRING
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.lengths import round_up, share_above
from ftc.compiler.plan.plan import Alternative, Kind, Plan
from ftc.compiler.plan.table import PlanAgain, with_count
from ftc.spec.sections import Auto, Offload, Spec, Strategy

_COUNTS: Final = (2, 4, 8)  # GPUs of one host
_FOUR_BIT_CAPABILITY: Final = 6.0  # of bitsandbytes' kernels, as FTC330 has it
_STRATEGIES: Final[tuple[Strategy, ...]] = ("zero1", "zero2", "zero3")
_NAMES: Final = {"zero1": "ZeRO-1", "zero2": "ZeRO-2", "zero3": "ZeRO-3"}
_ORDER: Final[tuple[Kind, ...]] = ("layout", "method", "data", "hardware")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit: the words for it, the spec and facts with it, and its JSON patch."""

    words: str
    kind: Kind
    spec: Spec
    facts: KnownFacts
    fix: tuple[Mapping[str, Any], ...]


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
            if works(change.spec, change.facts, tried):
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
        if works(spec, facts, tried):
            return (_alternative(made, tried, plan),) if len(made) > 1 else ()
    return ()


def works(spec: Spec, facts: KnownFacts, plan: Plan) -> bool:
    """Whether a plan is one that compiles: it fits, host included, and keeps the batch asked for.

    A base in 4 bits is never divided by ZeRO-3 (FTC427).
    """
    ram, asked = facts.hardware.host_ram_bytes, spec.training.global_batch
    decided = plan.decisions
    return (
        plan.memory.fits is True
        and (ram is None or plan.host_ram_bytes <= ram)
        and asked in ("auto", decided.global_batch.value)
        and not (spec.method.type == "qlora" and decided.sharding.value == "zero3")
    )


def _alternative(made: tuple[Change, ...], tried: Plan, plan: Plan) -> Alternative:
    before, after = plan.time_seconds, tried.time_seconds
    return Alternative(
        change=" and ".join(change.words for change in made) + _layout_words(made, tried),
        device_bytes=tried.memory.device_bytes,
        fix=tuple(operation for change in made for operation in change.fix),
        kind=max((change.kind for change in made), key=_ORDER.index),
        time_seconds=after,
        time_ratio=round(after / before, 2) if before and after else None,
        cost=None if tried.cost is None else tried.cost.total,
    )


def _layout_words(made: tuple[Change, ...], tried: Plan) -> str:
    """Name the sharding that more GPUs make use of."""
    name = _NAMES.get(tried.decisions.sharding.value)
    more = any(change.kind == "hardware" for change in made)
    return f" with {name}" if more and name is not None else ""


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
            fix=(_set("/training/gradient_checkpointing", value=True),),
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
            fix=(_set("/training/micro_batch", value="auto"),),
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
            fix=(_set("/model/attention", value="sdpa"),),
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
            fix=(_set("/training/precision", value="bf16"),),
        ),
    )


def _divide(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Divide weights, gradients and optimizer states among the processes, where it was not asked.

    Left to the planner, the sharding is already the one that needs least.
    """
    decided = plan.decisions
    if decided.world.value == 1 or spec.distribution.strategy == "auto":
        return ()
    return tuple(
        Change(
            words=_NAMES[strategy],
            kind="layout",
            spec=replace(spec, distribution=replace(spec.distribution, strategy=strategy)),
            facts=facts,
            fix=(_set("/distribution/strategy", value=strategy),),
        )
        for strategy in _STRATEGIES
        if strategy != decided.sharding.value
    )


def _offload(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep optimizer states, then weights as well, in the host's memory."""
    del plan
    written = spec.distribution
    if facts.hardware.kind == "cpu" or written.offload not in ("auto", "none"):
        return ()
    if spec.training.optimizer != "adamw":  # DeepSpeed's CPU optimizer is AdamW (FTC440)
        return ()
    return tuple(
        Change(
            words=f"{what} in the host's memory",
            kind="layout",
            spec=replace(spec, distribution=replace(written, strategy=strategy, offload=offload)),
            facts=facts,
            fix=(
                *([_set("/distribution/strategy", value=strategy)] if asked else []),
                _set("/distribution/offload", value=offload),
            ),
        )
        for offload, what, strategy, asked in _offers(written.strategy)
    )


def _offers(strategy: Strategy | Auto) -> tuple[tuple[Offload, str, Strategy | Auto, bool], ...]:
    """Return what may be offloaded, in words, under which strategy, and whether that is to be set.

    ZeRO-2 and ZeRO-3 keep optimizer states on the host, ZeRO-3 alone weights.
    """
    keeps = strategy in ("auto", "zero2", "zero3")
    states: Strategy | Auto = strategy if keeps else "auto"
    weights: Strategy | Auto = strategy if strategy in ("auto", "zero3") else "auto"
    return (
        ("optimizer", "optimizer states", states, states != strategy),
        ("parameters", "weights and optimizer states", weights, weights != strategy),
    )


def _precompute(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Ask the reference once before training, instead of keeping a second model."""
    del plan
    if spec.objective.type not in REFERRING or spec.objective.reference != "copy":
        return ()
    return (
        Change(
            words="the reference computed before training",
            kind="layout",
            spec=replace(spec, objective=replace(spec.objective, reference="precomputed")),
            facts=facts,
            fix=(_set("/objective/reference", value="precomputed"),),
        ),
    )


def _shrink_states(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """AdamW's moments in 8 bits, where they are those of whole weights and on the device."""
    del plan
    capability = facts.hardware.compute_capability
    old = capability is not None and capability < _FOUR_BIT_CAPABILITY
    offloaded = spec.distribution.offload not in ("auto", "none")
    whole = spec.method.type in ("full", "freeze") and spec.training.optimizer == "adamw"
    if facts.hardware.kind == "cpu" or old or offloaded or not whole:
        return ()
    return (
        Change(
            words="AdamW with states in 8 bits",
            kind="method",
            spec=replace(spec, training=replace(spec.training, optimizer="adamw_8bit")),
            facts=facts,
            fix=(_set("/training/optimizer", value="adamw_8bit"),),
        ),
    )


def _adapt(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Train an adapter instead of every weight."""
    del plan
    return _methods(spec, facts, ("lora",) if spec.method.type == "full" else ())


def _quantize(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep the frozen base in 4 bits; its kernels are for GPUs, and for linear modules."""
    wide = plan.decisions.precision.value == "fp32"
    fused = facts.model.shape is None or facts.model.shape.experts > 0
    capability = facts.hardware.compute_capability
    old = capability is not None and capability < _FOUR_BIT_CAPABILITY
    if facts.hardware.kind == "cpu" or wide or fused or old or facts.model.quantized is not None:
        return ()
    return _methods(spec, facts, () if spec.method.type == "qlora" else ("qlora",))


def _methods(
    spec: Spec, facts: KnownFacts, types: tuple[Literal["lora", "qlora"], ...]
) -> tuple[Change, ...]:
    words = {"lora": "LoRA", "qlora": "QLoRA"}
    instead = "a full fine-tune" if spec.method.type == "full" else "a base in 16 bits"
    objective, also = spec.objective, []
    if objective.reference == "copy":  # beside an adapter the base itself is one (FTC560)
        objective, also = (
            replace(objective, reference="auto"),
            [_set("/objective/reference", value="auto")],
        )
    return tuple(
        Change(
            words=f"{words[kind]} instead of {instead}",
            kind="method",
            spec=replace(spec, method=replace(spec.method, type=kind), objective=objective),
            facts=facts,
            fix=(_set("/method/type", value=kind), *also),
        )
        for kind in types
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
            fix=(_set("/data/max_length", value=tokens),),
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
            fix=(_set("/hardware/count", value=count),),
        )
        for count in _COUNTS
        if count > hardware.count
    )


_EDITS: Final[tuple[Edit, ...]] = (
    _shrink, _checkpoint, _attend, _halve, _precompute, _divide, _offload, _shrink_states, _adapt,
    _quantize, _shorten, _multiply,
)  # fmt: skip


def _set(path: str, *, value: object) -> Mapping[str, Any]:
    """Return an RFC 6902 operation on the long form of the spec."""
    return {"op": "add", "path": path, "value": value}
