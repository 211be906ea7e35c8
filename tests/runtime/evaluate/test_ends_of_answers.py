"""An answer ends at the texts of a model's generation_config.json, as at the special tokens."""

from pathlib import Path

import pytest

from tests.tiny_tokenizers import byte_level_tokenizer

transformers = pytest.importorskip("transformers")

from ftc.runtime.evaluate.answers import generate  # noqa: E402 - it needs torch


def test_texts_that_end_an_answer(tmp_path: Path) -> None:
    """Transformers needs the tokenizer for them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(byte_level_tokenizer(tmp_path))
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=8,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    model.lm_head.weight.data.zero_()  # it writes the first token
    assert generate(model, tokenizer, [[5, 6]], 4, [1]) == [[0] * 4]
    model.generation_config.stop_strings = [tokenizer.decode([0])]
    assert generate(model, tokenizer, [[5, 6]], 4, [1]) == [[0]]
