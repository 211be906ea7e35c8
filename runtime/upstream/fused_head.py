"""Replaces a private part of TRL's fused head.

tests/runtime/upstream/test_upstream.py fails if it has changed. TRL 1.16.0:
https://github.com/huggingface/trl/tree/v1.16.0/trl/trainer
"""

from typing import Any


def score_learned_tokens(module: Any) -> None:
    """Make TRL's fused head compute the logits of learned tokens only, as it does on a GPU.

    `module` is trl.trainer.utils. Its `_use_triton` is False on a CPU, where all tokens would be
    scored for the same loss.
    """
    module._use_triton = lambda _: True  # noqa: SLF001
