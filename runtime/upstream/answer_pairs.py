"""Replaces a private part of TRL's ORPO and CPO trainers.

tests/runtime/upstream/test_upstream.py fails if it has changed. TRL 1.16.0:
https://github.com/huggingface/trl/tree/v1.16.0/trl/experimental
"""

from typing import Any


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
