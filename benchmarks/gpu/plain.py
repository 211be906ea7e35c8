"""Fine-tune on texts: a script written by hand from TRL's documentation, with a stopwatch.

    accelerate launch benchmarks/gpu/plain.py TOLD.json

TOLD.json names the `model` folder, the `rows` and the folder `out`, the `dtype` of the weights,
whether they are loaded `quantized`, the arguments of `LoraConfig` as `adapter` (null: all weights
are trained), and as `settings` those of `SFTConfig` that differ from its defaults. Writes
speed.json into `out`: tokens and seconds of the steps after the first WARM.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    PrinterCallback,
    TrainerCallback,
)
from trl import SFTConfig, SFTTrainer

WARM = 3


class Stopwatch(TrainerCallback):
    """Notes the time and the tokens so far after each step, once the device has done it."""

    def __init__(self) -> None:
        self.noted: list[tuple[float, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        """Note what TRL has counted."""
        if "num_tokens" not in (logs or {}):
            return
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.noted.append((time.monotonic(), logs["num_tokens"]))


told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
options: dict[str, Any] = {}
if told["quantized"]:
    options["quantization_config"] = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
watch = Stopwatch()
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(told["model"], dtype=told["dtype"], **options),
    args=SFTConfig(told["out"], logging_steps=1, save_strategy="no", **told["settings"]),
    train_dataset=load_dataset("json", data_files=told["rows"], split="train"),
    processing_class=AutoTokenizer.from_pretrained(told["model"]),
    peft_config=told["adapter"] and LoraConfig(task_type="CAUSAL_LM", **told["adapter"]),
    callbacks=[watch],
)
trainer.remove_callback(PrinterCallback)
trainer.train()
(begin, first), (end, last) = watch.noted[WARM - 1], watch.noted[-1]
found = {"tokens": last - first, "seconds": end - begin, "steps": len(watch.noted) - WARM}
if torch.cuda.is_available():
    found["reserved_bytes"] = torch.cuda.max_memory_reserved()
Path(told["out"]).mkdir(parents=True, exist_ok=True)
(Path(told["out"]) / "speed.json").write_text(json.dumps(found), encoding="utf-8")
