"""The head that gives rewards, one number for a conversation."""

from transformers import set_seed


def settings(tokenizer, seed=0):
    """Return what config.json says of the head, which begins at random numbers."""
    set_seed(seed)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return {
        "id2label": {0: "reward"},
        "label2id": {"reward": 0},
        "pad_token_id": tokenizer.pad_token_id,  # the reward is read at the last token before it
    }


def widen(model):
    """Make what is trained fp32, the head as well: in 16 bits small steps are rounded away."""
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data = weight.data.float()
