"""Replaces private parts of PEFT, with one function for each.

tests/runtime/upstream/test_upstream.py fails if one has changed. PEFT 0.21.2:
https://github.com/huggingface/peft/blob/v0.21.2/src/peft/peft_model.py
"""

from typing import Any

from ..models.output_head import find_head


def keep_adapter_dtype(model: Any) -> None:
    """Make a model load a checkpoint's adapter in the type that it was saved in.

    `PeftModel.load_adapter` makes a bf16 adapter fp32 by default. The Trainer has no option for it,
    and a resumed run would be another run.
    """
    load = model.load_adapter
    model.load_adapter = lambda *args, **kwargs: load(*args, autocast_adapter_dtype=False, **kwargs)


def remove_head_bias(model: Any) -> None:
    """Set the head's `bias` to None where PEFT wraps it to train the rows of new tokens.

    TRL's loss reads `bias` of the head, which PEFT's TrainableTokensWrapper does not have.
    """
    find_head(model).bias = None
