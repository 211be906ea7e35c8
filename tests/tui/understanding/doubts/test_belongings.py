"""Values that belong to something else: a report, another unit, one file, another list."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read

DRAFT = {
    "model": {"id": "Qwen/Qwen2.5-7B-Instruct"},
    "data": {"source": "tickets.csv"},
    "method": {"type": "lora"},
    "hardware": {"gpu": "RTX-4090", "count": 1},
}


def changes(text: str) -> dict[str, Any]:
    """Return what a message changes."""
    return {each.pointer: each.value for each in read(text, DRAFT).changes}


@pytest.mark.parametrize(
    "text",
    [
        "My boss at the shop trained his for 6 epochs, full fine-tuning, on three H100s. Too much.",
        "Mi vecina entrenó el suyo con 6 épocas, rango 64, en dos H100. Una pasada.",
    ],
)
def test_hardware_of_a_report_is_not_set(text: str) -> None:
    """Neither the GPU nor their number, if all else in the sentence is doubted."""
    assert changes(text) == {}


@pytest.mark.parametrize(
    "text", ["a global batch of 4096 tokens", "lot de 2.048 tokens", "rank 24 GB"]
)
def test_a_number_with_another_unit_is_asked_about(text: str) -> None:
    """A batch is counted in rows."""
    assert changes(text) == {}
    assert read(text, DRAFT).choices


def test_a_number_with_the_unit_of_its_field_is_set() -> None:
    """The schema says which unit that is, and a rate is not an amount of memory."""
    assert changes("max length 4096 tokens")["/data/max_length"] == 4096
    assert changes("network 400 Gb/s")["/hardware/network_gbit"] == 400


@pytest.mark.parametrize(
    "text",
    [
        "a.csv and b.jsonl (at most 700 rows)",
        "a.csv i b.jsonl, com a molt 700 files del segon",
        "a.csv y b.jsonl, solo 700 filas de ese",
    ],
)
def test_a_limit_of_one_file_stays_with_it(text: str) -> None:
    """A limit on one source does not apply to the others."""
    assert changes(text) == {"/data/sources": ["a.csv", {"source": "b.jsonl", "max_rows": 700}]}


def test_a_limit_of_all_files_is_that_of_the_data() -> None:
    """Without a word about one file, the limit applies to all rows."""
    assert changes("mix a.csv and b.jsonl, at most 700 rows")["/data/max_rows"] == 700


@pytest.mark.parametrize(
    "text", ["we've only got 400 rows, sadly", "només tenim 400 files", "solo hay 400 filas"]
)
def test_rows_that_exist_are_no_limit(text: str) -> None:
    """They say how large the data set is."""
    assert changes(text) == {}


def test_a_list_is_joined_in_one_way() -> None:
    """Numbers joined by slashes end at the comma."""
    said = changes("embedding model, matryoshka 128/64, 3 hard negs")
    assert said["/objective/matryoshka_dimensions"] == [128, 64]
    assert said["/objective/hard_negatives"] == 3


@pytest.mark.parametrize(
    "text",
    [
        "classification with class weights: fraud 9, other 2",
        "clasificación, pesos por clase fraud=9 y other=2",
        "classificació, pesos per classe: fraud 9 i other 2",
    ],
)
def test_weights_of_labels_are_listed(text: str) -> None:
    """Each label stands before its weight."""
    weights = [{"label": "fraud", "weight": 9}, {"label": "other", "weight": 2}]
    assert changes(text)["/objective/class_weights"] == weights


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("tune embeddings + lm head as well", ["embeddings", "head"]),
        ("entrena també els embeddings", ["embeddings"]),
        ("train the projector and the lm", None),
    ],
)
def test_what_is_trained_beside_adapters(text: str, also: list[str] | None) -> None:
    """The head of the language model is no part of a model of images."""
    assert changes(text).get("/method/also_train") == also


@pytest.mark.parametrize("text", ["call it bee-keeper please", "nom: bee-keeper, si us plau"])
def test_courtesy_is_no_part_of_a_name(text: str) -> None:
    """A word such as "please" is dropped."""
    assert changes(text) == {"/name": "bee-keeper"}
