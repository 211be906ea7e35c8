"""The number formats of a run: the training precision and what weights are loaded as."""

from ftc.compiler.knowledge.architectures.architecture import supports_sdpa
from ftc.compiler.plan.decision import Because, Decision, decide, derived
from ftc.compiler.plan.plan import Sharding
from ftc.compiler.resolve.facts import HardwareFacts, ModelFacts
from ftc.spec.sections import Attention, Precision, QuantStorage, Spec

_DTYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}


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


def overflows_in_fp16(model: ModelFacts) -> bool:
    """Return whether a model's activations exceed the range of fp16, like Gemma's (FTC343)."""
    return model.model_type.startswith("gemma")


def decide_load_dtype(
    spec: Spec, precision: Precision, sharding: Sharding, model: ModelFacts
) -> Decision[Precision]:
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
    if freezes_in_16_bits(spec, precision, sharding, model):
        exact = model.dtype == _DTYPES[precision]
        key = "load.frozen_layers" if exact else "load.frozen_layers.rounded"
        return derived(precision, key, precision=precision, dtype=model.dtype)
    return derived("fp32", "load.master", precision=precision)


def freezes_in_16_bits(
    spec: Spec, precision: Precision, sharding: Sharding, model: ModelFacts
) -> bool:
    """Return whether frozen layers are kept in 16 bits, beside trained ones in fp32.

    Autocast can mix both types, but generation runs outside of it, and the kernels of experts and
    of the fused head accept one type only. A model stored in fp32 would lose precision.
    """
    shape = model.shape
    evaluation, objective = spec.training.evaluation, spec.objective.type
    answers = evaluation.best_by == "metric" or evaluation.samples > 0
    return (
        spec.method.type == "freeze"
        and precision != "fp32"
        and sharding in ("single", "ddp")
        and objective in ("sft", "cpt")
        and not answers
        and not spec.method.also_train
        and not spec.model.new_tokens
        and model.dtype != "float32"
        and shape is not None
        and bool(shape.linear_shapes)
        and shape.experts == 0
    )


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
