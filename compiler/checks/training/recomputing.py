"""The rules about partial recomputation and activations on the host (FTC540 to 543)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.objective.comparison import switches_recomputing
from ftc.compiler.plan.search.space import SELECTIVE

_FIELD = "/training/gradient_checkpointing"


@rule("FTC540", "host-activations-without-gpu", "error", reads=("hardware",))
def host_activations_without_gpu(case: Case) -> Iterator[Problem]:
    """What it is: Activations are to be kept by the host, and the training runs on a CPU.

    Why it matters: They are there already. transformers copies them to pinned memory, which exists
    only beside a GPU: the first step would stop with an error.

    Example: {"hardware": "cpu", "training": {"gradient_checkpointing": "offload"}}

    Use instead: {"hardware": "cpu", "training": {"gradient_checkpointing": true}}
    """
    if case.spec.training.gradient_checkpointing == "offload" and case.hardware.kind == "cpu":
        yield problem(_FIELD, fix=(put(_FIELD, True),))


@rule("FTC541", "unsupported-partial-checkpointing", "error", reads=("plan",))
def unsupported_partial_checkpointing(case: Case) -> Iterator[Problem]:
    """What it is: Activations are to be recomputed in a way that the pinned libraries lack here.

    Why it matters: Only TRL's trainer for supervised fine-tuning recomputes selectively. It changes
    a method of the model for that, which an adapter of PEFT hides, so the first step would stop
    with an unexpected keyword, `selective`. ZeRO-3 gathers weights in the backward pass that the
    forward pass did not gather, and PyTorch stops there: selective recomputing accepts only the
    operations of the forward pass. A classification head with an adapter recomputes whole
    layers under ZeRO-3, which has to gather their weights again. TRL switches recomputing off to
    generate answers, and to compute the reference of DPO or KTO at each step. It switches it on
    again in a way that accepts no options, and the next step would stop.

    Example: {"method": "lora", "training": {"gradient_checkpointing": "selective"}}

    Use instead: {"method": "lora", "training": {"gradient_checkpointing": 2}}
    """
    spec, written = case.spec, case.spec.training.gradient_checkpointing
    adapted, kind = spec.method.type in ("lora", "qlora"), spec.objective.type
    if isinstance(written, bool) or written == "auto":
        return
    reference = case.plan.decisions.comparison.reference
    if switches_recomputing(spec, reference.value if reference else None):
        why = "sampled" if OBJECTIVES[kind].samples else "reference"
        yield problem(_FIELD, message=why, help="whole", fix=(put(_FIELD, True),))
        return
    if written == "selective" and (adapted or kind not in SELECTIVE):
        yield problem(_FIELD, fix=(put(_FIELD, True),), method=spec.method.type, kind=kind)
        return
    if case.plan.decisions.distribution.sharding.value != "zero3":
        return
    if written == "selective":
        yield problem(_FIELD, message="gathered", fix=(put(_FIELD, True),))
    elif kind == "classification" and adapted:
        yield problem(_FIELD, message="head", help="head", fix=(put(_FIELD, True),))


@rule("FTC542", "untimed-host-activations", "warning", reads=("hardware", "plan"))
def untimed_host_activations(case: Case) -> Iterator[Problem]:
    """What it is: The host is to keep activations, and the time of that is a guess.

    Why it matters: On one H200 the memory was as planned. The time was not measured: it is planned
    from the width of the link to the host alone. `./run.sh --pilot` measures a few steps.

    Example: {"hardware": "1x A100-80GB", "training": {"gradient_checkpointing": "offload"}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"gradient_checkpointing": true}}
    """
    chosen = case.plan.decisions.batch.gradient_checkpointing
    if chosen.value == "offload" and case.hardware.kind == "gpu":
        yield problem(_FIELD, help="" if chosen.source == "spec" else "planned")


@rule("FTC543", "interval-beyond-the-layers", "warning", reads=("model",))
def interval_beyond_the_layers(case: Case) -> Iterator[Problem]:
    """What it is: Every n-th layer is to be recomputed, and the model has n layers or fewer.

    Why it matters: transformers counts from the first layer, so only that one is recomputed. All
    others keep their activations: hardly any memory is saved.

    Example: {"training": {"gradient_checkpointing": 64}}

    Use instead: {"training": {"gradient_checkpointing": 2}}
    """
    written, shape = case.spec.training.gradient_checkpointing, case.model.shape
    if isinstance(written, bool | str) or shape is None or written < shape.layers:
        return
    yield problem(_FIELD, fix=(put(_FIELD, "auto"),), every=written, layers=shape.layers)
