"""The number formats of a run: the training precision and what weights are loaded as."""

from ftc.compiler.knowledge.architecture import supports_sdpa
from ftc.compiler.plan.decision import Because, Decision, decide, derived
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.resolve.facts import HardwareFacts, ModelFacts
from ftc.spec.sections import Attention, Precision, QuantStorage, Spec


def decide_precision(spec: Spec, hardware: HardwareFacts) -> Decision[Precision]:
    """Decide the training precision: bf16 where the hardware has it, else fp16, fp32 on a CPU."""

    def derive() -> tuple[Precision, Because]:
        values = {"hardware": hardware.name}
        if hardware.kind == "cpu":
            return "fp32", Because(key="precision.cpu", values=values)
        if hardware.bf16:
            return "bf16", Because(key="precision.bf16", values=values)
        return "fp16", Because(key="precision.fp16", values=values)

    return decide(spec, "/training/precision", spec.training.precision, derive)


def decide_load_dtype(spec: Spec, precision: Precision, sharding: Sharding) -> Decision[Precision]:
    """Decide the dtype of loaded weights; a trained weight needs an fp32 master somewhere.

    DeepSpeed keeps its own fp32 master beside 16-bit weights (arXiv 1910.02054). Without it the
    weights are the master, and autocast makes the 16-bit copies, or FSDP when it gathers them
    (accelerate 1.15 makes trained weights fp32 for that). A frozen base needs no master.
    """
    if precision == "fp32":
        return derived("fp32", "load.same", precision=precision)
    if spec.method.type == "qlora":
        return derived(precision, "load.quantized", precision=precision)
    if spec.method.type == "lora":
        return derived(precision, "load.frozen", precision=precision)
    if sharding == "fsdp":
        return derived("fp32", "load.fsdp", precision=precision)
    if sharding in ("zero1", "zero2", "zero3"):
        return derived(precision, "load.deepspeed", precision=precision)
    return derived("fp32", "load.master", precision=precision)


def decide_storage(
    spec: Spec, precision: Precision, sharding: Sharding
) -> Decision[QuantStorage] | None:
    """Decide the dtype that 4-bit weights are packed into; None without 4-bit weights.

    Under FSDP it is the compute dtype: shards of another dtype would be cast when they are gathered
    (torch's `MixedPrecisionPolicy`), and shards of bytes are not divided (accelerate 1.15).
    """
    if spec.method.type != "qlora" or spec.method.quantization != "nf4":
        return None

    def derive() -> tuple[QuantStorage, Because]:
        if sharding == "fsdp":
            return precision, Because(key="storage.divided", values={"precision": precision})
        return "uint8", Because(key="storage.bytes")

    return decide(spec, "/method/quant_storage", spec.method.quant_storage, derive)


def decide_attention(spec: Spec, model: ModelFacts) -> Decision[Attention]:
    """Decide the attention: SDPA, which needs torch alone, where transformers has it."""

    def derive() -> tuple[Attention, Because]:
        if supports_sdpa(model.architecture):
            return "sdpa", Because(key="attention.sdpa")
        values = {"architecture": model.architecture}
        return "eager", Because(key="attention.eager", values=values)

    return decide(spec, "/model/attention", spec.model.attention, derive)
