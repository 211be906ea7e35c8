"""Merges a LoRA adapter into the original weights of its base, in 16 bits.

An adapter that was trained on a quantized base is merged into the original weights as well: they
are what the base has learned, and a GGUF file should not round rounded weights again.
"""

from collections.abc import Mapping
from typing import Any

import torch
from transformers import AutoTokenizer, BitsAndBytesConfig

from ..quiet import silence_libraries
from .merging import Job, Outputs, write_folder


def merge_adapter(
    job: Job, *, use_pickles: bool = False, quantization: Mapping[str, Any] | None = None
) -> None:
    """Merge the adapter of run/train/model; ends the stage if the result is unsound.

    `quantization` has the settings of bitsandbytes that the base was trained with. `use_pickles`
    lets the base be loaded from pickled weights.
    """
    silence_libraries()
    from peft import PeftModel  # the import prints otherwise

    safe = {} if use_pickles else {"use_safetensors": True}
    on_rounded: Outputs = ()
    if quantization is not None:  # as it was trained, on the GPU if there is one
        device = "cuda" if torch.cuda.is_available() else "cpu"
        make_config: Any = BitsAndBytesConfig
        rounded = {"device_map": device, "quantization_config": make_config(**quantization)}
        model = _load_base(job, **safe, **rounded)
        on_rounded = job.compute(PeftModel.from_pretrained(model, job.trained))
        del model  # before the original is loaded
    adapted = PeftModel.from_pretrained(_load_base(job, **safe), job.trained)
    trained = job.compute(adapted)
    target: Any = next(module for module in adapted.modules() if hasattr(module, "lora_B"))
    before = target.base_layer.weight.detach().clone()
    merged = adapted.merge_and_unload()
    is_changed = not torch.equal(before, target.base_layer.weight)
    job.run.ensure(is_changed, "merging changed the weights of the base")
    write_folder(job, merged, trained, on_rounded=on_rounded)


def _load_base(job: Job, **settings: Any) -> Any:
    if job.head:  # its size and its labels are not in the adapter's folder
        settings |= job.head(AutoTokenizer.from_pretrained(job.base, **job.options))
    model = job.load(job.base, dtype=job.dtype, **settings)
    if job.has_new_tokens:
        rows = len(AutoTokenizer.from_pretrained(job.trained))
        if rows > model.get_input_embeddings().num_embeddings:
            model.resize_token_embeddings(rows)
    return model
