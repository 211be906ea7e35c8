"""Every private part of TRL and PEFT that is replaced or read, one function for each.

Each function says why, and names the file at the version that was tested. tests/runtime/train/
test_upstream.py fails if that part has changed. `trainer_parts` has those of transformers.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

# -----------------------------------------------------------------------------
# TRL 1.16.0: https://github.com/huggingface/trl/tree/v1.16.0/trl/trainer


def score_learned_tokens(module: Any) -> None:
    """Make TRL's fused head compute the logits of learned tokens only, as it does on a GPU.

    `module` is trl.trainer.utils. Its `_use_triton` is False on a CPU, where all tokens would be
    scored for the same loss.
    """
    module._use_triton = lambda _: True  # noqa: SLF001


def keep_tokens(trainer_class: Any, convert: Callable[[Any], Any] = lambda rows: rows) -> None:
    """Make a trainer of preferences read rows that prepare.py has tokenized.

    `_prepare_dataset` of dpo_trainer.py and kto_trainer.py would tokenize texts, and has no option
    to leave tokens as they are. `convert` adds what else the trainer reads.
    """
    trainer_class._prepare_dataset = lambda _trainer, rows, *_: convert(rows)  # noqa: SLF001


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
    answers = {
        tuple(row["prompt_ids"]): row["input_ids"][len(row["prompt_ids"]) :] for row in evaluated
    }
    generate = trainer_class._generate_single_turn  # noqa: SLF001

    def choose(trainer: Any, prompt_ids: Any, *rest: Any, **more: Any) -> Any:
        if trainer.model.training:
            return generate(trainer, prompt_ids, *rest, **more)
        return [answers[tuple(ids)] for ids in prompt_ids]

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


def set_pairs(trainer_class: Any) -> None:
    """Make ORPO or CPO read pairs of answers that prepare.py has tokenized.

    `tokenize_row` of experimental/orpo/orpo_trainer.py and experimental/cpo/cpo_trainer.py is
    public, but not made to be replaced.
    """

    def tokenize_row(_trainer: Any, row: Any, model: Any = None) -> dict[str, list[int]]:
        del model
        pair = {}
        for name in ("chosen", "rejected"):
            answer = row[f"{name}_ids"]
            pair[f"{name}_input_ids"] = row["prompt_ids"] + answer
            pair[f"{name}_attention_mask"] = [1] * len(pair[f"{name}_input_ids"])
            pair[f"{name}_labels"] = [-100] * len(row["prompt_ids"]) + answer
        return pair

    trainer_class.tokenize_row = tokenize_row


def find_evaluation_metrics(trainer: Any) -> dict[str, list[float]]:
    """Return where GRPO or RLOO collects the metrics of each batch of an evaluation.

    `_metrics` of the trainer is averaged before it is logged; the rewards' variance needs all.
    """
    found: dict[str, list[float]] = trainer._metrics["eval"]  # noqa: SLF001
    return found


# -----------------------------------------------------------------------------
# PEFT 0.21.2: https://github.com/huggingface/peft/blob/v0.21.2/src/peft/peft_model.py


def keep_adapter_dtype(model: Any) -> None:
    """Make a model load a checkpoint's adapter in the type that it was saved in.

    `PeftModel.load_adapter` makes a bf16 adapter fp32 by default. The Trainer has no option for it,
    and a resumed run would be another run.
    """
    load = model.load_adapter
    model.load_adapter = lambda *args, **kwargs: load(*args, autocast_adapter_dtype=False, **kwargs)


def remove_head_bias(model: Any) -> None:
    """Give the head a bias of None, if PEFT wraps it to train rows of new tokens.

    TRL's loss reads `bias` of the head, which PEFT's TrainableTokensWrapper does not have.
    """
    model.get_output_embeddings().bias = None
