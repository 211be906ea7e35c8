"""Give folders that hold a `config.json` weights: python build_models.py DIR..."""

import sys
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM

for folder in map(Path, sys.argv[1:]):
    torch.manual_seed(7)
    config = AutoConfig.from_pretrained(folder)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
