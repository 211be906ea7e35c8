"""Fine-tune a chat model: a script written by hand from TRL's documentation.

    accelerate launch benchmarks/by_hand.py MODEL ROWS.jsonl OUT '{"max_steps": 10}'

ROWS.jsonl has a prompt and a completion in each line, as messages; the last argument has
the settings of `SFTConfig` that differ from its defaults.
"""

import json
import sys

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

model, rows, out, settings = sys.argv[1:]
trainer = SFTTrainer(
    model=AutoModelForCausalLM.from_pretrained(model, dtype="float32"),
    args=SFTConfig(out, **json.loads(settings)),
    train_dataset=load_dataset("json", data_files=rows, split="train"),
    processing_class=AutoTokenizer.from_pretrained(model),
)
trainer.train()
trainer.save_model(out)
