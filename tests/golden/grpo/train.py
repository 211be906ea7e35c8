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

import reward_functions
from runtime.reward import rewards
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
# the same weights sample the answers and learn from them, so there is no dropout
LORA_DROPOUT = 0.0
# all 7 kinds of linear modules except the head
LORA_TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "gate_proj", "up_proj"]
ANSWERS_PER_PROMPT = 8  # TRL's default: enough answers for their mean reward to be a baseline
TEMPERATURE = 1.0  # the default of `objective.temperature`
POLICY_LOSS = "dapo"  # the default of `objective.policy_loss`
BETA = 0.0  # verifiable rewards need no reference model, which would cost a forward pass
REWARD_WEIGHTS = [1.0, 0.2]  # set by `objective.rewards` in the spec
REWARD_NAMES = ["is_brief"]
REWARDS = [  # in the order of the weights
    rewards.numeric,
    *(getattr(reward_functions, name) for name in REWARD_NAMES),
]
EVALUATED_ROWS = 40  # all 40 validation rows: there are no more
ANSWER_TOKENS = 128  # set by `objective.answer_tokens` in the spec
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 19.8 GiB of 23.5 GiB; with 16 rows at a time a step takes
# 8.2% longer
LADDER = [[32, 1], [16, 2], [8, 4], [4, 8], [2, 16]]
EVAL_BATCH = 32  # as many rows at a time as in training
# activations fit in memory; with any recomputed, a step takes 2.2% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 320 prompts are few; every epoch samples new answers to them
# 1e-5 at 7B, ten times GRPO's rate for all weights, falling with size^0.4; this model has 1.71B
LEARNING_RATE = 2e-05
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 8  # 3% of 240 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 24  # about ten evaluations in 240 steps
SAVE_STEPS = 24  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 20230940466  # the plan's peak of one process, in the phase: loss

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
from trl import GRPOConfig, GRPOTrainer

from runtime.models.adapters import find_fault
from runtime.models.loaded_weights import require_weights
from runtime.reward.flat_rewards import REWARD_CURVES, FlatRewards
from runtime.track.tracking import open_tracker
from runtime.train.best_by_reward import BestByReward
from runtime.train.training import TrainingSession
from runtime.upstream import sampled_answers

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
config = GRPOConfig(
    num_generations=ANSWERS_PER_PROMPT,
    max_completion_length=ANSWER_TOKENS,
    temperature=TEMPERATURE,
    loss_type=POLICY_LOSS,
    reward_weights=REWARD_WEIGHTS,
    beta=BETA,
    num_generations_eval=1,
    metric_for_best_model="reward",  # higher is better, as for all metrics but a loss
    disable_dropout=True,  # answers are sampled and learned by the same network
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

best = BestByReward(session)
validation_rows = validation_rows.select(range(min(EVALUATED_ROWS, len(validation_rows))))
sampled_answers.set_prompts(GRPOTrainer, train_rows, validation_rows)
trainer = GRPOTrainer(
    reward_funcs=REWARDS,
    model=model,
    args=config,
    train_dataset=session.choose(train_rows),  # all rows, or a pilot's
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[session, best, FlatRewards(session)],
    peft_config=adapter,
)
best.attach(trainer)  # it reads the rewards of all batches

# -----------------------------------------------------------------------------
# Train and save

with session.resume(trainer) as checkpoint:
    trainer.train(resume_from_checkpoint=checkpoint)
gained = best.confirm(trainer)  # evaluates the kept weights again

trainer.save_model("run/train/model")
fault = find_fault(OUT / "model")
session.finish(trainer, fault=fault, curves=REWARD_CURVES, **gained)
end_if_worse(run)  # exit code 79 if training made the model worse
