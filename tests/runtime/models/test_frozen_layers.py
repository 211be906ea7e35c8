"""Layers in 16 bits that stay as they are, beside trained layers in fp32, under autocast."""

import pytest

torch = pytest.importorskip("torch")
from transformers import LlamaConfig, LlamaForCausalLM  # noqa: E402

from ftc.runtime.models.trained_dtype import train_in_fp32  # noqa: E402

TRAINED = "model.layers.1."


def test_trained_layers_learn_and_frozen_ones_keep_every_bit() -> None:
    """Small steps, which 16 bits would lose, lower the loss."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        vocab_size=64,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    for name, weight in model.named_parameters():
        weight.requires_grad = name.startswith(TRAINED)
    train_in_fp32(model)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    moving = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer, ids = torch.optim.AdamW(moving, lr=3e-3), torch.arange(24).reshape(2, 12)
    losses = []
    for _ in range(12):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    for name, weight in model.state_dict().items():
        assert weight.dtype == (torch.float32 if name.startswith(TRAINED) else torch.bfloat16)
        assert torch.equal(weight, before[name]) == (not name.startswith(TRAINED)), name
