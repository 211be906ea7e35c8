"""The meaning of a failed stage for the real run, and the limits of a rehearsal on a CPU."""

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.plan.plan import Plan
from ftc.compiler.rehearse.stage import NotShown
from ftc.compiler.resolve.facts import HardwareFacts

MEANINGS: Final[Mapping[str, str]] = {
    "compile": "the spec does not compile, so there is no real run yet",
    "miniature": "no model of this architecture could be made from its config: either the pinned"
    " transformers cannot load the real model, or ftc's table of its sizes is wrong",
    "prepare": "the real run would stop here too, before training, because it reads the same"
    " data with the same tokenizer",
    "train": "the real run would stop before its first checkpoint",
    "resume": "a real run that is preempted or killed could not resume from its checkpoint",
    "merge": "the real run would train, but could not save its result as a 16-bit model",
    "evaluate": "the real run would train, but its result could not be evaluated",
    "convert": "the trained model could not be converted to GGUF: llama.cpp's converter rejects it",
    "tokens": "the GGUF file would tokenize text differently from training: without any error, its"
    " answers would be worse than the evaluation shows",
    "quantize": "the real run would train, but would end without its GGUF files",
    "adapter": "the adapter could not be converted to GGUF, or its result differs from the merged"
    " model; the files of the merged model are not affected",
    "vllm": "the real run would train, but would end without its folders for vLLM",
    "report": "the real run would write every file, but could not write its report",
    "compare": "the output of the GGUF file would differ from the trained model's",
    "answer": "the GGUF file would be written, but could not answer a question",
}


def find_unshown(plan: Plan, hardware: HardwareFacts) -> Iterator[NotShown]:
    """Yield the parts of this spec that this rehearsal cannot test."""
    decided = plan.decisions
    precision, world = decided.compute.precision.value, decided.distribution.world.value
    yield NotShown(
        what="the real sizes: memory, time and disk",
        instead="`ftc plan` computes them from the config",
    )
    yield NotShown(
        what="what the model learns: the miniature is untrained",
        instead="`evaluate.py` of the real run measures it on the test split",
    )
    if hardware.kind != "gpu":
        return
    if precision != "fp32":
        yield NotShown(
            what=f"{precision} kernels: here everything is computed in fp32",
            instead="`train.py` stops if the loss is not a finite number",
        )
    if decided.method.quantization is not None:
        yield NotShown(
            what="4-bit kernels on CUDA: here the same 4-bit weights are used on a CPU",
            instead="the first step on the GPU tests them; the merge in 16 bits is the same",
        )
    if decided.distribution.offload.value != "none":
        yield NotShown(
            what="offload: the transfer of states between GPU and host",
            instead="the first step tests it; `ftc plan` counts host memory",
        )
    if decided.compute.attention.value == "flash_attention_2":
        yield NotShown(
            what="FlashAttention: it has no CPU kernels",
            instead="the first step on the GPU tests it",
        )
    if decided.distribution.offload.value == "none":
        yield NotShown(
            what="the optimizer's fused CUDA kernels",
            instead="the first step on the GPU tests them",
        )
    if hardware.nodes > 1:
        yield NotShown(
            what=f"the network between {hardware.nodes} nodes: here all processes run on one",
            instead="the first step tests it; `ftc plan` uses its speed",
        )
    if world > 1:
        yield NotShown(
            what=f"NCCL between {world} GPUs: here two processes communicate over gloo",
            instead="the first step on the GPUs tests it; the data exchanged are the same",
        )
