"""Train a LoRA adapter, and keep the best one.

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
from transformers.trainer_callback import EarlyStoppingCallback
from trl import SFTConfig, SFTTrainer

import gain
import grouping
import guard
import survival

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "train"

# -----------------------------------------------------------------------------
# What was decided, and why

MODEL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
MODEL_REVISION = None
LOAD_DTYPE = "bfloat16"  # the frozen base only takes part in bf16 products
ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
LORA_RANK = 32  # set by `method.rank` in the spec
LORA_ALPHA = 64  # twice the rank of 32
LORA_DROPOUT = 0.05  # the default of `method.dropout`
LORA_TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj"]  # set by `method.targets` in the spec
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all that a process sees in a step, at once: 6.5 GiB of 23.6 GiB; with 1 rows at a time a step
# takes 15 % longer
LADDER = [[2, 1], [1, 2]]
EVAL_BATCH = 2  # as many rows at a time as in training
# activations fit in memory; with recomputing, a step takes 38 % longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 2.0  # set by `training.epochs` in the spec
LEARNING_RATE = 0.0002  # set by `training.learning_rate` in the spec
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 3  # 3 % of 96 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 10  # ten evaluations in 96 steps
SAVE_STEPS = 10  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
PATIENCE = 3  # set by `training.early_stopping` in the spec
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 5236058112  # the plan's peak of one process, in the phase: loss

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
with config.main_process_first(local=False):
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
model = AutoModelForCausalLM.from_pretrained(
    source, dtype=LOAD_DTYPE, attn_implementation=ATTENTION, use_safetensors=True, **options,
)
adapter = LoraConfig(
    task_type="CAUSAL_LM", target_modules=LORA_TARGETS,
    r=LORA_RANK, lora_alpha=LORA_ALPHA, lora_dropout=LORA_DROPOUT,
)
trainer = SFTTrainer(
    model=model, args=config,
    train_dataset=train_rows,
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[progress, EarlyStoppingCallback(PATIENCE)],
    peft_config=adapter,
)
trainer.remove_callback(PrinterCallback)
trainer._get_train_sampler = lambda *_: grouping.Grouped(trainer)  # rows of a pass are as long
progress.attend(trainer)
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
config.distributed_state.wait_for_everyone()
if guard.RANK != 0:
    raise SystemExit

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
