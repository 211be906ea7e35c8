"""The rules about weights that FSDP divides (FTC432 to FTC439)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule

_STRATEGY: Final = "/distribution/strategy"
_WHOLE_TENSORS: Final = frozenset({"adamw", "sgd"})


def _divided(case: Case) -> bool:
    return case.plan.decisions.sharding.value == "fsdp"


@rule("FTC432", "fsdp-without-gpus", "error", reads=("hardware", "plan"))
def fsdp_without_gpus(case: Case) -> Iterator[Problem]:
    """What it is: The strategy is `fsdp`, and there is one GPU or none.

    Why it matters: accelerate takes FSDP up for several GPUs alone. On a CPU it starts plain copies
    of the model, on one GPU a single process, and says nothing of either.

    Example: {"hardware": "2x cpu", "distribution": "fsdp"}

    Use instead: {"hardware": "2x cpu", "distribution": "zero3"}
    """
    if case.spec.distribution.strategy != "fsdp":
        return
    alone = case.plan.decisions.world.value == 1
    if alone or case.hardware.kind == "cpu":
        yield Problem(
            message="FSDP divides weights among GPUs, and there is one process"
            if alone
            else "FSDP divides weights among GPUs; on a CPU accelerate trains copies instead",
            help="leave `distribution` out, or use two GPUs or more",
            pointer=_STRATEGY,
            fix=(put(_STRATEGY, "auto"),),
        )


@rule("FTC433", "storage-that-is-not-divided", "error", reads=("plan",))
def storage_that_is_not_divided(case: Case) -> Iterator[Problem]:
    """What it is: 4-bit weights under FSDP are packed into another type than what is computed in.

    Why it matters: accelerate leaves weights in bytes out of the shards, so that each GPU holds
    all of them. A type other than the one that is computed in is cast when it is gathered, which
    turns packed weights into noise.

    Example: {"method": {"type": "qlora", "quant_storage": "uint8"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"method": "qlora", "hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    decided = case.plan.decisions
    storage = decided.quant_storage
    if _divided(case) and storage is not None and storage.value != decided.precision.value:
        yield Problem(
            message=f"FSDP computes in {decided.precision.value}, and 4-bit weights packed into "
            f"{storage.value} are not divided",
            help="leave `method.quant_storage` out",
            pointer="/method/quant_storage",
            fix=(put("/method/quant_storage", "auto"),),
        )


@rule("FTC434", "eight-bits-under-fsdp", "error", reads=("plan",))
def eight_bits_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: A base in 8 bits (`int8`) is to be divided by FSDP.

    Why it matters: Weights of LLM.int8 are signed bytes with scales beside them. FSDP asks for
    gradients of what it divides, which torch has for floating-point tensors alone.

    Example: {"method": {"type": "qlora", "quantization": "int8"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"method": "qlora", "hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    eight = case.spec.method.type == "qlora" and case.plan.decisions.quant_storage is None
    if _divided(case) and eight:
        yield Problem(
            message="FSDP does not divide a base in 8 bits",
            help="use `nf4`, or `zero2`, which leaves the base whole",
            pointer="/method/quantization",
            fix=(put(_STRATEGY, "zero2"),),
        )


@rule("FTC435", "states-without-weights", "error")
def states_without_weights(case: Case) -> Iterator[Problem]:
    """What it is: The optimiser alone is to wait in the host's memory under FSDP.

    Why it matters: FSDP offloads its shards with the gradients and the optimiser's states, or
    nothing. That is the word `parameters`.

    Example: {"distribution": {"strategy": "fsdp", "offload": "optimizer"}}

    Use instead: {"distribution": {"strategy": "fsdp", "offload": "parameters"}}
    """
    written = case.spec.distribution
    if written.strategy == "fsdp" and written.offload == "optimizer":
        yield Problem(
            message="FSDP keeps the optimiser on the host only together with the weights",
            help="offload `parameters`, or use `zero3`, which offloads the optimiser alone",
            pointer="/distribution/offload",
            fix=(put("/distribution/offload", "parameters"),),
        )


@rule("FTC436", "optimizer-of-whole-tensors", "error", reads=("plan",), fix_safety="unsafe")
def optimizer_of_whole_tensors(case: Case) -> Iterator[Problem]:
    """What it is: An optimiser under FSDP that does not work on divided tensors.

    Why it matters: FSDP hands the optimiser shards (torch's `DTensor`). The kernels of bitsandbytes
    read plain memory and refuse them; Adafactor's rows and columns are those of whole matrices.

    Example: {"training": {"optimizer": "adamw_8bit"}, "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"hardware": "2x A100-80GB", "distribution": "fsdp"}
    """
    name = case.plan.decisions.optimizer.value
    if _divided(case) and name not in _WHOLE_TENSORS:
        yield Problem(
            message=f"`{name}` does not work on the shards that FSDP makes",
            help="use `adamw`, whose states FSDP divides, or `zero2`",
            pointer="/training/optimizer",
            fix=(put("/training/optimizer", "adamw"),),
        )


@rule("FTC437", "answers-under-fsdp", "error", reads=("plan",), fix_safety="unsafe")
def answers_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: Checkpoints are to be chosen by answers, and FSDP divides the weights.

    Why it matters: Each process answers rows of its own length. A gathering that one process asks
    for and another does not waits for ever.

    Example: {"distribution": "fsdp", "hardware": "2x A100-80GB",
     "training": {"evaluation": {"best_by": "metric", "metric": "rouge_l"}}}

    Use instead: {"distribution": "fsdp", "hardware": "2x A100-80GB"}
    """
    decided = case.plan.decisions
    chosen = case.spec.training.evaluation.best_by == "metric" and decided.metric.value != "none"
    if _divided(case) and chosen and case.spec.objective.type != "grpo":
        yield Problem(
            message="FSDP gathers weights for each token of an answer, and no two are as long",
            help="let the loss decide: the answers are judged after training as well",
            pointer="/training/evaluation/best_by",
            fix=(put("/training/evaluation/best_by", "loss"),),
        )


@rule("FTC438", "reference-under-fsdp", "error", reads=("plan",))
def reference_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: A second model, or a pass before training, is the reference under FSDP.

    Why it matters: TRL wraps a second model as one piece: each GPU gathers all of it at every step,
    which saves nothing. Before training no process but the first has its weights, so that what a
    reference says then is noise.

    Example: {"objective": "dpo", "method": "full", "hardware": "2x A100-80GB",
     "distribution": "fsdp"}

    Use instead: {"objective": "dpo", "method": "full", "hardware": "2x A100-80GB",
     "distribution": "zero3"}
    """
    reference = case.plan.decisions.reference
    if _divided(case) and reference is not None and reference.value in ("copy", "precomputed"):
        yield Problem(
            message="TRL gathers the whole reference on each GPU under FSDP"
            if reference.value == "copy"
            else "a reference cannot be computed before FSDP has given each process its weights",
            help="use `zero3`, or `lora`, whose base is the reference",
            pointer=_STRATEGY,
            fix=(put(_STRATEGY, "zero3"),),
        )


@rule("FTC439", "new-tokens-under-fsdp", "error", reads=("plan",))
def new_tokens_under_fsdp(case: Case) -> Iterator[Problem]:
    """What it is: An adapter trains the rows of new tokens, and FSDP divides the weights.

    Why it matters: PEFT keeps those rows in a tensor of their own and puts them into a copy of the
    embedding. AdamW stops at such a tensor in shards: no rule of torch divides its step.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "lora",
     "hardware": "2x A100-80GB", "distribution": "fsdp"}

    Use instead: {"model": {"id": "Qwen/Qwen2.5-7B", "new_tokens": ["<tool>"]}, "method": "lora",
     "hardware": "2x A100-80GB", "distribution": "zero2"}
    """
    adapted = case.spec.method.type in ("lora", "qlora")
    if _divided(case) and adapted and case.spec.model.new_tokens:
        yield Problem(
            message="the rows of new tokens cannot be trained in shards of FSDP",
            help="use `zero2`, or train `embeddings` and `head` whole with a full fine-tune",
            pointer="/model/new_tokens",
            fix=(put(_STRATEGY, "zero2"),),
        )
