"""The rules about precision and hardware (FTC320 to FTC339)."""
# ruff: noqa: D401 - the docstring of a rule is its page, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.case import Case
from ftc.compiler.checks.rule import Problem, put, rule
from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.compiler.knowledge.architecture import supports_sdpa

_SAME_SIZE = 0.03


def _differs(case: Case, name: str) -> bool:
    """Tell whether another GPU has another size of memory; else a plan for one holds for both."""
    other = find_accelerator(name)
    size = case.hardware.memory_bytes
    return other is None or abs(other.accelerator.memory_bytes - size) > _SAME_SIZE * size


@rule("FTC320", "bf16-without-support", "error", reads=("hardware",), fix_safety="unsafe")
def bf16_without_support(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for bf16 on hardware that does not compute in it.

    Why it matters: The Trainer refuses to start. NVIDIA GPUs have bf16 from Ampere on.

    Example: {"hardware": "1x T4", "training": {"precision": "bf16"}}

    Use instead: {"hardware": "1x T4", "training": {"precision": "fp16"}}
    """
    hardware = case.hardware
    if case.spec.training.precision == "bf16" and not hardware.bf16:
        instead = "fp32" if hardware.kind == "cpu" else "fp16"
        yield Problem(
            message=f"{hardware.name} does not compute in bf16",
            help=f"use `{instead}`, or leave the precision out",
            pointer="/training/precision",
            fix=(put("/training/precision", instead),),
        )


@rule("FTC321", "fp16-on-cpu", "error", reads=("hardware",), fix_safety="unsafe")
def fp16_on_cpu(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks a CPU to train in fp16.

    Why it matters: CPUs have no fp16 arithmetic to speak of, and loss scaling is for GPUs.

    Example: {"hardware": "cpu", "training": {"precision": "fp16"}}

    Use instead: {"hardware": "cpu"}
    """
    if case.spec.training.precision == "fp16" and case.hardware.kind == "cpu":
        yield Problem(
            message="a CPU cannot train in fp16",
            help="use `fp32`, or leave the precision out",
            pointer="/training/precision",
            fix=(put("/training/precision", "fp32"),),
        )


@rule("FTC322", "flash-attention-without-support", "error", reads=("hardware",))
def flash_attention_without_support(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for FlashAttention-2 on hardware that it does not run on.

    Why it matters: Loading the model stops with an error. It needs an NVIDIA GPU from Ampere on,
    and bf16 or fp16.

    Example: {"model": {"id": "a/b", "attention": "flash_attention_2"}, "hardware": "1x T4"}

    Use instead: {"model": {"id": "a/b", "attention": "sdpa"}, "hardware": "1x T4"}
    """
    if case.spec.model.attention != "flash_attention_2":
        return
    full = case.spec.training.precision == "fp32"
    if full or not case.hardware.flash_attention_2:
        reason = "fp32" if full else case.hardware.name
        yield Problem(
            message=f"FlashAttention-2 does not run on {reason}",
            help="use `sdpa`, or leave attention out",
            pointer="/model/attention",
            fix=(put("/model/attention", "sdpa"),),
        )


@rule("FTC325", "sdpa-without-support", "error", reads=("model",))
def sdpa_without_support(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for SDPA, and transformers does not have it for this model's class.

    Why it matters: Loading the model stops with an error.

    Example: {"model": {"id": "google/gemma-2-2b-it", "attention": "sdpa"}}

    Use instead: {"model": {"id": "google/gemma-2-2b-it", "attention": "eager"}}
    """
    written = case.spec.model.attention
    if written == "sdpa" and not supports_sdpa(case.model.architecture):
        yield Problem(
            message=f"transformers has no SDPA for `{case.model.architecture}`",
            help="use `eager`, or leave attention out",
            pointer="/model/attention",
            fix=(put("/model/attention", "eager"),),
        )


@rule("FTC323", "ambiguous-gpu", "warning", reads=("hardware",))
def ambiguous_gpu(case: Case) -> Iterator[Problem]:
    """What it is: The name of the GPU fits several accelerators of different memory.

    Why it matters: An A100 has 40 or 80 GB: the plan is for one of them.

    Example: {"hardware": "1x A100"}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    others = ", ".join(f"`{name}`" for name in case.hardware.also_matches if _differs(case, name))
    if others:
        yield Problem(
            message=f"`{case.spec.hardware.gpu}` was taken for {case.hardware.name}",
            help=f"write it in full if you meant {others}",
            pointer="/hardware/gpu",
        )


@rule("FTC324", "more-processes-than-cores", "warning", reads=("hardware",))
def more_processes_than_cores(case: Case) -> Iterator[Problem]:
    """What it is: More training processes are asked of a CPU than it has cores.

    Why it matters: They take turns, and each holds its own copy of the model.

    Example: {"hardware": {"gpu": "cpu", "count": 64}}

    Use instead: {"hardware": "cpu"}
    """
    hardware = case.hardware
    if hardware.kind == "cpu" and hardware.cores is not None and hardware.count > hardware.cores:
        yield Problem(
            message=f"{hardware.count} processes on {hardware.cores} cores",
            help="one process uses all cores: leave `hardware.count` out",
            pointer="/hardware/count",
        )


@rule("FTC326", "unpinned-flash-attention", "warning", reads=("hardware",))
def unpinned_flash_attention(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for FlashAttention-2, whose package the bundle does not pin.

    Why it matters: `flash-attn` is built against one torch and one CUDA, so that no version fits
    every machine. Without it, loading the model stops with an error.

    Example: {"model": {"id": "a/b", "attention": "flash_attention_2"}, "hardware": "1x A100-80GB"}

    Use instead: {"model": {"id": "a/b", "attention": "sdpa"}, "hardware": "1x A100-80GB"}
    """
    if case.spec.model.attention == "flash_attention_2" and case.hardware.flash_attention_2:
        yield Problem(
            message="FlashAttention-2 needs `flash-attn`, which requirements.txt does not pin",
            help="install the build that fits your torch and CUDA, or use `sdpa`",
            pointer="/model/attention",
        )
