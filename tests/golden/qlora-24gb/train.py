"""Train a LoRA adapter on a base in 4 bits (QLoRA), and keep the best one.

    accelerate launch --config_file accelerate.yaml train.py
    accelerate launch --config_file accelerate.yaml train.py --row 1   # less memory, same batch

Reads run/data. Writes run/train/model (the best checkpoint) and curve.json.
Started again, it goes on from the last whole checkpoint.
"""

import argparse
import math
import os
from pathlib import Path

import torch
from datasets import Dataset
from peft import LoraConfig
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback
from transformers.utils.quantization_config import BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

import gain
import guard
import packing
import survival

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "train"

# -----------------------------------------------------------------------------
# What was decided, and why

MODEL = "Qwen/Qwen2.5-14B-Instruct"
MODEL_REVISION = None
LOAD_DTYPE = "bfloat16"  # what is not in 4 bits, and what the 4 bits are computed in: bf16
ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
QUANTIZATION = "nf4"  # 16 levels spaced as normally distributed weights are (QLoRA)
DOUBLE_QUANTIZATION = True  # the default of `method.double_quantization`
LORA_RANK = 16  # the usual rank; 14.8B parameters are many to share it
LORA_ALPHA = 32  # twice the rank of 16
LORA_DROPOUT = 0.05  # the default of `method.dropout`
LORA_TARGETS = [
    "q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "gate_proj", "up_proj",
]  # all 7 kinds of linear modules, the head apart
PACKED_LENGTH = 192  # 92 % of it filled by rows of up to 96 tokens
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# the fastest that fits, with 21.9 GiB of 23.5 GiB; with 2 rows at a time a step takes 36 % longer
LADDER = [[4, 2], [2, 4], [1, 8]]
# evaluating keeps nothing for a backward pass: 64 rows at a time need no more memory than training
# and are faster
EVAL_BATCH = 64
# activations fit in memory; with recomputing, a step takes 22 % longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 2,400 rows are few: three passes
LEARNING_RATE = 0.0002  # the rate of QLoRA's experiments up to 13B parameters, whatever the batch
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 9  # 3 % of 300 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 30  # ten evaluations in 300 steps
SAVE_STEPS = 30  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 22521503744  # the plan's peak of one process, in the phase: loss

# -----------------------------------------------------------------------------
# Arguments and settings

parser = argparse.ArgumentParser(description="Train; start it with accelerate launch.")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
parser.add_argument("--row", type=int, help="the row of LADDER to use, from 0")
args = parser.parse_args()
guard.need_model(args.model, MODEL)
source = Path(args.model).resolve() if Path(args.model).is_dir() else args.model
row = survival.read_batch(LADDER)["row"] if args.row is None else min(args.row, len(LADDER) - 1)
micro_batch, accumulation = LADDER[row]
os.chdir(HERE)  # checkpoints note relative paths, so that a run can move
os.environ.setdefault("TENSORBOARD_LOGGING_DIR", "run/train/tensorboard")

config = SFTConfig(
    max_length=None, dataset_kwargs={"skip_prepare_dataset": True},  # prepare.py has cut the rows
    output_dir="run/train/checkpoints",
    per_device_train_batch_size=micro_batch, gradient_accumulation_steps=accumulation,
    num_train_epochs=EPOCHS,
    learning_rate=LEARNING_RATE, lr_scheduler_type=SCHEDULE, warmup_steps=WARMUP_STEPS,
    weight_decay=WEIGHT_DECAY, max_grad_norm=MAX_GRAD_NORM,
    bf16=True,
    activation_checkpointing=GRADIENT_CHECKPOINTING,
    per_device_eval_batch_size=max(1, EVAL_BATCH >> row),
    eval_strategy="steps", eval_steps=EVAL_STEPS, load_best_model_at_end=True,
    save_steps=SAVE_STEPS,
    logging_steps=0.02,  # of all steps: fifty points make a curve
    logging_nan_inf_filter=False,  # a loss that is no number ends the run
    report_to="tensorboard",
    disable_tqdm=True, seed=SEED,
)

# -----------------------------------------------------------------------------
# Is there something left to do, and where was it left

train_file, validation_file = HERE / "run/data/train.jsonl", HERE / "run/data/validation.jsonl"
mark = guard.fingerprint(__file__, args.model, train_file, validation_file)
guard.read_rows(train_file, 0)  # says what to run first where there is none
if guard.is_done("train", mark):
    gain.judge()
    raise SystemExit
checkpoint = survival.begin(mark, row, LADDER)
config.eval_on_start = checkpoint is None  # gain.py holds the best checkpoint against it
survival.watch_signals()
progress = survival.Progress(KEEP_CHECKPOINTS)

# -----------------------------------------------------------------------------
# The model and its data, which stay on disk but for the rows of a step

train_rows = Dataset.from_file("run/data/train.arrow")
validation_rows = Dataset.from_file("run/data/validation.arrow")
options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
tokenizer = AutoTokenizer.from_pretrained(source, **options)
rounded = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_compute_dtype=LOAD_DTYPE,
    bnb_4bit_quant_type=QUANTIZATION, bnb_4bit_use_double_quant=DOUBLE_QUANTIZATION,
)
model = AutoModelForCausalLM.from_pretrained(
    source, dtype=LOAD_DTYPE, attn_implementation=ATTENTION, quantization_config=rounded,
    use_safetensors=True, **options,
)
adapter = LoraConfig(
    task_type="CAUSAL_LM", target_modules=LORA_TARGETS,
    r=LORA_RANK, lora_alpha=LORA_ALPHA, lora_dropout=LORA_DROPOUT,
)
packed = packing.pack(train_rows, PACKED_LENGTH)
guard.say(f"{len(train_rows):,} rows lie in {len(packed):,} packed ones")
trainer = SFTTrainer(
    model=model, args=config,
    train_dataset=packed,
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[progress],
    peft_config=adapter,
)
trainer.remove_callback(PrinterCallback)
progress.attend(trainer)


def keep_apart(rows, stack=trainer.data_collator):
    """Return a batch without an attention mask, which would let packed rows see each other."""
    stack.return_position_ids = True  # from 0 in each row of the data: they tell rows apart
    batch = stack(rows)
    del batch["attention_mask"]
    batch["labels"][batch["position_ids"] == 0] = -100  # the row before does not foretell it
    return batch


trainer.data_collator = keep_apart
# The adapter is bf16: loading a checkpoint would make it fp32, and a resumed run another run.
load = trainer.model.load_adapter
trainer.model.load_adapter = lambda *a, **kw: load(*a, autocast_adapter_dtype=False, **kw)
guard.say(f"a step is {micro_batch} rows x {accumulation} passes x {config.world_size} processes")

# -----------------------------------------------------------------------------
# Train

try:
    trainer.train(resume_from_checkpoint=checkpoint)
except Exception as error:
    survival.explain(error, trainer.state, row, LADDER, PLANNED_BYTES)
    raise
survival.leave_if_told(trainer.state)

trainer.save_model("run/train/model")

# -----------------------------------------------------------------------------
# The curve, and what must be true of the result

history = trainer.state.log_history
curve = {
    "train": [(log["step"], log["loss"]) for log in history if "loss" in log],
    "validation": [(log["step"], log["eval_loss"]) for log in history if "eval_loss" in log],
    "best_step": trainer.state.best_global_step,
    **gain.measure(trainer),
    "peak_bytes": survival.peak_memory_bytes(),
    "allocated_bytes": torch.cuda.max_memory_allocated(),  # of these, what tensors took
    "planned_bytes": PLANNED_BYTES,
}
guard.write_json(OUT / "curve.json", curve)
guard.say(f"peak memory {curve['peak_bytes'] / 2**30:.2f} GiB, planned {PLANNED_BYTES / 2**30:.2f}")
losses = [loss for _, loss in curve["train"] + curve["validation"]]
guard.ensure(losses and all(math.isfinite(loss) for loss in losses), "every loss is a number")
guard.ensure(losses[0] != 0, "the loss at the beginning is not zero: something is learned")
with safe_open(OUT / "model" / "adapter_model.safetensors", framework="pt") as file:
    updates = [file.get_tensor(name) for name in file.keys() if "lora_B" in name]
guard.ensure(updates and all(update.numel() for update in updates), "the adapter is not empty")
guard.ensure(all(torch.isfinite(update).all() for update in updates), "the adapter is finite")
guard.ensure(any(update.any() for update in updates), "the adapter moved away from zero")
guard.mark_done("train", mark, OUT / "model", OUT / "curve.json")
gain.judge()
