"""Train all weights of the model, and keep the best ones.

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
import trl.trainer.utils
from datasets import Dataset
from safetensors import safe_open
from transformers import AutoModelForCausalLM, AutoTokenizer, PrinterCallback
from trl import SFTConfig, SFTTrainer

import gain
import guard
import packing
import survival

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "train"

# -----------------------------------------------------------------------------
# What was decided, and why

MODEL = "../../../examples/quickstart/model"
LOAD_DTYPE = "float32"  # training in fp32 needs no other copy of the weights
ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
PACKED_LENGTH = 120  # 94.7 % of it filled by rows of up to 120 tokens
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all that a process sees in a step, at once: 1.4 GiB of 19.2 GiB; with 4 rows at a time a step
# takes 3.5 % longer
LADDER = [[8, 1], [4, 2], [2, 4], [1, 8]]
EVAL_BATCH = 8  # as many rows at a time as in training
# activations fit in memory; with recomputing, a step takes 30 % longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 4.0  # set by `training.epochs` in the spec
LEARNING_RATE = 0.001  # 2.75M parameters bear a high rate
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 13  # 3 % of 420 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 42  # ten evaluations in 420 steps
SAVE_STEPS = 42  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 1477152000  # the plan's peak of one process, in the phase: loss

# -----------------------------------------------------------------------------
# Arguments and settings

parser = argparse.ArgumentParser(description="Train; start it with accelerate launch.")
parser.add_argument("--model", type=Path, default=HERE / MODEL, help="the model's folder")
parser.add_argument("--row", type=int, help="the row of LADDER to use, from 0")
args = parser.parse_args()
guard.need_model(args.model)
source = args.model.resolve()
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
    bf16=False,
    activation_checkpointing=GRADIENT_CHECKPOINTING,
    per_device_eval_batch_size=max(1, EVAL_BATCH >> row),
    eval_strategy="steps", eval_steps=EVAL_STEPS, load_best_model_at_end=True,
    save_steps=SAVE_STEPS,
    logging_steps=0.02,  # of all steps: fifty points make a curve
    logging_nan_inf_filter=False,  # a loss that is no number ends the run
    report_to="tensorboard",
    disable_tqdm=True, seed=SEED,
    use_cpu=True,
    full_determinism=True,
)
torch.utils.deterministic.fill_uninitialized_memory = False  # a third of the time, for nothing
trl.trainer.utils._use_triton = lambda _: True  # scores what is learned alone, as on a GPU

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
tokenizer = AutoTokenizer.from_pretrained(source)
model = AutoModelForCausalLM.from_pretrained(
    source, dtype=LOAD_DTYPE, attn_implementation=ATTENTION, use_safetensors=True,
)
packed = packing.pack(train_rows, PACKED_LENGTH)
guard.say(f"{len(train_rows):,} rows lie in {len(packed):,} packed ones")
trainer = SFTTrainer(
    model=model, args=config,
    train_dataset=packed,
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[progress],
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
guard.say(f"a step is {micro_batch} rows x {accumulation} passes x {config.world_size} processes")

# One matrix as it was, to see afterwards that it moved.
probe_name, probe = [(n, p) for n, p in model.named_parameters() if p.dim() == 2][-1]
before = probe.detach().cpu().clone()

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
    "planned_bytes": PLANNED_BYTES,
}
guard.write_json(OUT / "curve.json", curve)
guard.say(f"peak memory {curve['peak_bytes'] / 2**30:.2f} GiB, planned {PLANNED_BYTES / 2**30:.2f}")
losses = [loss for _, loss in curve["train"] + curve["validation"]]
guard.ensure(losses and all(math.isfinite(loss) for loss in losses), "every loss is a number")
guard.ensure(losses[0] != 0, "the loss at the beginning is not zero: something is learned")
files = [safe_open(path, framework="pt") for path in (OUT / "model").glob("*.safetensors")]
saved = [file.get_tensor(probe_name) for file in files if probe_name in file.keys()]
guard.ensure(saved and saved[0].shape == before.shape, f"{probe_name} was saved whole")
guard.ensure(torch.isfinite(saved[0]).all(), f"{probe_name} is finite")
guard.ensure(not torch.equal(saved[0], before.to(saved[0].dtype)), f"{probe_name} moved")
guard.mark_done("train", mark, OUT / "model", OUT / "curve.json")
gain.judge()
