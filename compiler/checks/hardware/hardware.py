"""The rules about precision and hardware (FTC320 to FTC339)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.architectures.architecture import supports_sdpa
from ftc.compiler.knowledge.hardware.accelerators import LEAST_CAPABILITY, find_accelerator
from ftc.compiler.resolve.hardware import has_kernels

_SAME_SIZE = 0.03


def _differs(case: Case, name: str) -> bool:
    """Return whether another GPU has another size of memory; else a plan for one holds for both."""
    other = find_accelerator(name)
    size = case.hardware.memory_bytes
    return other is None or abs(other.accelerator.memory_bytes - size) > _SAME_SIZE * size


@rule("FTC320", "bf16-without-support", "error", reads=("hardware",), fix_safety="unsafe")
def bf16_without_support(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for bf16 on hardware that does not support it.

    Why it matters: The Trainer does not start. NVIDIA GPUs support bf16 from Ampere on.

    Example: {"hardware": "1x T4", "training": {"precision": "bf16"}}

    Use instead: {"hardware": "1x T4", "training": {"precision": "fp16"}}
    """
    hardware = case.hardware
    if case.spec.training.precision == "bf16" and not hardware.bf16:
        instead = "fp32" if hardware.kind == "cpu" else "fp16"
        yield problem(
            "/training/precision",
            fix=(put("/training/precision", instead),),
            hardware=hardware.name,
            instead=instead,
        )


@rule("FTC321", "fp16-on-cpu", "error", reads=("hardware",), fix_safety="unsafe")
def fp16_on_cpu(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks a CPU to train in fp16.

    Why it matters: CPUs have no fast fp16 arithmetic, and loss scaling is only for GPUs.

    Example: {"hardware": "cpu", "training": {"precision": "fp16"}}

    Use instead: {"hardware": "cpu"}
    """
    if case.spec.training.precision == "fp16" and case.hardware.kind == "cpu":
        yield problem("/training/precision", fix=(put("/training/precision", "fp32"),))


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
        yield problem(
            "/model/attention",
            message="fp32" if full else "",
            fix=(put("/model/attention", "sdpa"),),
            hardware=case.hardware.name,
        )


@rule("FTC325", "sdpa-without-support", "error", reads=("model",))
def sdpa_without_support(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for SDPA, which transformers does not have for this model class.

    Why it matters: Loading the model stops with an error.

    Example: {"model": {"id": "google/gemma-2-2b-it", "attention": "sdpa"}}

    Use instead: {"model": {"id": "google/gemma-2-2b-it", "attention": "eager"}}
    """
    written = case.spec.model.attention
    if written == "sdpa" and not supports_sdpa(case.model.architecture):
        yield problem(
            "/model/attention",
            fix=(put("/model/attention", "eager"),),
            architecture=case.model.architecture,
        )


@rule("FTC323", "ambiguous-gpu", "warning", reads=("hardware",))
def ambiguous_gpu(case: Case) -> Iterator[Problem]:
    """What it is: The name of the GPU fits several accelerators of different memory.

    Why it matters: An A100 has 40 or 80 GB: the plan is for one of them.

    Example: {"hardware": "1x A100"}

    Use instead: {"hardware": "1x A100-80GB"}
    """
    others = [name for name in case.hardware.also_matches if _differs(case, name)]
    if others:
        yield problem(
            "/hardware/gpu", name=case.spec.hardware.gpu, hardware=case.hardware.name, names=others
        )


@rule("FTC324", "more-processes-than-cores", "warning", reads=("hardware",))
def more_processes_than_cores(case: Case) -> Iterator[Problem]:
    """What it is: More training processes are requested than the CPU has cores.

    Why it matters: The processes share the cores, and each holds its own copy of the model.

    Example: {"hardware": {"gpu": "cpu", "count": 64}}

    Use instead: {"hardware": "cpu"}
    """
    hardware = case.hardware
    if hardware.kind == "cpu" and hardware.cores is not None and hardware.count > hardware.cores:
        yield problem("/hardware/count", count=hardware.count, cores=hardware.cores)


@rule("FTC326", "unpinned-flash-attention", "warning", reads=("hardware",))
def unpinned_flash_attention(case: Case) -> Iterator[Problem]:
    """What it is: The spec asks for FlashAttention-2, whose package the bundle does not pin.

    Why it matters: `flash-attn` is built against one torch and one CUDA, so that no version fits
    every machine. Without it, loading the model stops with an error.

    Example: {"model": {"id": "a/b", "attention": "flash_attention_2"}, "hardware": "1x A100-80GB"}

    Use instead: {"model": {"id": "a/b", "attention": "sdpa"}, "hardware": "1x A100-80GB"}
    """
    if case.spec.model.attention == "flash_attention_2" and case.hardware.flash_attention_2:
        yield problem("/model/attention")


@rule("FTC333", "gpu-older-than-torch", "error", reads=("hardware",))
def gpu_older_than_torch(case: Case) -> Iterator[Problem]:
    """What it is: The locked build of torch has no kernels for the GPU.

    Why it matters: It is built with CUDA 13, which starts at compute capability 7.5 (Turing, 2018).
    On an older GPU, such as V100, P100 or GTX 10xx, the first operation stops with "no kernel image
    is available for execution on the device". The package index has no other build of that version.

    Example: {"hardware": "1x V100-16GB"}

    Use instead: {"hardware": "1x T4"}
    """
    if not has_kernels(case.hardware):
        yield problem(
            "/hardware/gpu",
            hardware=case.hardware.name,
            capability=f"{case.hardware.compute_capability:.1f}",
            least="{}.{}".format(*LEAST_CAPABILITY),
        )
