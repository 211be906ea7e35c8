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
from runtime.vision.image_store import list_pictures

HERE = Path(__file__).resolve().parent
DATA, OUT = HERE / "run/data", HERE / "run/train"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "Qwen/Qwen3-VL-2B-Instruct"
MODEL_REVISION = None  # the newest: the Hub could not be read; `ftc compile SPEC --update` pins it
LOAD_DTYPE = "bfloat16"  # the frozen base is only used in bf16 matrix products
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
LORA_RANK = 16  # the usual rank for a model of 1.72B parameters
LORA_ALPHA = 32  # twice the rank of 16
LORA_DROPOUT = 0.05  # the default of `method.dropout`
# all 7 kinds of linear modules except the head
LORA_TARGETS = "model\\.language_model\\.layers\\.\\d+\\.(?:self_attn\\.q_proj|self_attn\\.k_proj|self_attn\\.v_proj|self_attn\\.o_proj|mlp\\.down_proj|mlp\\.gate_proj|mlp\\.up_proj)"  # noqa: E501
# how the processor makes tokens of an image, by its width and height; max_pixels: the limit of the
# model's processor; an image has at most 64 tokens, 64 on average
IMAGE_RULE = {
    "kind": "grid",
    "patch": 16,
    "merge": 2,
    "min_pixels": 65536,
    "max_pixels": 16777216,
    "token": "<|image_pad|>",
}
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 7.0 GiB of 23.5 GiB; with 2 rows at a time a step takes
# 91% longer
LADDER = [[4, 1], [2, 2], [1, 4]]
# evaluation has no backward pass, so 16 rows at a time need no more memory than training, and are
# faster
EVAL_BATCH = 16
# activations fit in memory; with any recomputed, a step takes 30% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 160 rows are few, so they are read three times
LEARNING_RATE = 0.0002  # the rate of QLoRA's experiments up to 13B parameters, for any batch size
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 4  # 3% of 120 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
LOADER_WORKERS = 4  # images are opened and resized while the device computes
EVAL_STEPS = 12  # about ten evaluations in 120 steps
SAVE_STEPS = 12  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 6497665480  # the plan's peak of one process, in the phase: loss

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
inputs.extend(list_pictures(DATA))
identity = None if args.pilot else run.identify(*inputs)
if identity and run.is_done(identity):  # trained already, with these inputs
    end_if_worse(run)  # exit code 79, as after training
    raise SystemExit

# -----------------------------------------------------------------------------
# Settings

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForImageTextToText
from trl import SFTConfig, SFTTrainer

from runtime.models.adapters import find_fault
from runtime.models.loaded_weights import require_weights
from runtime.track.tracking import open_tracker
from runtime.train.best import BestCheckpoint
from runtime.train.sorted_steps import sort_rows
from runtime.train.training import TrainingSession
from runtime.upstream.adapter_names import load_by_names_in_memory
from runtime.upstream.towers import pass_gradients_to_text
from runtime.upstream.validation_loss import average_loss
from runtime.vision.image_batches import ImageReader

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
config = SFTConfig(
    max_length=None,  # prepare.py has dropped or cut longer rows
    dataset_kwargs={"skip_prepare_dataset": True},
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
    dataloader_num_workers=LOADER_WORKERS,
    eval_steps=EVAL_STEPS,
    save_steps=SAVE_STEPS,
    seed=SEED,
    dataloader_persistent_workers=True,
    bf16=True,
    eval_strategy="steps",
    load_best_model_at_end=True,
    logging_steps=0.02,  # of all steps: fifty points make a curve
    logging_nan_inf_filter=False,  # a loss that is not finite ends the run
    **session.tracker.arguments(),
    disable_tqdm=True,
    remove_unused_columns=False,  # the collator needs the references to the images
)
session.begin()
config.eval_on_start = session.checkpoint is None  # the best checkpoint is compared with it

# -----------------------------------------------------------------------------
# Data and model

train_rows = Dataset.from_file("run/data/train.arrow")  # read from the disk, step by step
validation_rows = Dataset.from_file("run/data/validation.arrow")
options = {"revision": MODEL_REVISION} if args.model == MODEL else {}
images = ImageReader(source, DATA, rule=IMAGE_RULE, **options)
model, loaded = AutoModelForImageTextToText.from_pretrained(
    source,
    dtype=LOAD_DTYPE,
    attn_implementation=ATTENTION,
    use_safetensors=True,
    output_loading_info=True,
    **options,
)
require_weights(model, loaded)
pass_gradients_to_text(model)
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
trainer = SFTTrainer(
    model=model,
    args=config,
    train_dataset=session.choose(train_rows),  # all rows, or a pilot's
    eval_dataset=validation_rows,
    processing_class=images.processor,
    data_collator=images.collate,
    callbacks=[session, best],
    peft_config=adapter,
)
sort_rows(trainer)  # rows of a pass have similar lengths
average_loss(trainer)  # in validation: over learned tokens, not over batches
load_by_names_in_memory()

# -----------------------------------------------------------------------------
# Train and save

with session.resume(trainer) as checkpoint:
    trainer.train(resume_from_checkpoint=checkpoint)
gained = best.confirm(trainer)  # evaluates the kept weights again

trainer.save_model("run/train/model")
fault = find_fault(OUT / "model")
session.finish(trainer, fault=fault, **gained)
end_if_worse(run)  # exit code 79 if training made the model worse
