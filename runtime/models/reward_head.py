"""The head of a reward model, which gives a conversation one number."""

from typing import Any

from transformers import set_seed


def reward_settings(tokenizer: Any, seed: int = 0) -> dict[str, Any]:
    """Return the entries of config.json that describe the head.

    Also seeds every random generator, so that the head starts from the same random weights on every
    process.
    """
    set_seed(seed)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return {
        "id2label": {0: "reward"},
        "label2id": {"reward": 0},
        "pad_token_id": tokenizer.pad_token_id,  # the reward is read at the last token before it
    }
