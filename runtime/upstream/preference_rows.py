"""Replaces a private part of TRL's preference trainers.

tests/runtime/upstream/test_upstream.py fails if it has changed. TRL 1.16.0:
https://github.com/huggingface/trl/tree/v1.16.0/trl/trainer
"""

from collections.abc import Callable
from typing import Any


def keep_tokens(trainer_class: Any, convert: Callable[[Any], Any] = lambda rows: rows) -> None:
    """Make a trainer of preferences read rows that prepare.py has tokenized.

    `_prepare_dataset` of dpo_trainer.py and kto_trainer.py would tokenize texts, and has no option
    to leave tokens as they are. `convert` adds what else the trainer reads.
    """
    trainer_class._prepare_dataset = lambda _trainer, rows, *_: convert(rows)  # noqa: SLF001
