"""What ask.py prints of a model in the format of transformers."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ftc.runtime.ask import ask_model, ask_scores


def test_the_most_likely_labels_come_first() -> None:
    """With their probabilities, which add up to one over all labels."""
    scores = torch.tensor([[0.0, 3.0, 1.0]])
    config = SimpleNamespace(id2label={0: "late", 1: "lost", 2: "sent"})

    def model(**_: Any) -> Any:
        return SimpleNamespace(logits=scores)

    model.config = config  # type: ignore[attr-defined]

    def tokenizer(_text: str, **_: Any) -> dict[str, Any]:
        return {}

    ranked = ask_scores.rank_labels(model, tokenizer, "where is it?")

    assert [label for label, _ in ranked] == ["lost", "sent", "late"]
    assert sum(share for _, share in ranked) == pytest.approx(1)
    assert len(ask_scores.rank_labels(model, tokenizer, "where is it?", most=2)) == 2


def test_a_reward_is_one_number() -> None:
    """Of the tokens of one conversation."""
    seen: list[Any] = []

    def model(ids: Any) -> Any:
        seen.append(ids.tolist())
        return SimpleNamespace(logits=torch.tensor([[0.5]]))

    assert ask_scores.score(model, [3, 4]) == 0.5
    assert seen == [[[3, 4]]]


def test_an_answer_is_only_what_the_model_adds(model: Path) -> None:
    """At most as many tokens as asked for, and the same at every call."""
    first = ask_model.answer(model, "where is my parcel", 4)

    assert first == ask_model.answer(model, "where is my parcel", 4)
    assert "where is my parcel" not in first
