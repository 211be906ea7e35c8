"""Finds changes that make a spec fit.

Each change is planned again; the cheapest comes first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

from ftc.compiler.knowledge.training.liger import has_liger_kernels
from ftc.compiler.plan.batch.lengths import round_up, share_above
from ftc.compiler.plan.method.precision import overflows_in_fp16
from ftc.compiler.plan.objective.comparison import REFERRING
from ftc.compiler.plan.objective.sampling import find_engine
from ftc.compiler.plan.plan import Alternative, Kind, Plan
from ftc.compiler.plan.search.space import SELECTIVE
from ftc.compiler.plan.summary.devices import with_count
from ftc.compiler.plan.summary.workable import works
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.message import Message
from ftc.spec.sections import Spec, Strategy

PlanAgain = Callable[[Spec, KnownFacts], Plan | None]
_COUNTS: Final = (2, 4, 8)  # GPUs of one host
_STRATEGIES: Final[tuple[Strategy, ...]] = ("zero1", "zero2", "zero3")
_STRATEGY: Final = "/distribution/strategy"
_NAMES: Final = {"zero1": "ZeRO-1", "zero2": "ZeRO-2", "zero3": "ZeRO-3"}
_OF_QLORA: Final = ("/method/quantization", "/method/double_quantization", "/method/quant_storage")
#: In place of a value: the field is removed from the spec.
_NOTHING: Final = object()
_ORDER: Final[tuple[Kind, ...]] = ("layout", "method", "data", "hardware")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One edit: the words for it, the spec and facts with it, and its JSON patch."""

    words: Message
    kind: Kind
    spec: Spec
    facts: KnownFacts
    fix: tuple[Mapping[str, Any], ...]


Edit = Callable[[Spec, KnownFacts, Plan], tuple[Change, ...]]


def find_alternatives(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: PlanAgain
) -> tuple[Alternative, ...]:
    """Return the single changes that fit, or a combination of changes if none does.

    First come changes that give the same training, then another method, then less data, then more
    hardware; of each kind the fastest first. `plan_again` plans a spec without alternatives of its
    own, and returns None for one that does not fit.
    """
    # a batch that cannot be divided has a finding of its own, and says nothing about memory
    divides = spec.training.global_batch in ("auto", plan.decisions.batch.global_batch.value)

    def fit(made: tuple[Change, ...]) -> Alternative | None:
        """Return changes as an alternative if a spec with all of them fits."""
        tried = plan_again(made[-1].spec, made[-1].facts)
        fits = tried is not None and works(made[-1].spec, made[-1].facts, tried, divides=divides)
        return _alternative(made, tried, plan) if tried is not None and fits else None

    def first(edit: Edit, made: tuple[Change, ...] = ()) -> Alternative | None:
        """Return the first change of an edit that fits, on top of the earlier changes."""
        now = (made[-1].spec, made[-1].facts) if made else (spec, facts)
        tried = (fit((*made, change)) for change in edit(*now, plan))
        return next((each for each in tried if each is not None), None)

    found = [each for edit in _RELEASES if (each := first(edit))]
    released = () if found else _release(spec, facts, plan)
    if len(released) > 1 and (all_of_them := fit(released)):
        found, released = [all_of_them], ()
    for edit in _EDITS:
        alternative = first(edit)
        if alternative is None and released:
            alternative = first(edit, released)
        found += [alternative] if alternative is not None else []
    if all(alternative.kind == "hardware" for alternative in found):
        found += _together(spec, facts, plan, plan_again, divides=divides)
    return tuple(sorted(found, key=_rank))


def _release(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Return the changes that remove the spec's restrictions on memory-saving options.

    If none of them is enough alone, other changes are tried together with them. Otherwise a large
    micro-batch could hide a method that fits.
    """
    made: tuple[Change, ...] = ()
    for edit in _RELEASES:
        now, known = (made[-1].spec, made[-1].facts) if made else (spec, facts)
        stated = (each for each in edit(now, known, plan) if each.fix[0]["path"] in spec.said)
        made += tuple(stated)[:1]
    return made


def _rank(alternative: Alternative) -> tuple[int, float]:
    seconds = alternative.time_seconds
    return _ORDER.index(alternative.kind), float("inf") if seconds is None else seconds


def _together(
    spec: Spec, facts: KnownFacts, plan: Plan, plan_again: PlanAgain, *, divides: bool
) -> tuple[Alternative, ...]:
    """Return changes that together fit, as few and small as possible, with hardware last."""
    plans: dict[str, Plan | None] = {}  # edits without an effect lead to the same spec

    def attempt(chosen: Sequence[tuple[Edit, int]]) -> tuple[tuple[Change, ...], Plan] | None:
        """Apply the changes one after the other; return None if the plan with them does not fit."""
        made: tuple[Change, ...] = ()
        now, known = spec, facts
        for edit, place in chosen:
            if changes := edit(now, known, plan):
                change = changes[min(place, len(changes) - 1) if place >= 0 else -1]
                now, known, made = change.spec, change.facts, (*made, change)
        key = str([change.fix for change in made])
        if key not in plans:
            plans[key] = plan_again(now, known)
        tried = plans[key]
        if tried is None or not works(now, known, tried, divides=divides):
            return None
        return made, tried

    # the last of each is the strongest of its kind: the shortest rows, the most GPUs
    chosen = [(edit, -1) for edit in (*_RELEASES, *_EDITS)]
    fitting = next((n for n in range(2, len(chosen) + 1) if attempt(chosen[:n])), None)
    if fitting is None:
        return ()
    chosen = chosen[:fitting]
    for each in tuple(chosen):
        others = [other for other in chosen if other != each]
        if others and attempt(others):
            chosen = others
    for place, (edit, _) in enumerate(chosen):
        for weaker in range(len(edit(spec, facts, plan)) - 1):
            changed = [*chosen[:place], (edit, weaker), *chosen[place + 1 :]]
            if attempt(changed):
                chosen = changed
                break
    found = attempt(chosen)
    return (_alternative(found[0], found[1], plan),) if found and len(found[0]) > 1 else ()


def _alternative(made: tuple[Change, ...], tried: Plan, plan: Plan) -> Alternative:
    before, after = plan.time_seconds, tried.time_seconds
    return Alternative(
        words=_say(made, tried),
        device_bytes=tried.memory.device_bytes,
        fix=tuple(operation for change in made for operation in change.fix),
        kind=max((change.kind for change in made), key=_ORDER.index),
        time_seconds=after,
        time_ratio=round(after / before, 2) if before and after else None,
        cost=None if tried.cost is None else tried.cost.total,
    )


def _say(made: tuple[Change, ...], tried: Plan) -> Message:
    """Return the words for all changes, with the sharding that they lead to.

    The sharding is the one that uses more GPUs, or that replaces the spec's sharding. If the host's
    memory is unknown, the words give the memory that offloading needs.
    """
    words = Message("offer.together", {"changes": [change.words for change in made]})
    offloads = any(step["path"] == "/distribution/offload" for c in made for step in c.fix)
    if offloads and made[-1].facts.hardware.host_ram_bytes is None:
        words = Message("offer.with_host", {"change": words, "host": tried.host_ram_bytes})
    name = _NAMES.get(tried.decisions.distribution.sharding.value)
    steps = [step for change in made for step in change.fix if step["path"] == _STRATEGY]
    if steps and steps[-1]["value"] != "auto":
        return words  # which name it
    if name is None or not (steps or any(change.kind == "hardware" for change in made)):
        return words
    return Message("offer.with_strategy", {"change": words, "strategy": name})


def _checkpoint(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Recompute activations instead of keeping them."""
    if plan.decisions.batch.gradient_checkpointing.value in (True, "offload"):
        return ()
    words = Message("offer.gradient_checkpointing")
    return (_set(words, "layout", spec, facts, {"/training/gradient_checkpointing": True}),)


def _fuse(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Use Liger's kernels, which keep less for the backward pass, where weights leave room."""
    memory, gpu = plan.memory, facts.hardware.kind == "gpu"
    read = spec.objective.type in SELECTIVE  # Liger's losses are of supervised fine-tuning
    refused = spec.training.liger is False  # the planner has tried them where it may
    if not (refused and gpu and read and has_liger_kernels(facts.model.model_type)):
        return ()
    if memory.phases["optimizer_step"] > (memory.capacity_bytes or 0):
        return ()
    words = Message("offer.liger")
    return (_set(words, "method", spec, facts, {"/training/liger": True}),)


def _shrink(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Leave the micro-batch to the planner, which chooses one that divides the batch and fits."""
    del plan
    if spec.training.micro_batch in ("auto", 1):
        return ()
    words = Message("offer.smaller_micro_batch")
    return (_set(words, "layout", spec, facts, {"/training/micro_batch": "auto"}),)


def _attend(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Use an attention without a matrix of scores."""
    if plan.decisions.compute.attention.value != "eager":
        return ()
    return (_set(Message("offer.sdpa"), "layout", spec, facts, {"/model/attention": "sdpa"}),)


def _halve(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Use 16 bits instead of fp32: bf16, or fp16 if the model can be trained in it."""
    hardware = facts.hardware
    if plan.decisions.compute.precision.value != "fp32" or hardware.kind == "cpu":
        return ()
    if not hardware.bf16 and overflows_in_fp16(facts.model):
        return ()
    precision = "bf16" if hardware.bf16 else "fp16"
    words = Message("offer.precision", {"precision": precision})
    return (_set(words, "layout", spec, facts, {"/training/precision": precision}),)


def _divide(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Divide weights, gradients and optimizer states, where the spec names another strategy.

    A sharding that the planner chose already needs least memory.
    """
    decided = plan.decisions
    if decided.distribution.world.value == 1 or spec.distribution.strategy == "auto":
        return ()
    return tuple(
        _set(
            Message("offer.strategy", {"strategy": _NAMES[strategy]}),
            "layout",
            spec,
            facts,
            {"/distribution/strategy": strategy},
        )
        for strategy in _STRATEGIES
        if strategy != decided.distribution.sharding.value
    )


def _offload(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep optimizer states, then weights as well, in the host's memory.

    ZeRO-2 and ZeRO-3 offload optimizer states, only ZeRO-3 weights; a strategy that cannot is left
    to the planner.
    """
    del plan
    written = spec.distribution
    if facts.hardware.kind == "cpu" or written.offload not in ("auto", "none"):
        return ()
    if spec.training.optimizer != "adamw":  # DeepSpeed's CPU optimizer is AdamW (FTC440)
        return ()
    able: Mapping[str, tuple[str, ...]] = {
        "optimizer": ("auto", "zero2", "zero3"),
        "parameters": ("auto", "zero3"),
    }
    changes = []
    for offload, strategies in able.items():
        values = {"/distribution/offload": offload}
        if written.strategy not in strategies:
            values = {_STRATEGY: "auto", **values}
        words = Message(f"offer.offload_{offload}")
        changes.append(_set(words, "layout", spec, facts, values))
    return tuple(changes)


def _precompute(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Compute the reference before training, instead of keeping a second model."""
    del plan
    if spec.objective.type not in REFERRING or spec.objective.reference != "copy":
        return ()
    if facts.data.pictures is not None:  # TRL refuses it (FTC193)
        return ()
    words = Message("offer.precomputed")
    return (_set(words, "layout", spec, facts, {"/objective/reference": "precomputed"}),)


def _leave_engine(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Generate the answers with transformers instead of vLLM."""
    del plan
    if find_engine(spec.objective) == "off":
        return ()
    words = Message("offer.no_vllm")
    return (_set(words, "layout", spec, facts, {"/objective/vllm": "off"}),)


def _quantize_teacher(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Load the teacher in 4 bits; its kernels are for GPUs, and for linear modules."""
    quantization, found = plan.decisions.teacher.teacher_quantization, facts.teacher
    if found is None or quantization is None or quantization.value != "none":
        return ()
    if facts.hardware.kind == "cpu" or found.model.shape is None or found.model.shape.experts:
        return ()
    teacher = replace(spec.objective.teacher, quantization="nf4")
    written = {name: value for name, value in asdict(teacher).items() if value is not None}
    return (
        Change(
            words=Message("offer.teacher_4bit"),
            kind="method",
            spec=replace(spec, objective=replace(spec.objective, teacher=teacher)),
            facts=facts,
            fix=({"op": "add", "path": "/objective/teacher", "value": written},),
        ),
    )


def _shrink_states(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep AdamW's moments in 8 bits, where whole weights are trained and not offloaded."""
    del plan
    offloaded = spec.distribution.offload not in ("auto", "none")
    whole = spec.method.type in ("full", "freeze") and spec.training.optimizer == "adamw"
    if facts.hardware.kind == "cpu" or offloaded or not whole:
        return ()
    words = Message("offer.adamw_8bit")
    return (_set(words, "method", spec, facts, {"/training/optimizer": "adamw_8bit"}),)


def _freeze_more(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Train fewer of the last layers, halving their number each time."""
    layers = plan.decisions.method.trained_layers
    if layers is None or isinstance(spec.method.layers, tuple):
        return ()
    count, counts = len(layers.value), list[int]()
    while count > 1:
        count //= 2
        counts.append(count)
    return tuple(
        _set(
            Message("offer.fewer_layers", {"count": count}),
            "method",
            spec,
            facts,
            {"/method/layers": count},
        )
        for count in counts
    )


def _adapt(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Train an adapter instead of every weight."""
    del plan
    return (_method(spec, facts, "lora", wide=False),) if spec.method.type == "full" else ()


def _quantize(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep the frozen base in 4 bits; its kernels are for GPUs, and for linear modules."""
    fused = facts.model.shape is None or facts.model.shape.experts > 0
    if facts.hardware.kind == "cpu" or fused or facts.model.quantized is not None:
        return ()
    wide = plan.decisions.compute.precision.value == "fp32"
    return () if spec.method.type == "qlora" else (_method(spec, facts, "qlora", wide=wide),)


def _method(spec: Spec, facts: KnownFacts, kind: Literal["lora", "qlora"], *, wide: bool) -> Change:
    """Return the change to another method; a 4-bit base is not sharded over GPUs (FTC427)."""
    instead = "full" if spec.method.type == "full" else "base"
    values: dict[str, object] = {"/method/type": kind}
    if spec.objective.reference == "copy":  # beside an adapter the base itself is one (FTC560)
        values["/objective/reference"] = "auto"
    if kind == "qlora" and spec.distribution.strategy == "zero3":
        values[_STRATEGY] = "auto"
    if kind == "qlora" and spec.distribution.offload == "parameters":
        values["/distribution/offload"] = "auto"
    words = Message(f"offer.{kind}_instead_of_{instead}", {"bits": 32 if wide else 16})
    if kind == "qlora" and find_engine(spec.objective) != "off":  # see FTC554
        words, values["/objective/vllm"] = Message("offer.without_vllm", {"change": words}), "off"
    return _set(words, "method", spec, facts, values)


def _divide_base(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Keep the base in 16 bits and divide it by ZeRO-3, on these GPUs or on more of them.

    On these, the parts may have to stay in the host's memory. Every process has to hold a whole
    base in 4 bits, however many processes there are.
    """
    hardware = facts.hardware
    if spec.method.type != "qlora" or hardware.kind == "cpu" or facts.model.quantized is not None:
        return ()
    offloads = spec.distribution.offload not in ("auto", "none")
    counts = (hardware.count,) if hardware.origin == "machine" else (hardware.count, *_COUNTS)
    divided: dict[str, object] = {"/method/type": "lora"}
    divided |= {path: _NOTHING for path in _OF_QLORA if path in spec.said}
    divided["/distribution/strategy"] = "zero3"
    changes = [
        _set(
            Message("offer.lora_divided", {"count": count}),
            "method" if count == hardware.count else "hardware",
            spec,
            with_count(facts, count),
            divided | ({"/hardware/count": count} if count != hardware.count else {}),
        )
        for count in counts
        if count >= hardware.count and (count * hardware.nodes > 1 or offloads)
    ]
    held = [
        replace(
            each,
            words=Message("offer.together", {"changes": [changes[0].words, each.words]}),
            kind="method",
            fix=(*changes[0].fix, *each.fix),
        )
        for each in (_offload(changes[0].spec, facts, plan)[-1:] if changes else ())
        if changes[0].kind == "method"
    ]
    return (*changes[:1], *held, *changes[1:])


def _shorten(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Cut no row, or those beyond the 99th, 95th or 90th percentile of lengths."""
    lengths = facts.data.lengths
    limits = dict.fromkeys(map(round_up, (lengths.max, lengths.p99, lengths.p95, lengths.p90)))

    def share_cut(tokens: int) -> float | Message:
        share = share_above(lengths, tokens)
        return Message("phrase.about_share", {"share": share}) if lengths.estimate else share

    return tuple(
        _set(
            Message("offer.max_length", {"tokens": tokens, "share": share_cut(tokens)}),
            "data",
            spec,
            facts,
            {"/data/max_length": tokens},
        )
        for tokens in limits
        if lengths.prompt_max <= tokens < plan.decisions.rows.max_length.value
    )


def _multiply(spec: Spec, facts: KnownFacts, plan: Plan) -> tuple[Change, ...]:
    """Use more of the same GPU in one host."""
    del plan
    hardware = facts.hardware
    if hardware.kind == "cpu" or hardware.origin == "machine":
        return ()
    return tuple(
        _set(
            Message("offer.gpus", {"count": count}),
            "hardware",
            spec,
            with_count(facts, count),
            {"/hardware/count": count},
        )
        for count in _COUNTS
        if count > hardware.count
    )


def _set(
    words: Message, kind: Kind, spec: Spec, facts: KnownFacts, values: Mapping[str, object]
) -> Change:
    """Return the change that sets the fields at these pointers (`/section/field`).

    Its patch (RFC 6902) is for the long form of the spec. `_NOTHING` removes a field, which leaves
    its default: nothing else reads it then.
    """
    changed = spec
    fix: list[Mapping[str, Any]] = []
    for pointer, value in values.items():
        if value is _NOTHING:
            fix.append({"op": "remove", "path": pointer})
            continue
        _, section, field = pointer.split("/")
        written = replace(getattr(changed, section), **{field: value})
        changed = replace(changed, **{section: written})
        fix.append({"op": "add", "path": pointer, "value": value})
    return Change(words=words, kind=kind, spec=changed, facts=facts, fix=tuple(fix))


#: Options that a spec can deny the planner: a smaller micro-batch, recomputing, SDPA.
_RELEASES: Final[tuple[Edit, ...]] = (_shrink, _checkpoint, _attend)
_EDITS: Final[tuple[Edit, ...]] = (
    _halve, _leave_engine, _precompute, _quantize_teacher, _divide,
    _offload, _shrink_states, _freeze_more, _fuse, _adapt, _quantize, _shorten, _multiply,
    _divide_base,
)  # fmt: skip
