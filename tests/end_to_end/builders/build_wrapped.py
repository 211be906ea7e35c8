"""Give folders with a `config.json` weights as a Hub has them: python build_wrapped.py DIR...

In 16 bits, in several files, with config.json as it was written. What a class drops on loading, and
a Hub has, is added: a folder's `dropped.json` names such tensors and their shapes.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from transformers import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
)

WRAPPERS: Any = MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING

SPREAD = 0.06  # of the weights: enough for logits that differ by more than rounding
INDEX = "model.safetensors.index.json"

for folder in map(Path, sys.argv[1:]):
    torch.manual_seed(7)
    written = (folder / "config.json").read_text(encoding="utf-8")
    config = AutoConfig.from_pretrained(folder)
    for section in (config, config.get_text_config()):
        section.initializer_range = SPREAD
    kind: Any = AutoModelForImageTextToText if type(config) in WRAPPERS else AutoModelForCausalLM
    model = kind.from_config(config, dtype=torch.float32)
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="200KB")
    (folder / "config.json").write_text(written, encoding="utf-8")
    if (folder / "dropped.json").is_file():
        shapes = json.loads((folder / "dropped.json").read_text(encoding="utf-8"))
        tensors = {name: torch.randn(shape).bfloat16() for name, shape in shapes.items()}
        save_file(tensors, folder / "dropped.safetensors", metadata={"format": "pt"})
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        index["weight_map"] |= dict.fromkeys(tensors, "dropped.safetensors")
        (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")
        (folder / "dropped.json").unlink()
