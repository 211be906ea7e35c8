"""The rules about precision, attention and GPUs that work, and work badly (FTC340 to FTC359)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.architecture import supports_sdpa

_LONG_TOKENS = 1024


@rule("FTC340", "eager-attention-on-long-rows", "warning", reads=("model", "hardware", "plan"))
def eager_attention_on_long_rows(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for eager attention on long rows, and the model has SDPA.

    Why it matters: Eager attention writes a score for every pair of tokens and every head: its
    memory grows with the square of the length, and most of its time is spent moving it.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "attention": "eager"}, "hardware": "1x RTX-4090"}

    Use instead: {"model": "Qwen/Qwen2.5-7B", "hardware": "1x RTX-4090"}
    """
    length = case.plan.decisions.max_length.value
    asked = case.spec.model.attention == "eager" and supports_sdpa(case.model.architecture)
    if asked and case.hardware.kind == "gpu" and length >= _LONG_TOKENS:
        yield Problem(
            message=f"eager attention on rows of up to {length:,} tokens",
            help="use `sdpa`, which gives the same numbers, or leave attention out",
            pointer="/model/attention",
            fix=(put("/model/attention", "sdpa"),),
        )


@rule("FTC341", "fp32-where-bf16-is", "warning", reads=("hardware",), fix_safety="unsafe")
def fp32_where_bf16_is(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for fp32 on a GPU that computes in bf16.

    Why it matters: Weights and activations take twice the memory, and the matrix units that make
    the GPU fast stand still.

    Example: {"hardware": "1x A100-80GB", "training": {"precision": "fp32"}}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    hardware = case.hardware
    if case.spec.training.precision == "fp32" and hardware.kind == "gpu" and hardware.bf16:
        yield Problem(
            message=f"{hardware.name} computes in bf16, several times as fast as in fp32",
            help="use `bf16`, or leave the precision out",
            pointer="/training/precision",
            fix=(put("/training/precision", "bf16"),),
        )


@rule("FTC342", "fp16-where-bf16-is", "warning", reads=("hardware",), fix_safety="unsafe")
def fp16_where_bf16_is(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for fp16 on a GPU that computes in bf16.

    Why it matters: fp16 ends at 65,504: activations of models that were trained in bf16 overflow,
    the loss turns to 0 or NaN, and steps are skipped until the scaler finds its place
    (LLaMA-Factory #7755, #7387). bf16 is as fast and has the range of fp32.

    Example: {"hardware": "1x A100-80GB", "training": {"precision": "fp16"}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"precision": "bf16"}}
    """
    hardware = case.hardware
    if case.spec.training.precision == "fp16" and hardware.kind == "gpu" and hardware.bf16:
        yield Problem(
            message=f"{hardware.name} computes in bf16, and fp16 overflows where bf16 does not",
            help="use `bf16`, or leave the precision out",
            pointer="/training/precision",
            fix=(put("/training/precision", "bf16"),),
        )


@rule(
    "FTC343", "gemma-in-fp16", "warning", reads=("model", "hardware", "plan"), fix_safety="unsafe"
)
def gemma_in_fp16(case: Case) -> Iterator[Problem]:
    """What it is: A Gemma model is to be trained in fp16, since the GPU has no bf16.

    Why it matters: Gemma's activations go beyond fp16's range: the loss is 0 or NaN from the first
    steps on (LLaMA-Factory #7755: Gemma 3 on a V100).

    Example: {"model": "google/gemma-3-1b-it", "hardware": "1x V100-16GB"}

    Use instead: {"model": "google/gemma-3-1b-it", "hardware": "1x L4"}
    """
    chosen = case.plan.decisions.precision
    if not case.model.model_type.startswith("gemma") or chosen.value != "fp16":
        return
    if not case.hardware.bf16:  # else FTC342 says it of the spec
        yield Problem(
            message=f"`{case.model.id}` overflows in fp16, and {case.hardware.name} has no bf16",
            help="use a GPU with bf16 (Ampere or newer), or `fp32` if memory allows",
            pointer="/training/precision" if chosen.source == "spec" else "/hardware/gpu",
            fix=(put("/training/precision", "fp32"),),
        )


@rule("FTC344", "more-gpus-than-present", "error", reads=("hardware",))
def more_gpus_than_present(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for more GPUs of this machine than it has.

    Why it matters: One process is started for each, and the first of those without a GPU stops the
    run ("invalid device ordinal"); the others wait for it until a timeout.

    Example: {"hardware": {"gpu": "auto", "count": 8}}

    Use instead: {"hardware": "auto"}
    """
    present, count = case.hardware.present, case.spec.hardware.count
    if present is not None and count != "auto" and count > present:
        yield Problem(
            message=f"{count} GPUs are asked for, and this machine has {present} "
            f"({case.hardware.name})",
            help="leave `hardware.count` out, or name the GPU of the machine that will train",
            pointer="/hardware/count",
            fix=(put("/hardware/count", "auto"),),
        )
