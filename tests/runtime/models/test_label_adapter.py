"""An adapter beside a classification model: what is trained, and in which type."""

from typing import Any

import peft
import pytest
import torch
from transformers import LlamaConfig, LlamaForSequenceClassification

from ftc.runtime.models.label_adapter import adapt
from ftc.runtime.models.reward_head import reward_settings

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
MODEL: Any = LlamaForSequenceClassification
SIZES: dict[str, Any] = {
    "vocab_size": 32,
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "pad_token_id": 0,
}
SETTINGS: dict[str, Any] = {"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["score"]}


def build(**options: bool) -> Any:
    """Return a small model in bf16 with an adapter."""
    model = MODEL(LlamaConfig(**SIZES | {"num_labels": 3}))
    settings = peft.LoraConfig(task_type="SEQ_CLS", **SETTINGS)
    return adapt(model.to(torch.bfloat16), settings, **options)


def types_of(model: Any, *, trained: bool) -> set[torch.dtype]:
    """Return the types of what is trained, or of the rest."""
    return {weight.dtype for weight in model.parameters() if weight.requires_grad == trained}


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({}, torch.float32),
        ({"deepspeed": True, "zero3": True}, torch.bfloat16),
        ({"zero3": True}, torch.float32),
    ],
)
def test_what_is_trained_has_a_type_in_which_small_steps_count(
    options: dict[str, bool], dtype: torch.dtype
) -> None:
    """The base keeps 16 bits; DeepSpeed has copies in 32 of its own."""
    model = build(**options)

    assert types_of(model, trained=True) == {dtype}
    assert types_of(model, trained=False) == {torch.bfloat16}


@pytest.mark.parametrize("options", [{}, {"deepspeed": True}])
def test_the_head_is_trained_in_full(options: dict[str, bool]) -> None:
    """And of the layers the adapter alone."""
    trained = [n for n, weight in build(**options).named_parameters() if weight.requires_grad]

    assert any("score.modules_to_save" in name for name in trained)
    assert all("lora_" in name or "score" in name for name in trained)


def test_a_step_changes_head_and_adapter() -> None:
    """Also where layers are recomputed, as under ZeRO-3."""
    model = build(zero3=True, deepspeed=True)
    model.activation_checkpointing_enable({"use_reentrant": True})
    model.train()
    loss = model(input_ids=torch.tensor([[3, 4, 5]]), labels=torch.tensor([1])).loss
    loss.backward()
    moved = [n for n, w in model.named_parameters() if w.grad is not None and w.grad.abs().sum()]

    assert any("lora_B" in name for name in moved)
    assert any("score" in name for name in moved)


class Tokens:
    """A tokenizer with or without a token for padding."""

    def __init__(self, pad: str | None) -> None:
        self.pad_token, self.eos_token = pad, "</s>"

    @property
    def pad_token_id(self) -> int:
        """The number of that token."""
        return {"</s>": 2, "<pad>": 0}[str(self.pad_token)]


@pytest.mark.parametrize(("pad", "number"), [(None, 2), ("<pad>", 0)])
def test_a_reward_is_read_before_the_padding(pad: str | None, number: int) -> None:
    """Without a token for it, the end of a text is one; the head is named in config.json."""
    tokenizer = Tokens(pad)
    found = reward_settings(tokenizer)

    assert found == {"id2label": {0: "reward"}, "label2id": {"reward": 0}, "pad_token_id": number}
    assert LlamaConfig(**SIZES | found).num_labels == 1


def test_every_process_starts_from_the_same_head() -> None:
    """By the seed of the run."""
    heads = []
    for seed in (0, 0, 1):
        settings = reward_settings(Tokens("<pad>"), seed)
        model = MODEL(LlamaConfig(**SIZES | settings))
        heads.append(model.score.weight)

    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])
