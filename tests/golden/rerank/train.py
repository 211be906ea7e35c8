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

MODEL = "../../../examples/rerank/model"
LOAD_DTYPE = "float32"  # training in fp32 needs no other copy of the weights
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
WRONG_TEXTS = 5  # set by `objective.wrong_texts` in the spec
MAX_LENGTH = 96  # the longest row has 96 tokens, so none is cut
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 0.9 GiB of 19.2 GiB; with 2 rows at a time a step takes
# 1% longer
LADDER = [[4, 1], [2, 2], [1, 4]]
# evaluation has no backward pass, so 16 rows at a time need no more memory than training, and are
# faster
EVAL_BATCH = 16
# activations fit in memory; with any recomputed, a step takes 25% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 8.0  # set by `training.epochs` in the spec
LEARNING_RATE = 0.001  # set by `training.learning_rate` in the spec
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 24  # 3% of 768 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 77  # about ten evaluations in 768 steps
SAVE_STEPS = 77  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 970238125  # the plan's peak of one process, in the phase: layer backward

# -----------------------------------------------------------------------------
# Arguments, and an end if the results are up to date

parser = argparse.ArgumentParser(description="Train; start it with accelerate launch.")
parser.add_argument("--model", type=Path, default=HERE / MODEL, help="the model's folder")
parser.add_argument("--row", type=int, help="the row of LADDER to use, from 0")
parser.add_argument("--pilot", action="store_true", help="only measure a few steps")
args = parser.parse_args()
os.chdir(HERE)  # paths in checkpoints are relative, so that a bundle can be moved
run = Run(HERE, stage="train")
source = run.need_model(args.model)
inputs = [source, HERE / "accelerate.yaml", DATA / "train.jsonl", DATA / "train.arrow"]
inputs += [DATA / "validation.jsonl", DATA / "validation.arrow"]
identity = None if args.pilot else run.identify(*inputs)
if identity and run.is_done(identity):  # trained already, with these inputs
    end_if_worse(run)  # exit code 79, as after training
    raise SystemExit

# -----------------------------------------------------------------------------
# Settings

import torch
from datasets import Dataset
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

from runtime.evaluate import candidates
from runtime.models import relevance
from runtime.models.weight_probe import WeightProbe
from runtime.track.tracking import open_tracker
from runtime.train.best import BestCheckpoint
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
config = CrossEncoderTrainingArguments(
    output_dir=f"{session.place}/checkpoints",
    # A row is a right pair and its wrong ones.
    per_device_train_batch_size=(1 + WRONG_TEXTS) * session.micro_batch,
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
    bf16=False,
    eval_strategy="steps",
    load_best_model_at_end=True,
    logging_steps=0.02,  # of all steps: fifty points make a curve
    logging_nan_inf_filter=False,  # a loss that is not finite ends the run
    **session.tracker.arguments(),
    disable_tqdm=True,
    use_cpu=True,
    full_determinism=True,
)
torch.utils.deterministic.fill_uninitialized_memory = False  # it takes a third of the time
session.begin()
config.eval_on_start = session.checkpoint is None  # the best checkpoint is compared with it

# -----------------------------------------------------------------------------
# Data and model

train_rows = Dataset.from_file("run/data/train.arrow")  # read from the disk, step by step
validation_rows = Dataset.from_file("run/data/validation.arrow")
model = relevance.load(
    source,
    dtype=LOAD_DTYPE,
    attention=ATTENTION,
    max_length=MAX_LENGTH,
    use_safetensors=True,
)
tokenizer = model.tokenizer
drawing = {"seed": SEED, "wrong_texts": WRONG_TEXTS}
validation_rows = Dataset.from_dict(
    candidates.draw_pairs(run, validation_rows[:], others=train_rows["positive"], **drawing)
)
train_rows = Dataset.from_dict(candidates.draw_pairs(run, train_rows[:], **drawing))

# -----------------------------------------------------------------------------
# Trainer

best = BestCheckpoint(session)
trainer = CrossEncoderTrainer(
    # Right texts weigh as much as the wrong ones of their rows.
    loss=BinaryCrossEntropyLoss(model, pos_weight=torch.tensor(float(WRONG_TEXTS))),
    model=model,
    args=config,
    train_dataset=session.choose(train_rows),  # all rows, or a pilot's
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[session, best],
)
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
