"""Words that make a value part of a report: they lead to a question, never to a change."""

import pytest

from ftc.tui.understanding.reader import read

DRAFT = {"method": {"type": "lora"}, "hardware": {"gpu": "RTX-4090", "count": 1}}


@pytest.mark.parametrize(
    "said",
    [
        "my friend uses qlora",
        "the previous run took 3 epochs",
        "the 3090 overheats",
        "imagina que tuviera 8 A100",
        "con rango 64 se quedó sin memoria",
        "l'any vinent tindrem 8 H100",
        "el meu professor insisteix en qlora",
        "5 epochs > 3 epochs",
    ],
)
def test_what_is_told_is_asked_about(said: str) -> None:
    """A report, a supposition or a complaint changes nothing, and its field is open."""
    reading = read(said, DRAFT)
    assert not reading.changes
    assert reading.choices


@pytest.mark.parametrize(
    ("said", "pointer", "value"),
    [
        ("please run it on the rented 3090 in my desktop", "/hardware/gpu", "RTX-3090"),
        ("my server has two A6000", "/hardware/count", 2),
        ("hay que usar QLoRA", "/method/type", "qlora"),
        ("vull entrenar 4 èpoques", "/training/epochs", 4),
        ("gradient clipping a 0,3", "/training/max_grad_norm", 0.3),
        ("lr 1e-4 not 2e-4", "/training/learning_rate", 1e-4),
        ("rows: ./support 2024/train.jsonl", "/data/source", "./support 2024/train.jsonl"),
        ("stop if 4 evaluations bring nothing better", "/training/early_stopping", 4),
    ],
)
def test_what_is_asked_for_is_applied(said: str, pointer: str, value: object) -> None:
    """Commands, wishes and statements of what the user has change their field."""
    assert {each.pointer: each.value for each in read(said, DRAFT).changes}.get(pointer) == value
