"""Separate learning rates: the parameter group of each weight in an optimizer."""

from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.models.learning_rates import set_rates

torch = pytest.importorskip("torch")


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    """An embedding, the two factors of an adapter and an untied head, as PEFT names them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(4, 2)
        self.lora_A = torch.nn.Linear(2, 2, bias=False)
        self.lora_B = torch.nn.Linear(2, 2, bias=False)
        self.lm_head = torch.nn.Linear(2, 4, bias=False)

    def get_input_embeddings(self) -> Any:
        """Return the embedding, as transformers' models do."""
        return self.embed_tokens

    def get_output_embeddings(self) -> Any:
        """Return the head."""
        return self.lm_head


def rates_by_name(**rates: float) -> dict[str, float]:
    """Return the rate of every weight after `set_rates`, for a trainer's rate of 0.1."""
    model = Model()
    trainer = SimpleNamespace(
        model=model,
        args=SimpleNamespace(learning_rate=0.1),
        create_optimizer=lambda _model: torch.optim.AdamW(model.parameters(), lr=0.1),
    )
    set_rates(trainer, **rates)
    groups = trainer.create_optimizer().param_groups
    by_id = {id(weight): group["lr"] for group in groups for weight in group["params"]}
    return {name.split(".")[0]: by_id[id(weight)] for name, weight in model.named_parameters()}


def test_the_factor_that_starts_at_zero_learns_faster() -> None:
    """LoRA+ changes the rate of `lora_B` alone."""
    assert rates_by_name(loraplus_rate=1.6) == {
        "embed_tokens": 0.1,
        "lora_A": 0.1,
        "lora_B": 1.6,
        "lm_head": 0.1,
    }


def test_embeddings_and_head_have_one_rate() -> None:
    """The two rates are independent of each other."""
    assert rates_by_name(loraplus_rate=1.6, embedding_rate=0.01) == {
        "embed_tokens": 0.01,
        "lora_A": 0.1,
        "lora_B": 1.6,
        "lm_head": 0.01,
    }
