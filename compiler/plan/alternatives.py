"""What would fit: changes to a spec that does not, each planned again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.lengths import round_up, share_above
from ftc.compiler.plan.plan import Alternative, Plan
from ftc.spec.sections import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit: the words for it, the spec with it, and the operation of its JSON patch."""

    words: str
    spec: Spec
    fix: Mapping[str, Any]


def find_alternatives(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: Callable[[Spec, KnownFacts], Plan]
) -> tuple[Alternative, ...]:
    """Return the single changes that fit; where none does, the shortest run of them that does.

    `plan_again` plans a spec without alternatives of its own; it is called at most twelve times.
    """
    found = []
    for edit in _EDITS:
        change = edit(spec, facts, plan)
        if change is None:
            continue
        tried = plan_again(change.spec, facts)
        if tried.memory.fits:
            found.append(_alternative((change,), tried))
    return tuple(found) if found else _together(spec, facts, plan, plan_again)


def _together(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: Callable[[Spec, KnownFacts], Plan]
) -> tuple[Alternative, ...]:
    """Pile the changes up, one on the other, until the plan fits."""
    made: tuple[Change, ...] = ()
    for edit in _EDITS:
        change = edit(spec, facts, plan)
        if change is None:
            continue
        spec, made = change.spec, (*made, change)
        tried = plan_again(spec, facts)
        if tried.memory.fits:
            return (_alternative(made, tried),)
    return ()


def _alternative(made: tuple[Change, ...], tried: Plan) -> Alternative:
    return Alternative(
        change=" and ".join(change.words for change in made),
        device_bytes=tried.memory.device_bytes,
        fix=tuple(change.fix for change in made),
    )


def _checkpoint(spec: Spec, facts: KnownFacts, plan: Plan) -> Change | None:
    """Recompute activations instead of keeping them."""
    del facts
    if plan.decisions.gradient_checkpointing.value:
        return None
    training = replace(spec.training, gradient_checkpointing=True)
    return Change(
        words="gradient checkpointing",
        spec=replace(spec, training=training),
        fix=_set("/training/gradient_checkpointing", value=True),
    )


def _shrink(spec: Spec, facts: KnownFacts, plan: Plan) -> Change | None:
    """One row at a time; the planner already does so unless the spec fixed the micro-batch."""
    del facts, plan
    if spec.training.micro_batch in ("auto", 1):
        return None
    return Change(
        words="micro-batch 1",
        spec=replace(spec, training=replace(spec.training, micro_batch=1)),
        fix=_set("/training/micro_batch", value=1),
    )


def _divide(spec: Spec, facts: KnownFacts, plan: Plan) -> Change | None:
    """Divide weights, gradients and optimizer states among the processes."""
    del facts
    if plan.decisions.world.value == 1 or plan.decisions.sharding.value == "zero3":
        return None
    return Change(
        words="ZeRO-3",
        spec=replace(spec, distribution=replace(spec.distribution, strategy="zero3")),
        fix=_set("/distribution/strategy", value="zero3"),
    )


def _shorten(spec: Spec, facts: KnownFacts, plan: Plan) -> Change | None:
    """Rows no longer than the 95th percentile."""
    tokens = round_up(facts.data.lengths.p95)
    if tokens >= plan.decisions.max_length.value or tokens < facts.data.lengths.prompt_max:
        return None
    share = share_above(facts.data.lengths, tokens)
    return Change(
        words=f"max_length {tokens:,} (cuts {share:.1%} of rows)",
        spec=replace(spec, data=replace(spec.data, max_length=tokens)),
        fix=_set("/data/max_length", value=tokens),
    )


def _adapt(spec: Spec, facts: KnownFacts, plan: Plan) -> Change | None:
    """Train an adapter instead of every weight."""
    del facts, plan
    if spec.method.type != "full":
        return None
    return Change(
        words="LoRA instead of a full fine-tune",
        spec=replace(spec, method=replace(spec.method, type="lora")),
        fix=_set("/method/type", value="lora"),
    )


_EDITS = (_checkpoint, _shrink, _divide, _adapt, _shorten)


def _set(path: str, *, value: object) -> Mapping[str, Any]:
    """Return an RFC 6902 operation on the long form of the spec."""
    return {"op": "add", "path": path, "value": value}
