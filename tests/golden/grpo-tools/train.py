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

from runtime.reward import rewards
from runtime.run import Run
from runtime.train.verdict import end_if_worse

HERE = Path(__file__).resolve().parent
DATA, OUT = HERE / "run/data", HERE / "run/train"

# -----------------------------------------------------------------------------
# Decisions, with their reasons

MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
MODEL_REVISION = None  # the newest: the Hub could not be read; `ftc compile SPEC --update` pins it
LOAD_DTYPE = "bfloat16"  # the frozen base is only used in bf16 matrix products
ATTENTION = "sdpa"  # PyTorch's own attention kernel, which needs no other package
LORA_RANK = 16  # the usual rank for a model of 1.54B parameters
LORA_ALPHA = 32  # twice the rank of 16
# the same weights sample the answers and learn from them, so there is no dropout
LORA_DROPOUT = 0.0
# all 7 kinds of linear modules except the head
LORA_TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "gate_proj", "up_proj"]
ANSWERS_PER_PROMPT = 8  # TRL's default: enough answers for their mean reward to be a baseline
TEMPERATURE = 1.0  # the default of `objective.temperature`
POLICY_LOSS = "dapo"  # the default of `objective.policy_loss`
BETA = 0.0  # verifiable rewards need no reference model, which would cost a forward pass
REWARD_WEIGHTS = [1.0]  # set by `objective.rewards` in the spec
REWARDS = [  # in the order of the weights
    rewards.numeric,
]
TOOL_ROUNDS = 3  # set by `objective.max_tool_calling_iterations` in the spec
TOOL_SECONDS = 60  # the default of `objective.tool_seconds`
EVALUATED_ROWS = 40  # all 40 validation rows: there are no more
ANSWER_TOKENS = 384  # set by `objective.answer_tokens` in the spec
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# all rows of a process in a step at once: 61.5 GiB of 79.1 GiB; with 16 rows at a time a step takes
# 0% longer
LADDER = [[32, 1], [16, 2], [8, 4], [4, 8], [2, 16], [1, 32]]
EVAL_BATCH = 32  # as many rows at a time as in training
# activations fit in memory; with any recomputed, a step takes 1% longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 320 prompts are few; every epoch samples new answers to them
LEARNING_RATE = 1e-05  # set by `training.learning_rate` in the spec
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 8  # 3% of 240 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 24  # about ten evaluations in 240 steps
SAVE_STEPS = 24  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 64997035661  # the plan's peak of one process, in the phase: layer backward

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

import tool_functions
from runtime.models.adapters import find_fault
from runtime.models.loaded_weights import require_weights
from runtime.reward import tool_loop
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
    max_tool_calling_iterations=TOOL_ROUNDS,
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
sampled_answers.set_prompts_of_calls(GRPOTrainer, train_rows, validation_rows)
trainer = GRPOTrainer(
    **tool_loop.offer(tool_functions, REWARDS, TOOL_SECONDS),
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
