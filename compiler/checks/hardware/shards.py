"""The rules about weights that FSDP divides (FTC432 to FTC439)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.plan.objective.sampling import (
    learns_from_shards,
    samples,
    sampling_reference,
)

_STRATEGY: Final = "/distribution/strategy"
_REFERENCE: Final = "/objective/reference"
_WHOLE_TENSORS: Final = frozenset({"adamw", "sgd"})


def _divided(case: Case) -> bool:
    return case.plan.decisions.distribution.sharding.value == "fsdp"


@rule("FTC432", "fsdp-without-gpus", "error", reads=("hardware", "plan"))
def fsdp_without_gpus(case: Case) -> Iterator[Problem]:
    """What it is: The strategy is `fsdp`, and there is one GPU or none.

    Why it matters: accelerate uses FSDP only with several GPUs. On a CPU it trains plain copies of
    the model, on one GPU a single process, and reports neither.

    Example: {"hardware": "2x cpu", "distribution": "fsdp"}

    Use instead: {"hardware": "2x cpu", "distribution": "zero3"}
    """
    if case.spec.distribution.strategy != "fsdp":
        return
    alone = case.plan.decisions.distribution.world.value == 1
    if alone or case.hardware.kind == "cpu":
        yield problem(_STRATEGY, message="alone" if alone else "cpu", fix=(put(_STRATEGY, "auto"),))


@rule("FTC433", "storage-that-is-not-divided", "error", reads=("plan",))
def storage_that_is_not_divided(case: Case) -> Iterator[Problem]:
    """What it is: FSDP is to divide 4-bit weights packed into a type other than the computing one.

    Why it matters: accelerate does not divide weights stored as bytes, so each GPU holds all of
    them. A type other than that of the computation is cast when it is gathered, which turns packed
    weights into noise.

    Example: {"method": {"type": "qlora", "quant_storage": "uint8"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"method": "qlora", "hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    decided = case.plan.decisions
    storage = decided.method.quant_storage
    if _divided(case) and storage is not None and storage.value != decided.compute.precision.value:
        yield problem(
            "/method/quant_storage",
            fix=(put("/method/quant_storage", "auto"),),
            precision=decided.compute.precision.value,
            storage=storage.value,
        )


@rule("FTC434", "eight-bits-under-fsdp", "error", reads=("plan",))
def eight_bits_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: An 8-bit base (`int8`) is to be divided by FSDP.

    Why it matters: Weights of LLM.int8 are signed bytes with separate scales. FSDP needs gradients
    for what it divides, and torch has them only for floating-point tensors.

    Example: {"method": {"type": "qlora", "quantization": "int8"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"method": "qlora", "hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    eight = case.spec.method.type == "qlora" and case.plan.decisions.method.quant_storage is None
    if _divided(case) and eight:
        yield problem("/method/quantization", fix=(put(_STRATEGY, "zero2"),))


@rule("FTC435", "states-without-weights", "error")
def states_without_weights(case: Case) -> Iterator[Problem]:
    """What it is: Only the optimizer is to be offloaded to the host's memory under FSDP.

    Why it matters: FSDP offloads its shards together with the gradients and the optimizer's states,
    or nothing. `parameters` is the word for that.

    Example: {"distribution": {"strategy": "fsdp", "offload": "optimizer"}}

    Use instead: {"distribution": {"strategy": "fsdp", "offload": "parameters"}}
    """
    written = case.spec.distribution
    if written.strategy == "fsdp" and written.offload == "optimizer":
        yield problem("/distribution/offload", fix=(put("/distribution/offload", "parameters"),))


@rule("FTC436", "optimizer-of-whole-tensors", "error", reads=("plan",), fix_safety="unsafe")
def optimizer_of_whole_tensors(case: Case) -> Iterator[Problem]:
    """What it is: The optimizer does not support the divided tensors of FSDP.

    Why it matters: FSDP gives the optimizer shards (torch's `DTensor`). The kernels of bitsandbytes
    need plain memory and stop at them; Adafactor needs the rows and columns of whole matrices.

    Example: {"training": {"optimizer": "adamw_8bit"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    name = case.plan.decisions.training.optimizer.value
    if _divided(case) and name not in _WHOLE_TENSORS:
        yield problem(
            "/training/optimizer", fix=(put("/training/optimizer", "adamw"),), optimizer=name
        )


@rule("FTC437", "answers-under-fsdp", "error", reads=("plan",), fix_safety="unsafe")
def answers_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: Checkpoints are to be chosen by generated answers, and FSDP divides the weights.

    Why it matters: Each process generates answers of different lengths. When one process asks to
    gather weights and another does not, the run waits for ever.

    Example: {"distribution": "fsdp", "hardware": "2x A100-80GB",
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}

    Use instead: {"distribution": "fsdp", "hardware": "2x A100-80GB"}
    """
    decided = case.plan.decisions
    chosen = (
        case.spec.training.evaluation.best_by == "metric"
        and decided.evaluation.metric.value != "none"
    )
    if _divided(case) and chosen and not samples(case.spec.objective):
        yield problem(
            "/training/evaluation/best_by", fix=(put("/training/evaluation/best_by", "loss"),)
        )


@rule("FTC438", "reference-under-fsdp", "error", reads=("plan",))
def reference_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: Under FSDP the reference is a second model, or a pass before training.

    Why it matters: TRL wraps a second model as one unit: each GPU gathers all of it at every step,
    which saves no memory. Before training only the first process has its weights, so a reference
    computed then is noise. With a `beta`, GRPO and RLOO without an adapter have a second model.

    Example: {"objective": "dpo", "method": "full", "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"objective": "dpo", "method": "full", "hardware": "2x A100-80GB",
     "distribution": "zero3"}
    """
    compared = case.plan.decisions.comparison.reference
    reference = compared.value if compared else sampling_reference(case.spec)
    if not _divided(case) or reference not in ("copy", "precomputed"):
        return
    adapts = case.spec.method.type in ("lora", "qlora")
    if (adapts and reference == "copy") or not learns_from_shards(case.spec, "fsdp"):
        return  # FTC560 says that an adapter needs no copy, FTC593 that nothing is divided
    pointer, value = (_REFERENCE, "adapter_off") if adapts else (_STRATEGY, "zero3")
    yield problem(
        pointer,
        message=reference,
        help="adapter" if adapts else "" if compared else "sampled",
        fix=(put(pointer, value),),
    )


@rule("FTC439", "new-tokens-under-fsdp", "error", reads=("plan",))
def new_tokens_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: An adapter trains the rows of new tokens, and FSDP divides the weights.

    Why it matters: PEFT keeps those rows in a separate tensor and inserts them into a copy of the
    embedding. AdamW stops at such a tensor in shards, because torch cannot divide its step.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "lora",
     "hardware": "2x A100-80GB", "distribution": "fsdp"}

    Use instead: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "lora",
     "hardware": "2x A100-80GB", "distribution": "zero2"}
    """
    adapted = case.spec.method.type in ("lora", "qlora")
    if _divided(case) and adapted and case.spec.model.new_tokens:
        yield problem("/model/new_tokens", fix=(put(_STRATEGY, "zero2"),))
