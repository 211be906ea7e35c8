"""Replaces or reads private parts of TRL's GRPO, RLOO and distillation trainers.

tests/runtime/upstream/test_upstream.py fails if it has changed. TRL 1.16.0:
https://github.com/huggingface/trl/tree/v1.16.0/trl/trainer
"""

from collections.abc import Iterable, Mapping
from typing import Any

import torch


def set_prompts(trainer_class: Any, *splits: Iterable[Mapping[str, Any]]) -> None:
    """Make GRPO, RLOO or distillation read the tokens of prompts that prepare.py has made.

    They are found by their texts.

    The rows of `splits` have a `prompt` and its `prompt_ids`.

    `_tokenize_prompts` of grpo_trainer.py, rloo_trainer.py and distillation_trainer.py would
    render the chat template again.
    """
    tokens = {row["prompt"]: row["prompt_ids"] for split in splits for row in split}
    trainer_class._tokenize_prompts = lambda _trainer, texts: (  # noqa: SLF001
        [tokens[text] for text in texts],
        None,
        {},
    )


def set_prompts_of_calls(trainer_class: Any, *splits: Iterable[Mapping[str, Any]]) -> None:
    """Make GRPO with tools read the tokens of prompts that prepare.py has made.

    `_generate` of grpo_trainer.py parses calls in the answers to conversations only, so each prompt
    is passed as a conversation of one message. Rewards still get its text.
    """
    set_prompts(trainer_class, *splits)
    tokenize = trainer_class._tokenize_prompts  # noqa: SLF001
    trainer_class._tokenize_prompts = lambda trainer, chats: (  # noqa: SLF001
        tokenize(trainer, [chat[0]["content"] for chat in chats])
    )
    generate = trainer_class._generate  # noqa: SLF001
    trainer_class._generate = lambda trainer, texts: (  # noqa: SLF001
        generate(trainer, [[{"role": "user", "content": text}] for text in texts])
    )


def set_prompts_and_answers(
    trainer_class: Any,
    rows: Iterable[Mapping[str, Any]],
    evaluated: Iterable[Mapping[str, Any]],
) -> None:
    """Make distillation read the tokens of prompts, and evaluate on the answers in the data.

    `DistillationTrainer._generate_single_turn` of distillation_trainer.py samples new answers at
    each evaluation, so that equal weights have different losses.
    """
    set_prompts(trainer_class, rows, evaluated)
    generate = trainer_class._generate_single_turn  # noqa: SLF001
    predict = trainer_class.prediction_step
    batch: list[Mapping[str, Any]] = []  # of an evaluation; two rows can have the same prompt

    def prediction_step(trainer: Any, model: Any, inputs: Any, *given: Any, **more: Any) -> Any:
        batch[:] = inputs
        return predict(trainer, model, inputs, *given, **more)

    def choose(trainer: Any, prompt_ids: Any, *rest: Any, **more: Any) -> Any:
        if trainer.model.training:
            return generate(trainer, prompt_ids, *rest, **more)
        return [row["input_ids"][len(row["prompt_ids"]) :] for row in batch]

    trainer_class.prediction_step = prediction_step
    trainer_class._generate_single_turn = choose  # noqa: SLF001


def set_prompts_and_seed(trainer_class: Any, *splits: Iterable[Mapping[str, Any]]) -> None:
    """Make distillation read the tokens of prompts, and evaluate with the same random numbers.

    `DistillationTrainer._generate_single_turn` of distillation_trainer.py draws others at each
    evaluation, so that equal weights have different losses, and training would go on with others.
    """
    set_prompts(trainer_class, *splits)
    generate = trainer_class._generate_single_turn  # noqa: SLF001

    def choose(trainer: Any, *given: Any, **more: Any) -> Any:
        if trainer.model.training:
            return generate(trainer, *given, **more)
        with torch.random.fork_rng():
            torch.manual_seed(trainer.args.seed)
            return generate(trainer, *given, **more)

    trainer_class._generate_single_turn = choose  # noqa: SLF001


def find_evaluation_metrics(trainer: Any) -> dict[str, list[float]]:
    """Return where GRPO or RLOO collects the metrics of each batch of an evaluation.

    `_metrics` of the trainer is averaged before it is logged; the rewards' variance needs all.
    """
    found: dict[str, list[float]] = trainer._metrics["eval"]  # noqa: SLF001
    return found
