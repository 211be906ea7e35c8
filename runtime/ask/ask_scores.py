"""Asks a model with a score head: a reward model or a classifier."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer


def load(folder: Path, **options: Any) -> tuple[Any, Any]:
    """Return the model in a folder and its tokenizer; `options` go to both `from_pretrained`."""
    tokenizer = AutoTokenizer.from_pretrained(folder, **options)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype="auto", use_safetensors=True, **options
    )
    return model, tokenizer


def score(model: Any, ids: list[int]) -> float:
    """Return the reward of a conversation, given as token ids."""
    with torch.inference_mode():
        return float(model(torch.tensor([ids])).logits.item())


def rank_labels(model: Any, tokenizer: Any, text: str, most: int = 5) -> list[tuple[str, float]]:
    """Return the most likely labels of a text with their probabilities, the likeliest first."""
    with torch.inference_mode():
        scores = model(**tokenizer(text, return_tensors="pt")).logits[0].float()
    shares, numbers = scores.softmax(-1).topk(min(most, len(scores)))
    pairs = zip(numbers.tolist(), shares.tolist(), strict=True)
    return [(model.config.id2label[number], share) for number, share in pairs]
