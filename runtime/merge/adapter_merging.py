"""Merges a LoRA adapter into the original weights of its base, in 16 bits.

An adapter that was trained on a quantized base is merged into the original weights as well: they
are what the base has learned, and a GGUF file should not round rounded weights again.
"""

from collections.abc import Callable
from typing import Any

import torch
from transformers import AutoTokenizer

from ..libraries import silence_libraries
from .merging import Job, Outputs, write_folder


def merge_adapter(
    job: Job, *, use_pickles: bool = False, compute_rounded: Callable[..., Outputs] | None = None
) -> None:
    """Merge the adapter of run/train/model; ends the stage if the result is unsound.

    `compute_rounded` is quantized_base.compute for an adapter that was trained on a quantized base.
    `use_pickles` lets the base be loaded from pickled weights.
    """
    silence_libraries()
    from peft import PeftModel  # the import prints otherwise

    job.kind.prepare_peft()
    safe: dict[str, Any] = {} if use_pickles else {"use_safetensors": True}

    def load(job: Job, **settings: Any) -> Any:
        return _load_base(job, **safe, **settings)

    on_rounded = compute_rounded(job, load) if compute_rounded else ()
    adapted = PeftModel.from_pretrained(load(job), job.trained)
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
