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
from trl import GRPOConfig, GRPOTrainer

import gain
import guard
import rewards
import survival

HERE = Path(__file__).resolve().parent
OUT = HERE / "run" / "train"

# -----------------------------------------------------------------------------
# What was decided, and why

MODEL = "HuggingFaceTB/SmolLM2-1.7B-Instruct"
MODEL_REVISION = None
LOAD_DTYPE = "bfloat16"  # the frozen base only takes part in bf16 products
ATTENTION = "sdpa"  # PyTorch's own kernel, which needs nothing installed beyond torch
LORA_RANK = 16  # the usual rank; 1.71B parameters are many to share it
LORA_ALPHA = 32  # twice the rank of 16
LORA_DROPOUT = 0.0  # answers are tried and learned by the same weights, so nothing is dropped
LORA_TARGETS = [
    "q_proj", "k_proj", "v_proj", "o_proj", "down_proj", "gate_proj", "up_proj",
]  # all 7 kinds of linear modules, the head apart
ANSWERS_PER_PROMPT = 8  # TRL's default: enough for their mean to say what an answer is worth
ANSWER_TOKENS = 128  # set by `objective.answer_tokens` in the spec
TEMPERATURE = 1.0  # the default of `objective.temperature`
POLICY_LOSS = "dapo"  # the default of `objective.policy_loss`
EVALUATED_ROWS = 40  # all 40 rows of validation, which are fewer than asked for
# Rows per process and pass, and passes per step: each line is the same batch in less memory.
# the fastest that fits, with 14.6 GiB of 23.5 GiB; with 8 rows at a time a step takes 4.3 % longer
LADDER = [[16, 2], [8, 4], [4, 8], [2, 16], [1, 32]]
# evaluating keeps nothing for a backward pass: 32 rows at a time need no more memory than training
# and are faster
EVAL_BATCH = 32
# activations fit in memory; with recomputing, a step takes 2.3 % longer
GRADIENT_CHECKPOINTING = False
EPOCHS = 3.0  # 320 prompts are few; each time other answers to them are tried
LEARNING_RATE = 1e-05  # ten times GRPO's usual rate for all weights, as adapters take
SCHEDULE = "cosine"  # the default of `training.schedule`
WARMUP_STEPS = 8  # 3 % of 240 steps
WEIGHT_DECAY = 0.01  # the default of `training.weight_decay`
MAX_GRAD_NORM = 1.0  # the default of `training.max_grad_norm`
EVAL_STEPS = 24  # ten evaluations in 240 steps
SAVE_STEPS = 24  # a checkpoint at each evaluation, so that the best one is kept
KEEP_CHECKPOINTS = 2  # the default of `training.keep_checkpoints`
SEED = 42  # the default of `training.seed`
PLANNED_BYTES = 14641554432  # the plan's peak of one process, in the phase: loss

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

config = GRPOConfig(
    num_generations=ANSWERS_PER_PROMPT, max_completion_length=ANSWER_TOKENS,
    temperature=TEMPERATURE, loss_type=POLICY_LOSS, reward_weights=rewards.WEIGHTS,
    num_generations_eval=1, metric_for_best_model="reward", greater_is_better=True,
    disable_dropout=True,  # answers are tried and learned by the same network
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
mark = guard.fingerprint(__file__, args.model, train_file, validation_file, *rewards.FILES)
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
model = AutoModelForCausalLM.from_pretrained(
    source, dtype=LOAD_DTYPE, attn_implementation=ATTENTION, use_safetensors=True, **options,
)
adapter = LoraConfig(
    task_type="CAUSAL_LM", target_modules=LORA_TARGETS,
    r=LORA_RANK, lora_alpha=LORA_ALPHA, lora_dropout=LORA_DROPOUT,
)
# The prompts are tokens already; TRL would make them anew of the texts that rewards are shown.
validation_rows = validation_rows.select(range(EVALUATED_ROWS))
prompts = {row["prompt"]: row["prompt_ids"] for row in [*train_rows, *validation_rows]}
GRPOTrainer._tokenize_prompts = lambda self, texts: ([prompts[text] for text in texts], None, {})
trainer = GRPOTrainer(
    reward_funcs=rewards.FUNCTIONS,
    model=model, args=config,
    train_dataset=train_rows,
    eval_dataset=validation_rows,
    processing_class=tokenizer,
    callbacks=[progress],
    peft_config=adapter,
)
trainer.remove_callback(PrinterCallback)
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

# -----------------------------------------------------------------------------
# The curve, and what must be true of the result

history = trainer.state.log_history
curve = {
    "train": [(log["step"], log["loss"]) for log in history if "loss" in log],
    "best_step": trainer.state.best_global_step,
    **gain.measure(trainer),
    "reward": [(log["step"], log["reward"]) for log in history if "reward" in log],
    "validation_reward": [(x["step"], x["eval_reward"]) for x in history if "eval_reward" in x],
    "peak_bytes": survival.peak_memory_bytes(),
    "allocated_bytes": torch.cuda.max_memory_allocated(),  # of these, what tensors took
    "planned_bytes": PLANNED_BYTES,
}
guard.write_json(OUT / "curve.json", curve)
guard.say(f"peak memory {curve['peak_bytes'] / 2**30:.2f} GiB, planned {PLANNED_BYTES / 2**30:.2f}")
losses = [loss for _, loss in curve["train"]]
guard.ensure(losses and all(math.isfinite(loss) for loss in losses), "every loss is a number")
guard.ensure(any(log.get("reward_std") for log in history), "some answers got more than others")
with safe_open(OUT / "model" / "adapter_model.safetensors", framework="pt") as file:
    updates = [file.get_tensor(name) for name in file.keys() if "lora_B" in name]
guard.ensure(updates and all(update.numel() for update in updates), "the adapter is not empty")
guard.ensure(all(torch.isfinite(update).all() for update in updates), "the adapter is finite")
guard.ensure(any(update.any() for update in updates), "the adapter moved away from zero")
guard.mark_done("train", mark, OUT / "model", OUT / "curve.json")
gain.judge()
