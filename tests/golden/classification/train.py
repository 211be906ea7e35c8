"""Train all weights of the model.

    accelerate launch --config_file accelerate.yaml train.py
    accelerate launch --config_file accelerate.yaml train.py --row 1   # less memory, same batch

Reads run/data. Writes run/train/model (the best checkpoint) and run/train/curve.json.
Started again, it resumes from the newest complete checkpoint.
"""
# ruff: noqa: E402 - imports that take seconds come after the check whether there is work

import argparse
import os
from pathlib import Path

from runtime.run import Run
from runtime.train.verdict import end_if_worse

HERE = Path(__file__).resolve().parent
DATA, OUT = HERE / "run/data", HERE / "run/train"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
MODEL_REVISION = None  # the newest: the Hub could not be read; `ftc compile SPEC --update` pins it
LOAD_DTYPE = "float32"  # the fp32 weights are the master copy; autocast computes in bf16
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
METRIC = "macro_f1"  # it gives each of 12 labels the same weight, however rare
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 12.0 GiB of 23.5 GiB; with 16 rows at a time a step takes
# 51% longer
LADDER = [[32, 1], [16, 2], [8, 4], [4, 8], [2, 16], [1, 32]]
EVAL_BATCH = 32  # as many rows at a time as in training
# activations fit in memory; with any recomputed, a step takes 28% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 2,400 rows are few, so they are read three times
# 2e-5 at 7B, falling with size^0.4 and not scaled with the batch; this model has 494M
LEARNING_RATE = 6e-05
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 7  # 3% of 225 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
# 9 evaluations: more, each with its checkpoint, would take over 25% of the time of training
EVAL_STEPS = 25
SAVE_STEPS = 25  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 11906785524  # the plan's peak of one process, in the phase: layer backward

# -----------------------------------------------------------------------------
# Arguments, and an end if the results are up to date

parser = argparse.ArgumentParser(description="Train; start it with accelerate launch.")
parser.add_argument("--model", default=MODEL, help="the folder of another model")
parser.add_argument("--row", type=int, help="the row of LADDER to use, from 0")
parser.add_argument("--pilot", action="store_true", help="only measure a few steps")
args = parser.parse_args()
os.chdir(HERE)  # paths in checkpoints are relative, so that a bundle can be moved
run = Run(HERE, stage="train")
source = run.need_model(args.model, MODEL)
inputs = [source, HERE / "accelerate.yaml", DATA / "train.jsonl", DATA / "train.arrow"]
inputs += [DATA / "validation.jsonl", DATA / "validation.arrow"]
inputs += [DATA / "labels.jsonl"]
identity = None if args.pilot else run.identify(*inputs)
if identity and run.is_done(identity):  # trained already, with these inputs
    end_if_worse(run)  # exit code 79, as after training
    raise SystemExit

# -----------------------------------------------------------------------------
# Settings

from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.trainer import Trainer, TrainingArguments

from runtime.models import labels
from runtime.models.loaded_weights import require_weights
from runtime.models.weight_probe import WeightProbe
from runtime.track.tracking import open_tracker
from runtime.train.best_by_metric import BestByMetric
from runtime.train.sorted_steps import sort_rows
from runtime.train.training import TrainingSession

session = TrainingSession(
    run,
    identity=identity,
    ladder=LADDER,
    row=args.row,
    pilot=args.pilot,
    planned_bytes=PLANNED_BYTES,
    keep=KEEP_CHECKPOINTS,
    tracker=open_tracker(run),
)
config = TrainingArguments(
    metric_for_best_model=METRIC,
    output_dir=f"{session.place}/checkpoints",
    per_device_train_batch_size=session.micro_batch,
    gradient_accumulation_steps=session.accumulation,
    per_device_eval_batch_size=max(1, EVAL_BATCH >> session.row),
    activation_checkpointing=GRADIENT_CHECKPOINTING,
    num_train_epochs=EPOCHS,
    learning_rate=LEARNING_RATE,
    lr_scheduler_type=SCHEDULE,
    warmup_steps=WARMUP_STEPS,
    weight_decay=WEIGHT_DECAY,
    max_grad_norm=MAX_GRAD_NORM,
    eval_steps=EVAL_STEPS,
    save_steps=SAVE_STEPS,
    seed=SEED,
    bf16=True,
    eval_strategy="steps",
    load_best_model_at_end=True,
    logging_steps=0.02,  # of all steps: fifty points make a curve
    logging_nan_inf_filter=False,  # a loss that is not finite ends the run
    **session.tracker.arguments(),
    disable_tqdm=True,
)
session.begin()
config.eval_on_start = session.checkpoint is None  # the best checkpoint is compared with it

# -----------------------------------------------------------------------------
# Data and model

train_rows = Dataset.from_file("run/data/train.arrow")  # read from the disk, step by step
validation_rows = Dataset.from_file("run/data/validation.arrow")
options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
tokenizer = AutoTokenizer.from_pretrained(source, **options)
found = run.read_rows(DATA / "labels.jsonl")
names = [label["name"] for label in found]
settings = labels.head_settings(tokenizer, names, SEED) | options
model, loaded = AutoModelForSequenceClassification.from_pretrained(
    source,
    dtype=LOAD_DTYPE,
    attn_implementation=ATTENTION,
    use_safetensors=True,
    output_loading_info=True,
    **settings,
)
require_weights(model, loaded, head=False)  # the head is new

# -----------------------------------------------------------------------------
# Trainer

best = BestByMetric(session, rows=len(validation_rows))
weights = None  # every row counts the same
trainer = Trainer(
    compute_loss_func=labels.make_loss(weights),
    compute_metrics=labels.make_judge(weights),
    model=model,
    args=config,
    train_dataset=session.choose(train_rows),  # all rows, or a pilot's
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[session, best],
)
sort_rows(trainer)  # rows of a pass have similar lengths
probe = WeightProbe(model)

# -----------------------------------------------------------------------------
# Train and save

with session.resume(trainer) as checkpoint:
    trainer.train(resume_from_checkpoint=checkpoint)
gained = best.confirm(trainer)  # evaluates the kept weights again

trainer.save_model("run/train/model")
fault = probe.find_fault(OUT / "model")
session.finish(trainer, fault=fault, **gained)
end_if_worse(run)  # exit code 79 if training made the model worse
