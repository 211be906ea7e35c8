"""Computes an adapter's outputs on the quantized base that it was trained on."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from transformers import BitsAndBytesConfig

from .merging import Job, Outputs


def compute(job: Job, load_base: Callable[..., Any], *, quantization: Mapping[str, Any]) -> Outputs:
    """Return the outputs, computed on the GPU if there is one.

    `quantization` has the settings of bitsandbytes. The model is freed before the original is
    loaded.
    """
    from peft import PeftModel  # the import prints unless libraries are silenced first

    device = "cuda" if torch.cuda.is_available() else "cpu"
    make_config: Any = BitsAndBytesConfig
    model = load_base(job, device_map=device, quantization_config=make_config(**quantization))
    return job.compute(PeftModel.from_pretrained(model, job.trained))
