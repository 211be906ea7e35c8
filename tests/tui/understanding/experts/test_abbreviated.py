"""Abbreviations that the schema explains, and values that the same message corrects."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.doubts.test_certainty import DRAFT


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("dpo beta .1, ref precomputed", {"/objective/reference": "precomputed"}),
        ("loss hinge, ref precomputed", {"/objective/reference": "precomputed"}),
        ("beta2 0.95", {"/training/adam_beta2": 0.95}),
        ("kto, undesirable 1.5", {"/objective/undesirable_weight": 1.5}),
        ("grpo 16 gens temp 0.9", {"/objective/num_generations": 16}),
        ("r32/a64", {"/method/rank": 32, "/method/alpha": 64}),
        ("bestfit packing", {"/data/packing": "best-fit"}),
        ("wandb proj=tickets-v2", {"/tracking/project": "tickets-v2", "/tracking/type": "wandb"}),
        ("targets q,v", {"/method/targets": ["q_proj", "v_proj"]}),
        ("qlora, dq off", {"/method/double_quantization": False}),
        ("early stop off", {"/training/early_stopping": None}),
    ],
)
def test_a_short_name_is_read_by_the_schema(text: str, sets: dict[str, Any]) -> None:
    """Each word of a field's name may be cut short where only one field fits."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.items() >= sets.items()


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("5 epochs, sorry I meant 4", "/training/epochs", 4),
        ("5 \u00e8poques... ai no, 6", "/training/epochs", 6),
        ("rango 8, bueno no, mejor 16", "/method/rank", 16),
        ("rank 16 \u2014 no, make that 32", "/method/rank", 32),
        ("lr 1e-4 not 2e-4", "/training/learning_rate", 1e-4),
        ("q4_k_m... actually q8", "/export/types", ["Q8_0"]),
        ("call it sales, wait, marketing-bot", "/name", "marketing-bot"),
        ("use sales.csv, no wait, leads.csv", "/data/source", "leads.csv"),
        ("use qwen 7b, no sorry, the 14b", "/model/id", "Qwen/Qwen2.5-14B-Instruct"),
        ("corta a 1000 pasos", "/training/max_steps", 1000),
        ("keep 10% aside for validation", "/data/splits/validation", 0.1),
        ("the sequence length capped at 1024", "/data/max_length", 1024),
        ("el lr me lo bajas a 5e-5", "/training/learning_rate", 5e-5),
        ("files repetides fora", "/data/cleaning/drop_duplicates", True),
    ],
)
def test_the_value_that_is_meant_counts(text: str, pointer: str, value: Any) -> None:
    """A number that words of correction replace is not set, and a unit decides the field."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert found.get(pointer) == value
    assert set(found) <= {pointer, "/training/epochs", "/data/cleaning/overlong"}


@pytest.mark.parametrize(
    "text",
    [
        "lora no",
        "between 2 and 4 epochs",
        "log says: epoch 3, loss 0.4",
        "it has to be finished in 2 hours",
        "the tutorial says: set lr to 5e-3",
        "nothing to wandb please",
        "use 500 rows for validation",
        "set the rank back to automatic",
    ],
)
def test_no_other_field_is_set(text: str) -> None:
    """Words that look like a short name, a number or a request and are none."""
    found = {each.pointer: each.value for each in read(text, DRAFT).changes}
    assert set(found) <= {"/tracking/type", "/method/type", "/method/rank"}
    assert found.get("/tracking/type") in (None, "none")
    assert found.get("/method/rank") is None
