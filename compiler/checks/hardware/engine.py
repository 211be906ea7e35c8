"""The rules about vLLM as the generator of answers (FTC519, FTC552 to FTC555)."""
# ruff: noqa: D401 - the docstring of a rule is its explanation, not a description of the function

from collections.abc import Iterator
from typing import Final

from ftc.compiler.checks.rule import Problem, problem, put, rule
from ftc.compiler.checks.rule_input import Case
from ftc.compiler.knowledge.exports.vllm_classes import vllm_classes
from ftc.compiler.plan.objective.engine import MOST_SHARE
from ftc.compiler.plan.objective.sampling import find_engine

_POINTER: Final = "/objective/vllm"
_OFF: Final = (put(_POINTER, "off"),)


def _engine(case: Case) -> str:
    return find_engine(case.spec.objective)


@rule("FTC519", "vllm-without-class", "warning", reads=("model",))
def vllm_without_class(case: Case) -> Iterator[Problem]:
    """What it is: vLLM is to generate the answers, and it has no class for this model.

    Why it matters: The pinned vLLM 0.30 loads such a model by its backend for classes of
    transformers, or stops when it starts if that backend cannot read the class. The backend is
    slower, and nobody has tried it with weights that change at every step.

    Example: {"model": "EleutherAI/gpt-neo-1.3B", "objective": {"type": "grpo", "vllm": "colocate"}}

    Use instead: {"model": "EleutherAI/gpt-neo-1.3B", "objective": "grpo"}
    """
    name = case.model.wrapper or case.model.architecture
    if _engine(case) != "off" and name not in vllm_classes():
        yield problem(_POINTER, architecture=name)


@rule("FTC552", "vllm-without-gpu", "error", reads=("hardware",))
def vllm_without_gpu(case: Case) -> Iterator[Problem]:
    """What it is: vLLM is to generate the answers, and there is no GPU.

    Why it matters: The pinned vLLM is built for CUDA and does not start on a CPU.

    Example: {"hardware": "cpu", "objective": {"type": "grpo", "vllm": "colocate"}}

    Use instead: {"hardware": "cpu", "objective": "grpo"}
    """
    if _engine(case) != "off" and case.hardware.kind != "gpu":
        yield problem(_POINTER, fix=_OFF, mode=_engine(case))


@rule("FTC553", "vllm-server-without-own-gpu", "error", reads=("hardware",))
def vllm_server_without_own_gpu(case: Case) -> Iterator[Problem]:
    """What it is: vLLM's server is requested on a machine with one GPU.

    Why it matters: The server receives the trained weights by NCCL, which needs another GPU than
    the one that trains. On one GPU, vLLM can run inside the training process.

    Example: {"hardware": "1x A100-80GB", "objective": {"type": "grpo", "vllm": "server"}}

    Use instead: {"hardware": "1x A100-80GB", "objective": {"type": "grpo", "vllm": "colocate"}}
    """
    alone = case.hardware.kind == "gpu" and case.hardware.world < 2  # noqa: PLR2004 - two GPUs
    if _engine(case) == "server" and alone:
        yield problem(_POINTER, fix=(put(_POINTER, "colocate"),), hardware=case.hardware.name)


@rule("FTC554", "vllm-beside-unproven-setting", "error", reads=("hardware",))
def vllm_beside_unproven_setting(case: Case) -> Iterator[Problem]:
    """What it is: vLLM is combined with a quantized base or several nodes.

    Why it matters: The trainer sends its weights to vLLM after every step, tensor by tensor. Those
    of a quantized base differ in form from what vLLM loaded, and a bundle's server serves one
    machine.

    Example: {"method": "qlora", "objective": {"type": "grpo", "vllm": "colocate"}}

    Use instead: {"method": "lora", "objective": {"type": "grpo", "vllm": "colocate"}}
    """
    if _engine(case) == "off":
        return
    if case.spec.method.type == "qlora":
        yield problem(_POINTER, message="quantized", help="quantized", fix=_OFF)
    if case.hardware.nodes > 1:
        yield problem(_POINTER, message="nodes", fix=_OFF, nodes=case.hardware.nodes)


@rule("FTC555", "vllm-in-too-little-memory", "error", reads=("hardware", "plan"))
def vllm_in_too_little_memory(case: Case) -> Iterator[Problem]:
    """What it is: vLLM needs more of a GPU than it may take: weights, keys and values, and graphs.

    Why it matters: vLLM reserves its share when it starts, and stops where the share does not hold
    the weights and one answer. With too small a cache it generates the answers in several rounds.

    Example: {"model": "Qwen/Qwen2.5-14B", "hardware": "2x RTX-4090",
     "objective": {"type": "grpo", "vllm": "server"}}

    Use instead: {"model": "Qwen/Qwen2.5-3B", "hardware": "2x RTX-4090",
     "objective": {"type": "grpo", "vllm": "server"}}
    """
    share = case.plan.decisions.engine.vllm_share
    if share is None:
        return
    needed, capacity = int(share.because.values["needed_bytes"]), case.hardware.memory_bytes
    if needed > MOST_SHARE * capacity:
        yield problem(
            _POINTER, needed=needed, hardware=case.hardware.name, most=round(MOST_SHARE * capacity)
        )
