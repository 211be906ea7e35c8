"""Puts a LoRA adapter beside a classification model, whose head is trained in full."""

from typing import Any

from peft import get_peft_model


def adapt(model: Any, adapter: Any, *, zero3: bool = False, deepspeed: bool = False) -> Any:
    """Return the model with the adapter; trained weights are fp32, except under DeepSpeed.

    In 16 bits, small updates would be rounded away. DeepSpeed keeps fp32 copies of its own, and
    ZeRO-3 needs a single dtype.
    """
    if zero3:
        model = get_peft_model(model, adapter, autocast_adapter_dtype=False)
        model.enable_input_require_grads()  # without this, recomputed layers learn nothing
    else:
        model = get_peft_model(model, adapter)
    if not deepspeed:
        for weight in model.parameters():
            if weight.requires_grad:
                weight.data = weight.data.float()
    return model
