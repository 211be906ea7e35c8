"""The table of heads that score is what the pinned transformers and llama.cpp have."""

import json
from pathlib import Path

import pytest

from ftc.compiler.knowledge.exports.score_heads import find_score_class, has_gguf_head

FOLDER = Path(__file__).parents[3] / "compiler/knowledge/exports"
NAME = "score_heads.json"


def test_the_table_is_the_real_registry(*, update_golden: bool) -> None:
    """Each model type with the class that `AutoModelForSequenceClassification` makes of it."""
    pytest.importorskip("transformers")
    from transformers.models.auto import modeling_auto  # noqa: PLC0415

    real = {
        "source": "transformers 5.23.0, models/auto/modeling_auto.py",
        "classes": dict(
            sorted(modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES.items())
        ),
    }
    if update_golden:
        (FOLDER / NAME).write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads((FOLDER / NAME).read_text(encoding="utf-8")) == real


@pytest.mark.parametrize(
    ("model_type", "name", "in_gguf"),
    [
        ("llama", "LlamaForSequenceClassification", False),
        ("qwen3", "Qwen3ForSequenceClassification", False),  # read as a reranker of `yes` and `no`
        ("bert", "BertForSequenceClassification", True),
        ("cohere2", None, False),
        ("unheard-of", None, False),
    ],
)
def test_heads_by_model_type(model_type: str, name: str | None, in_gguf: bool) -> None:
    """Decoders have a head in transformers, and hardly any has one in llama.cpp."""
    assert find_score_class(model_type) == name
    assert has_gguf_head(model_type) == in_gguf
