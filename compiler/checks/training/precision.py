"""The rules about precision, attention and GPUs that work poorly (FTC340 to FTC359)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import supports_sdpa
from ftc.compiler.plan.method.precision import overflows_in_fp16

_LONG_TOKENS = 1024


@rule("FTC340", "eager-attention-on-long-rows", "warning", reads=("model", "hardware", "plan"))
def eager_attention_on_long_rows(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for eager attention on long rows, and the model supports SDPA.

    Why it matters: Eager attention stores a score for every pair of tokens and every head. Its
    memory grows with the square of the length, and most of its time goes to moving that memory.

    Example: {"model": {"id": "Qwen/Qwen2.5-7B", "attention": "eager"}, "hardware": "1x RTX-4090"}

    Use instead: {"model": "Qwen/Qwen2.5-7B", "hardware": "1x RTX-4090"}
    """
    length = case.plan.decisions.rows.max_length.value
    asked = case.spec.model.attention == "eager" and supports_sdpa(case.model.architecture)
    if asked and case.hardware.kind == "gpu" and length >= _LONG_TOKENS:
        yield problem("/model/attention", fix=(put("/model/attention", "sdpa"),), length=length)


@rule("FTC341", "fp32-where-bf16-is", "warning", reads=("hardware",), fix_safety="unsafe")
def fp32_where_bf16_is(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for fp32 on a GPU that computes in bf16.

    Why it matters: Weights and activations take twice the memory, and the GPU's matrix units are
    not used.

    Example: {"hardware": "1x A100-80GB", "training": {"precision": "fp32"}}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    hardware = case.hardware
    if case.spec.training.precision == "fp32" and hardware.kind == "gpu" and hardware.bf16:
        yield problem(
            "/training/precision", fix=(put("/training/precision", "bf16"),), hardware=hardware.name
        )


@rule("FTC342", "fp16-where-bf16-is", "warning", reads=("hardware",), fix_safety="unsafe")
def fp16_where_bf16_is(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for fp16 on a GPU that computes in bf16.

    Why it matters: fp16 ends at 65,504. Activations of models that were trained in bf16 overflow,
    the loss becomes 0 or NaN, and steps are skipped until the loss scaler adapts (LLaMA-Factory
    #7755, #7387). bf16 is as fast and has the range of fp32.

    Example: {"hardware": "1x A100-80GB", "training": {"precision": "fp16"}}

    Use instead: {"hardware": "1x A100-80GB", "training": {"precision": "bf16"}}
    """
    hardware = case.hardware
    if case.spec.training.precision == "fp16" and hardware.kind == "gpu" and hardware.bf16:
        yield problem(
            "/training/precision", fix=(put("/training/precision", "bf16"),), hardware=hardware.name
        )


@rule(
    "FTC343", "gemma-in-fp16", "warning", reads=("model", "hardware", "plan"), fix_safety="unsafe"
)
def gemma_in_fp16(case: Case) -> Iterator[Problem]:
    """What it is: A Gemma model is to be trained in fp16, because the GPU has no bf16.

    Why it matters: Gemma's activations exceed fp16's range: the loss is 0 or NaN from the first
    steps on (LLaMA-Factory #7755: Gemma 3 on a V100).

    Example: {"model": "google/gemma-3-1b-it", "hardware": "1x T4"}

    Use instead: {"model": "google/gemma-3-1b-it", "hardware": "1x L4"}
    """
    chosen = case.plan.decisions.compute.precision
    if not overflows_in_fp16(case.model) or chosen.value != "fp16":
        return
    if not case.hardware.bf16:  # else FTC342 says it of the spec
        yield problem(
            "/training/precision" if chosen.source == "spec" else "/hardware/gpu",
            fix=(put("/training/precision", "fp32"),),
            model=case.model.id,
            hardware=case.hardware.name,
        )


@rule("FTC344", "more-gpus-than-present", "error", reads=("hardware",))
def more_gpus_than_present(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for more GPUs than this machine has.

    Why it matters: One process is started for each GPU. The first process without a GPU stops the
    run ("invalid device ordinal"), and the others wait for it until a timeout.

    Example: {"hardware": {"gpu": "auto", "count": 8}}

    Use instead: {"hardware": "auto"}
    """
    present, count = case.hardware.present, case.spec.hardware.count
    if present is not None and count != "auto" and count > present:
        yield problem(
            "/hardware/count",
            fix=(put("/hardware/count", "auto"),),
            count=count,
            present=present,
            hardware=case.hardware.name,
        )
