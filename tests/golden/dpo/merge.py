"""Merge the adapter into the model it was trained on, in 16-bit, on the CPU.

    python merge.py

Reads run/train/model and the base model. Writes run/merged: a folder that transformers loads and
that llama.cpp's converter reads, so with every file of the base that saving a model leaves out.
"""

import argparse
import json
import shutil
from pathlib import Path

import torch
from huggingface_hub import snapshot_download
from peft import PeftModel
from transformers import AutoModelForCausalLM

import guard

HERE = Path(__file__).resolve().parent
TRAINED = HERE / "run" / "train" / "model"
OUT = HERE / "run" / "merged"
NEW = OUT.with_name("merged.partial")  # takes the place of OUT once it is whole

# -----------------------------------------------------------------------------
# What was decided, and why

MODEL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
MODEL_REVISION = None
DTYPE = "bfloat16"  # as the base is: llama.cpp reads it without another rounding

ROWS = 8  # of the training split, on which the merged model must agree with the trained one
TOKENS = 256  # of each row, at most
TOLERANCE = 0.02  # mean KL divergence in nats per token that rounding to 16-bit may cost
WEIGHTS = (".safetensors", ".bin", ".gguf", ".pt", ".pth", ".h5", ".msgpack", ".onnx")

# -----------------------------------------------------------------------------
# Arguments

parser = argparse.ArgumentParser(description="Write the trained model in 16-bit to run/merged.")
parser.add_argument("--model", default=MODEL, help="the folder of another base model")
args = parser.parse_args()
guard.need_model(args.model, MODEL)
if not (TRAINED / "config.json").is_file() and not (TRAINED / "adapter_config.json").is_file():
    guard.stop("run/train/model is missing: run train.py first (see run.sh)")

guard.lock()
guard.check_inputs("train")
mark = guard.fingerprint(__file__, args.model, TRAINED)
if guard.is_done("merged", mark):
    raise SystemExit
if NEW.exists():
    shutil.rmtree(NEW)

# -----------------------------------------------------------------------------
# Merge

options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
train_rows = guard.read_rows(HERE / "run/data/train.jsonl", ROWS)
rows = [row["input_ids"][:TOKENS] for row in train_rows]


@torch.no_grad()
def answers(model):
    """Return the log-probabilities of every next token of a few rows."""
    model.eval()
    logits = [model(torch.tensor([ids])).logits[0].float() for ids in rows]
    return [torch.log_softmax(row, dim=-1) for row in logits]


def distance(first, second):
    """Return the mean KL divergence of the second from the first, in nats per token."""
    pairs = zip(first, second, strict=True)
    return torch.cat([(p.exp() * (p - q)).sum(dim=-1) for p, q in pairs]).mean()


model = AutoModelForCausalLM.from_pretrained(
    args.model,
    dtype=DTYPE,
    use_safetensors=True,
    **options,
)
model = PeftModel.from_pretrained(model, TRAINED)
trained = answers(model)
target = next(m for m in model.modules() if hasattr(m, "lora_B"))
before = target.base_layer.weight.detach().clone()
model = model.merge_and_unload()
moved = not torch.equal(before, target.base_layer.weight)
merged = answers(model)
divergence = distance(trained, merged)
finite = all(torch.isfinite(weight).all() for weight in model.state_dict().values())
model.save_pretrained(NEW)

# -----------------------------------------------------------------------------
# Carry over what saving leaves out: tokenizer files as they were, and keys of config.json

if Path(args.model).is_dir():
    base = Path(args.model)
else:
    small = ["*.json", "*.model", "*.txt", "*.tiktoken", "*.jinja", "*.py"]
    revision = options.get("revision")
    base = Path(snapshot_download(args.model, revision=revision, allow_patterns=small))
for path in sorted(base.iterdir()):
    left_out = path.name.endswith((*WEIGHTS, ".index.json", "README.md"))
    if path.is_file() and not left_out and not (NEW / path.name).exists():
        shutil.copyfile(path, NEW / path.name)
config = json.loads((NEW / "config.json").read_text(encoding="utf-8"))
base_config = json.loads((base / "config.json").read_text(encoding="utf-8"))
carried = {key for key in base_config if key not in config and not key.startswith("_")}
carried -= {"torch_dtype", "transformers_version", "quantization_config"}
config |= {key: base_config[key] for key in sorted(carried)}
guard.write_json(NEW / "config.json", config)
# One chat template: transformers takes that of chat_template.jinja, where there is one, and
# llama.cpp's converter would take that of tokenizer_config.json.
if (NEW / "chat_template.jinja").is_file() and (NEW / "tokenizer_config.json").is_file():
    settings = json.loads((NEW / "tokenizer_config.json").read_text(encoding="utf-8"))
    settings.pop("chat_template", None)
    guard.write_json(NEW / "tokenizer_config.json", settings)

# -----------------------------------------------------------------------------
# Post-conditions

guard.say(f"merged and trained model differ by {divergence:.5f} nats per token")
guard.ensure(moved, "merging changed the weights of the base")
guard.ensure(finite, f"every weight is a finite number in {DTYPE}")
guard.ensure(divergence < TOLERANCE, f"the merged model answers as the trained one, in {DTYPE}")
guard.replace_folder(OUT, NEW)
guard.mark_done("merged", mark, OUT)
