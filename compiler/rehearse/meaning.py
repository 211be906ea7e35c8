"""What a failed stage means for the real run, and what no rehearsal on a CPU can show."""

from collections.abc import Iterator, Mapping
from typing import Final

from ftc.compiler.plan.plan import Plan
from ftc.compiler.rehearse.stage import Unshown
from ftc.compiler.resolve.facts import HardwareFacts

MEANINGS: Final[Mapping[str, str]] = {
    "compile": "the spec does not compile: there is no real run yet",
    "miniature": "no model of this architecture could be made from its config: the pinned"
    " transformers would not load the real one either, or ftc has its sizes wrong",
    "prepare": "the real run would stop here too, before anything is trained: it reads the same"
    " data with the same tokenizer",
    "train": "the real run would stop before its first checkpoint",
    "resume": "a real run that is preempted or killed could not go on from its checkpoint",
    "merge": "the real run would have trained for nothing until this is repaired: what was trained"
    " cannot be saved as a 16-bit model",
    "evaluate": "the real run would have trained, and could not say how well",
    "convert": "the trained model could not become a GGUF: llama.cpp's converter refuses it",
    "tokens": "the GGUF would read other tokens than the model was trained on, and answer worse"
    " than the evaluation says without any error",
    "quantize": "the real run would have trained, and would end without its GGUF files",
    "adapter": "the adapter could not be a GGUF by itself, or is another one on its base: the"
    " merged model's files are not touched by that",
    "modelfile": "Ollama would read other tokens than the model was trained on",
    "report": "the real run would have made every file, and could not list them",
    "compare": "the GGUF would not compute what the trained model computes",
    "answer": "the GGUF would be there, and could not be asked",
}


def find_unshown(plan: Plan, hardware: HardwareFacts) -> Iterator[Unshown]:
    """Yield what this spec relies on and this rehearsal has not seen."""
    decided = plan.decisions
    precision, world = decided.precision.value, decided.world.value
    yield Unshown(
        what="the real sizes: memory, time and disk",
        instead="`ftc plan` computes them from the config",
    )
    yield Unshown(
        what="what the model learns: the miniature knows nothing",
        instead="`evaluate.py` of the real run measures it on the test split",
    )
    if hardware.kind != "gpu":
        return
    if precision != "fp32":
        yield Unshown(
            what=f"{precision} kernels: here everything is computed in fp32",
            instead="`train.py` stops at a loss that is no number",
        )
    if decided.quantization is not None:
        yield Unshown(
            what="4-bit kernels on CUDA: here the same 4-bit weights are computed with on a CPU",
            instead="the first step on the GPU runs them; the merge in 16 bits is the same",
        )
    if decided.offload.value != "none":
        yield Unshown(
            what="offload: states on their way between GPU and host",
            instead="the first step moves them; `ftc plan` counts the host's memory",
        )
    if decided.attention.value == "flash_attention_2":
        yield Unshown(
            what="FlashAttention: it has no CPU kernels",
            instead="the first step on the GPU loads it or stops",
        )
    if decided.offload.value == "none":
        yield Unshown(
            what="the optimiser's fused CUDA kernels",
            instead="the first step on the GPU runs them",
        )
    if hardware.nodes > 1:
        yield Unshown(
            what=f"the network between {hardware.nodes} nodes: here all processes are on one",
            instead="the first step runs over it; `ftc plan` counts its speed",
        )
    if world > 1:
        yield Unshown(
            what=f"NCCL between {world} GPUs: here two processes talk over gloo",
            instead="the first step on the GPUs runs it; the exchange is the same",
        )
