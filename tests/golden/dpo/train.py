"""Train a LoRA adapter.

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

MODEL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
MODEL_REVISION = None  # the newest: the Hub could not be read; `ftc compile SPEC --update` pins it
LOAD_DTYPE = "bfloat16"  # the frozen base is only used in bf16 matrix products
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
LORA_RANK = 16  # the usual rank for a model of 1.71B parameters
LORA_ALPHA = 32  # twice the rank of 16
LORA_DROPOUT = 0.0  # off, because the trainer disables dropout when it compares answers
# all 7 kinds of linear modules except the head
LORA_TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "gate_proj", "up_proj"]
LOSS = "sigmoid"  # the default of `objective.loss`
BETA = 0.1  # the value in the experiments of the DPO paper
# one pass before training instead of one at every step, and no second model in memory
REFERENCE = "precomputed"
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 9.7 GiB of 23.5 GiB; with 2 rows at a time a step takes
# 90% longer
LADDER = [[4, 1], [2, 2], [1, 4]]
# evaluation has no backward pass, so 8 rows at a time need no more memory than training, and are
# faster
EVAL_BATCH = 8
# activations fit in memory; with any recomputed, a step takes 31% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 2.0  # 128 rows are few, so two epochs; more would overfit
# 5e-6 at 7B as in Zephyr's recipe, falling with size^0.4: a fortieth of the rate for answers,
# because pairs change a model quickly; this model has 1.71B
LEARNING_RATE = 9e-06
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 2  # 3% of 64 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 7  # about ten evaluations in 64 steps
SAVE_STEPS = 7  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 9440606497  # the plan's peak of one process, in the phase: loss

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
identity = None if args.pilot else run.identify(*inputs)
if identity and run.is_done(identity):  # trained already, with these inputs
    end_if_worse(run)  # exit code 79, as after training
    raise SystemExit

# -----------------------------------------------------------------------------
# Settings

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

from runtime.models.adapters import find_fault
from runtime.models.loaded_weights import require_weights
from runtime.track.tracking import open_tracker
from runtime.train.best import BestCheckpoint
from runtime.train.pair_lengths import count_pair_tokens
from runtime.train.steps import order_rows
from runtime.train.training import TrainingSession
from runtime.upstream import preference_rows

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
config = DPOConfig(
    loss_type=LOSS,
    beta=BETA,
    precompute_ref_log_probs=REFERENCE == "precomputed",
    max_length=None,  # prepare.py has dropped or cut longer rows
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
model, loaded = AutoModelForCausalLM.from_pretrained(
    source,
    dtype=LOAD_DTYPE,
    attn_implementation=ATTENTION,
    use_safetensors=True,
    output_loading_info=True,
    **options,
)
require_weights(model, loaded)
adapter = LoraConfig(
    task_type="CAUSAL_LM",
    target_modules=LORA_TARGETS,
    r=LORA_RANK,
    lora_alpha=LORA_ALPHA,
    lora_dropout=LORA_DROPOUT,
)

# -----------------------------------------------------------------------------
# Trainer

best = BestCheckpoint(session)
preference_rows.keep_tokens(DPOTrainer)  # prepare.py has tokenized the rows
trainer = DPOTrainer(
    model=model,
    args=config,
    train_dataset=session.choose(train_rows, count_pair_tokens),  # all rows, or a pilot's
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[session, best],
    peft_config=adapter,
)
order_rows(trainer)  # every step is full, and the order depends on the seed and the epoch only

# -----------------------------------------------------------------------------
# Train and save

with session.resume(trainer) as checkpoint:
    trainer.train(resume_from_checkpoint=checkpoint)
gained = best.confirm(trainer)  # evaluates the kept weights again

trainer.save_model("run/train/model")
fault = find_fault(OUT / "model")
session.finish(trainer, fault=fault, **gained)
end_if_worse(run)  # exit code 79 if training made the model worse
