"""What a message makes doubtful is asked about; what it states is set."""

from typing import Any

import pytest

from ftc.tui.understanding.fields.hinted import find_wished
from ftc.tui.understanding.reader import read

DRAFT = {"model": {"id": "Qwen/Qwen2.5-7B-Instruct"}, "data": {"source": "tickets.csv"}}


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("if it doesn't fit use qlora", "/method/type"),
        ("I tried 3 epochs last time", "/training/epochs"),
        ("entre 3 y 5 \u00e9pocas", "/training/epochs"),
        ("com a m\u00ednim 4 \u00e8poques", "/training/epochs"),
        ("an A100 or an H100", "/hardware/gpu"),
        ("wandb is down today", "/tracking/type"),
        ("the answers are about 300 tokens", "/data/max_length"),
        ("lower the learning rate", "/training/learning_rate"),
        ("a 4090 with 48 GB", "/hardware/gpu"),
        ("16 H100 on two nodes", "/hardware/count"),
        ("use the validation set in val.jsonl", "/data/source"),
        ("l'aprenentatge una mica m\u00e9s lent", "/training/learning_rate"),
    ],
)
def test_a_doubtful_value_is_asked_about(text: str, pointer: str) -> None:
    """It is not set, and the question is about its field."""
    reading = read(text, DRAFT)
    assert pointer not in {change.pointer for change in reading.changes}
    assert reading.asked is not None
    assert reading.asked.pointer == pointer


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("rank 32, sorry, 64", {"/method/rank": 64}),
        ("perdona, rang 32 no, 64", {"/method/rank": 64}),
        ("change the rank from 16 to 32", {"/method/rank": 32}),
        ("drop the learning rate to 1e-4", {"/training/learning_rate": 1e-4}),
        ("freeze the first 20 layers", {"/method/type": "freeze", "/method/layers": 8}),
        ("turn thinking off", {"/data/template_options": {"enable_thinking": False}}),
        ("slurm, partition gpu, 12 hours", {"type": "slurm", "partition": "gpu", "hours": 12}),
        ("seed 1234... no wait, leave the seed. batch 16", {"/training/global_batch": 16}),
        ("rang 32, no, deixa-ho", {}),
        ("la columna text \u00e9s la resposta... no, espera, text \u00e9s una altra cosa", {}),
        ("rank 64, alpha double the rank", {"/method/rank": 64, "/method/alpha": 128}),
        ("rango 64 y alpha la mitad de eso", {"/method/rank": 64, "/method/alpha": 32}),
        ("1.5 dollars per half hour", {"/hardware/price_per_hour": 3}),
        ("mig euro cada mitja hora", {"/hardware/price_per_hour": 1}),
        ("an A100, the 80 GB one", {"/hardware/gpu": "A100-SXM4-80GB"}),
        ("els repetits, deixa'ls", {"/data/cleaning/drop_duplicates": False}),
        ("an H100, 2 epochs", {"/hardware/gpu": "H100-SXM5-80GB", "/training/epochs": 2}),
        ("call it my-bot and use rank 8", {"/name": "my-bot", "/method/rank": 8}),
        ("call it salt and pepper", {"/name": "salt-and-pepper"}),
        ("usa 2 de las 4 tarjetas", {"/hardware/count": 2}),
        ("truncate to 512", {"/data/max_length": 512, "/data/cleaning/overlong": "truncate"}),
        ("80/10/10 split", {"/data/splits/validation": 0.1, "/data/splits/test": 0.1}),
        ("my dataset has 12 columns and 50k rows", {}),
        ("I have about 800 of them", {}),
    ],
)
def test_a_plain_value_is_set(text: str, sets: dict[str, Any]) -> None:
    """Corrections, ranges from one value to another, layers, launchers; no facts."""
    found = {change.pointer: change.value for change in read(text, DRAFT).changes}
    assert found == {key if key[0] == "/" else f"/launch/{key}": sets[key] for key in sets}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("alpha the same as the rank", {"/method/alpha": 16}),
        ("l'alpha al doble del rang", {"/method/alpha": 32}),
        ("the rank four times bigger", {"/method/rank": 64}),
        ("lr a fifth of what it is", {"/training/learning_rate": 4e-5}),
        ("keep the learning rate, double the batch", {"/training/global_batch": 32}),
        ("el doble de temperatura", {"/objective/temperature": 1.4}),
    ],
)
def test_a_value_may_be_relative(text: str, sets: dict[str, float]) -> None:
    """It is a multiple of the plan's value of the same field or of another one."""
    planned = {
        "/method/rank": 16,
        "/objective/temperature": 0.7,
        "/training/global_batch": 16,
        "/training/learning_rate": 2e-4,
    }
    found = {each.pointer: each.value for each in read(text, DRAFT, planned).changes}
    assert found == pytest.approx(sets)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("the 8-bit one too", ["Q4_K_M", "Q8_0"]),
        ("afegeix el de 8 bits", ["Q4_K_M", "Q8_0"]),
        ("quita el Q4_K_M", []),
        ("also load the model in 8 bits", None),
    ],
)
def test_the_list_of_types_is_changed(text: str, types: list[str] | None) -> None:
    """Types are added to those of the draft, or removed from them."""
    found = read(text, {**DRAFT, "export": {"types": ["Q4_K_M"]}}).changes
    assert {each.pointer: each.value for each in found}.get("/export/types") == types


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("the fraud ones are super rare", "/objective/class_weights"),
        ("un fichero m\u00e1s ligero, por favor", "/export/types"),
        ("que vagi mica en mica", "/training/learning_rate"),
        ("mejor que cambie poquito a poco", "/training/learning_rate"),
    ],
)
def test_a_plain_wish_hints_at_a_field(text: str, pointer: str) -> None:
    """It names no field: nothing is read, and the field is asked about."""
    reading = read(text, DRAFT)
    found = find_wished(text)
    assert reading.changes == ()
    assert found is not None
    assert found.pointer == pointer
    assert found.values == ()
    assert find_wished("the weather is nice") is None


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("the small model that can chat", {}),
        ("my rows are chats", {"/data/form": "chat"}),
        ("rank 8 is the sweet spot", {"/method/rank": 8}),
        ("kl 0.02", {"/objective/beta": 0.02}),
        ("max kl divergence 0.1", {"/export/verify/max_divergence": 0.1}),
    ],
)
def test_a_word_is_read_with_its_neighbours(text: str, sets: dict[str, Any]) -> None:
    """A word that names a field or a value elsewhere sets nothing beside other words."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes} == sets
