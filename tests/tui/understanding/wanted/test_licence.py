"""Reports, hopes, quotes and complaints set nothing; requests in any words around a value do."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.tui.understanding.reader import read

DRAFT: dict[str, Any] = {
    "name": "x",
    "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
    "data": {"source": "tickets.csv"},
    "hardware": {"gpu": "RTX-4090"},
    "method": {"type": "lora"},
    "export": {"types": ["Q4_K_M"]},
}
REPORTS = json.loads((Path(__file__).parent / "reports.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("text", [text for said in REPORTS.values() for text in said])
def test_what_is_no_request_sets_nothing(text: str) -> None:
    """At most it leads to a question."""
    assert read(text, DRAFT).changes == ()


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("could you please go with a rank of 64 for the adapter?", "/method/rank", 64),
        ("oh and train it for 5 epochs in total", "/training/epochs", 5),
        ("we have access to a box with two 3090s at the lab", "/hardware/gpu", "RTX-3090"),
        ("posa-hi un rang de 64, sisplau", "/method/rank", 64),
        ("voldria entrenar-lo durant 5 èpoques", "/training/epochs", 5),
        ("a la feina tenim una màquina amb dues 3090", "/hardware/gpu", "RTX-3090"),
        ("ponle un rango de 64 al adaptador", "/method/rank", 64),
        ("quisiera entrenarlo durante 5 épocas", "/training/epochs", 5),
        ("classify customer complaints with a small qwen on a 3090", "/hardware/gpu", "RTX-3090"),
        ("I want to summarise meeting notes with rank 64", "/method/rank", 64),
        ("quiero que responda a los clientes en una 3090", "/hardware/gpu", "RTX-3090"),
        ("vull classificar queixes de veïns amb rang 64", "/method/rank", 64),
        ("gradient clipping a 0,3", "/training/max_grad_norm", 0.3),
        ("lr 1e-4 not 2e-4", "/training/learning_rate", 1e-4),
        ("dale tres vueltas enteras, pero si ves que empeora para", "/training/early_stopping", 3),
        ("vull que es guardi cada 50 passos", "/training/evaluation/every_steps", 50),
        ("run it on a kaggle notebook with two T4s", "/hardware/gpu", "T4"),
        ("en el curro tengo un servidor con dos 3090", "/hardware/gpu", "RTX-3090"),
        ("que pare tras 800 pasos, me da igual", "/training/max_steps", 800),
        ("Millor que sigui QLoRA, que si no no m'hi cap", "/method/type", "qlora"),
        ("ugh, forty-two is a boring seed, put 1337", "/training/seed", 1337),
        ("Tres èpoques... no, calla, que siguin dues.", "/training/epochs", 2),
        ("¿Y si ponemos Adafactor? Venga, ponlo.", "/training/optimizer", "adafactor"),
        ("un poquito de dropout, un 10 %", "/method/dropout", 0.1),
    ],
)
def test_a_request_is_set(text: str, pointer: str, value: object) -> None:
    """Words of wanting, setting, owning, and courtesy are no reason to ask."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes}.get(pointer) == value


def test_a_value_after_and_belongs_to_the_words_before_it() -> None:
    """The second value has no words of its own."""
    reading = read("the previous run took 3 epochs and zero2", DRAFT)
    assert reading.changes == ()
    assert {each.pointer for each in reading.choices} == {
        "/training/epochs",
        "/distribution/strategy",
    }
