"""Parts of a line whose every word belongs to one field are read; words of others are not."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read

DRAFT: dict[str, Any] = {
    "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
    "data": {"source": "tickets.csv"},
    "hardware": {"gpu": "RTX-4090"},
    "method": {"type": "lora"},
}


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("embed, mean pooling, scale 50", "/objective/similarity_scale", 50),
        ("reranker, 7 negativos por consulta, batch 32", "/objective/wrong_texts", 7),
        ("embed, 3 hard negatives per query", "/objective/hard_negatives", 3),
        ("reranker with 5 hard negatives per query", "/objective/wrong_texts", 5),
        ("reranker, 4 negativos difíciles por consulta", "/objective/wrong_texts", 4),
        (
            "embed, matryoshka 512, 256 and 128",
            "/objective/matryoshka_dimensions",
            [512, 256, 128],
        ),
        ("embed amb matryoshka 256/64", "/objective/matryoshka_dimensions", [256, 64]),
        ("grpo, 16 gens, 1024 tok por respuesta", "/objective/answer_tokens", 1024),
        ("q6_k, KL màx 0.03", "/export/verify/max_divergence", 0.03),
        ("dpo, beta 0.2, ref precalculada", "/objective/reference", "precomputed"),
        ("seq 16k, ckpt selective, liger on", "/training/gradient_checkpointing", "selective"),
        ("skypilot, spot ok", "/launch/spot", True),
        ("no repares la codificación", "/data/cleaning/repair_encoding", False),
        ("sft, loss només a l'últim torn, max_len 4k", "/objective/loss_on", "last_turn"),
        ("5 samples por eval", "/training/evaluation/samples", 5),
    ],
)
def test_a_part_that_one_field_explains(text: str, pointer: str, value: object) -> None:
    """The words may be cut short, inflected, or in another language than the rest."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes}.get(pointer) == value


@pytest.mark.parametrize(
    "text",
    [
        "the scale of the problem is 50 times bigger",
        "log says: epoch 3, loss 0.4",
        "when it's done I need a file for my colleague",
        "compared to full fine-tuning, is it worse",
        "I had 7 negative reviews per week",
    ],
)
def test_other_words_set_nothing(text: str) -> None:
    """A part with a word of no field, a report and a comparison are left to a question."""
    assert read(text, DRAFT).changes == ()
