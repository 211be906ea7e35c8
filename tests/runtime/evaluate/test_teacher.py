"""The teacher of a distillation: its divergence is TRL's, and cutting its rows changes no logit."""

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    LlamaConfig,
    LlamaForCausalLM,
)
from trl.kernels.chunked_divergence import ChunkedDivergenceFunction

from ftc.runtime.evaluate.teacher import divergence, load_teacher, measure_divergence

MROPE: dict[str, Any] = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}

TOKENS, ROWS = 40, 56


def make(folder: Path, *, rows: int, hidden: int, tied: bool = False) -> Any:
    """Write a small model with random weights, and return it."""
    torch.manual_seed(hidden)
    config = LlamaConfig(
        vocab_size=rows,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=tied,
        initializer_range=0.3,
    )
    model: Any = LlamaForCausalLM(config)
    model.eval()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.5, 1.0])
def test_the_divergence_is_that_of_training(beta: float) -> None:
    """Token by token, as the fused kernel of the pinned TRL computes it, at a temperature too."""
    apply: Any = ChunkedDivergenceFunction.apply
    torch.manual_seed(1)
    own, other = torch.randn(5, 8), torch.randn(5, 12)
    heads = torch.randn(TOKENS, 8), torch.randn(TOKENS, 12)
    fused, _ = apply(own, heads[0], None, other, heads[1], None, beta, 0.7, 1.0, None, 1.0, None)
    plain = divergence(own @ heads[0].T / 0.7, other @ heads[1].T / 0.7, beta)

    assert torch.allclose(fused, plain, atol=1e-4), (fused, plain)
    assert (divergence(own @ heads[0].T, own @ heads[0].T, beta).abs() < 1e-5).all()


@pytest.mark.parametrize("tied", [False, True])
def test_rows_beyond_the_tokens_change_no_logit(tmp_path: Path, tied: bool) -> None:
    """The teacher's logits of all tokens are bit for bit as before, and its config agrees."""
    whole = make(tmp_path / "teacher", rows=ROWS, hidden=32, tied=tied)
    cut = load_teacher(tmp_path / "teacher", dtype="float32", attention="sdpa", rows=TOKENS)
    ids = torch.arange(TOKENS).reshape(4, 10)
    with torch.inference_mode():
        before, after = whole(ids).logits, cut(ids).logits

    assert torch.equal(before[..., :TOKENS], after)
    assert cut.config.vocab_size == TOKENS
    assert not any(weight.requires_grad for weight in cut.parameters())


def test_a_teacher_in_4_bits_loses_its_rows_too(tmp_path: Path) -> None:
    """Only linear modules are quantized; the probabilities stay close."""
    pytest.importorskip("bitsandbytes")
    whole = make(tmp_path / "teacher", rows=ROWS, hidden=64)
    cut = load_teacher(
        tmp_path / "teacher", dtype="float32", attention="sdpa", rows=TOKENS, in_4_bits=True
    )
    ids = torch.arange(TOKENS).reshape(4, 10)
    with torch.inference_mode():
        apart = divergence(whole(ids).logits[..., :TOKENS], cut(ids).logits, 1.0)

    assert cut.is_loaded_in_4bit
    assert 0 < apart.mean() < 1


def test_only_learned_tokens_are_compared(tmp_path: Path) -> None:
    """A row's divergence is the sum over its answer; rows of any lengths share a batch."""
    student = make(tmp_path / "student", rows=TOKENS, hidden=16)
    teacher: Any = make(tmp_path / "teacher", rows=TOKENS, hidden=32)
    rows = [([3, 4, 5, 6, 7], [-100, -100, 5, 6, 7]), ([8, 9, 10], [-100, 9, 10])]
    given = {"beta": 1.0, "temperature": 1.0}
    both = measure_divergence(student, teacher, rows, 0, **given)
    alone = [measure_divergence(student, teacher, [row], 0, **given)[0] for row in rows]
    with torch.inference_mode():
        ids = torch.tensor([rows[0][0]])
        every = divergence(student(ids).logits[0], teacher(ids).logits[0], 1.0)

    assert both == pytest.approx(alone, rel=1e-4)
    assert both[0] == pytest.approx(every[1:4].sum().item(), rel=1e-4)
    assert measure_divergence(teacher, teacher, rows, 0, **given) == pytest.approx([0, 0], abs=1e-4)


@pytest.mark.prove
@pytest.mark.parametrize("kind", ["qwen2_5_vl", "mistral3"])
def test_a_teacher_may_be_multimodal(tmp_path: Path, kind: str) -> None:
    """It is loaded whole, and its language model loses the rows that the student lacks."""
    text = {
        "vocab_size": 40,
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
    }
    texts: dict[str, dict[str, Any]] = {
        "qwen2_5_vl": {"model_type": "qwen2_5_vl_text", "rope_parameters": {**MROPE}},
        "mistral3": {"model_type": "mistral", "head_dim": 8},
    }
    towers: dict[str, dict[str, Any]] = {
        "qwen2_5_vl": {"depth": 1, "num_heads": 2, "out_hidden_size": 16},
        "mistral3": {"model_type": "pixtral", "num_hidden_layers": 1, "num_attention_heads": 2},
    }
    tower = {"hidden_size": 16, "intermediate_size": 16, **towers[kind]}
    config = AutoConfig.for_model(kind, text_config={**text, **texts[kind]}, vision_config=tower)
    kind_of: Any = AutoModelForImageTextToText
    made = kind_of.from_config(config)
    made.save_pretrained(tmp_path)
    model = load_teacher(tmp_path, dtype="float32", attention="eager", rows=32, revision=None)
    assert type(model) is type(made)
    assert model(input_ids=torch.tensor([[1, 2, 3]])).logits.shape == (1, 3, 32)
