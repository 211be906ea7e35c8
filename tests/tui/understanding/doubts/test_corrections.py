"""Values that the same message corrects, attributes to something else, or leaves open."""

from collections.abc import Mapping
from typing import Final

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.wanted.test_licence import DRAFT

NOTHING: Final[Mapping[str, object]] = {}


def values(text: str, draft: Mapping[str, object] = DRAFT) -> dict[str, object]:
    """Return the values that a message sets."""
    return {each.pointer: each.value for each in read(text, draft).changes}


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("rank 16, no scratch that 32", "/method/rank", 32),
        ("seed 7. hold up, that one was already taken, go with 8", "/training/seed", 8),
        ("batch of 64... too much for this box, 32", "/training/global_batch", 32),
        ("the run died with a micro batch of 16, so let's go for 4", "/training/micro_batch", 4),
        ("export Q4_K_M. on reflection, rank 8... hm, 24 will do", "/method/rank", 24),
        ("rang 64... uf, massa, 16", "/method/rank", 16),
        ("llavor 11. ai no, aquesta ja la tinc feta servir, posa 12", "/training/seed", 12),
        ("max length 4096, no, sobra, amb 2048 fem", "/data/max_length", 2048),
        ("validació 20%... no, és massa, al 10", "/data/splits/validation", 0.1),
        ("semilla 99. espera que esa es la de la demo, pon 100", "/training/seed", 100),
        ("calentamiento del 10%... mucho, al 3", "/training/warmup", 0.03),
        ("rango 128... no, espera, 128 para 300 filas es una barbaridad, 8", "/method/rank", 8),
        ("800 épocas y a correr (es broma, 3 van bien)", "/training/epochs", 3),
    ],
)
def test_the_later_value_of_the_same_kind_counts(text: str, pointer: str, value: object) -> None:
    """The later value counts, whatever words stand between the two."""
    assert values(text)[pointer] == value


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("use Gemma 2 9B... ah what the hell, the 27B", "google/gemma-2-27b-it"),
        ("Salamandra 2B instruct... vinga, va, la 7B", "BSC-LT/salamandra-7b-instruct"),
        ("Qwen2.5 7B Instruct... mira, ya que estamos, el 14B", "Qwen/Qwen2.5-14B-Instruct"),
        ("Mistral 7B instruct v0.1... no, el v0.2", "mistralai/Mistral-7B-Instruct-v0.2"),
    ],
)
def test_a_part_of_a_name_takes_the_place_of_the_same_part(text: str, model: str) -> None:
    """Only the corrected part of the name changes."""
    assert values(text, NOTHING)["/model/id"] == model


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seed 1234, and use 5000 rows", {"/training/seed": 1234, "/data/max_rows": 5000}),
        (
            "3 epochs, lr 1e-4, scratch that 2e-4, rank 8",
            {"/training/epochs": 3, "/training/learning_rate": 2e-4, "/method/rank": 8},
        ),
        (
            "rank 32, and forget the old batch: 16",
            {"/method/rank": 32, "/training/global_batch": 16},
        ),
        ("usa 3 épocas, que 10 es demasiado", {"/training/epochs": 3}),
        ("rango 16... a las 5 me voy", {"/method/rank": 16}),
        ("rank 8... it took 4 hours last time", {"/method/rank": 8}),
        ("3 epochs... and 2 GPUs", {"/training/epochs": 3, "/hardware/count": 2}),
        ("Qwen2.5 14B Instruct... the 32B failed", {"/model/id": "Qwen/Qwen2.5-14B-Instruct"}),
        ("Qwen2.5 14B Instruct... I have a 3B too", {"/model/id": "Qwen/Qwen2.5-14B-Instruct"}),
        ("lr 1e-4, que 2e-4 era massa", {"/training/learning_rate": 1e-4}),
        ("deixa-ho en dues èpoques, no en cinc", {"/training/epochs": 2}),
        (
            "rank 16, the one with the good results; 3 epochs",
            {"/method/rank": 16, "/training/epochs": 3},
        ),
        ("Pon dropout 0,2... no, quita, quita, como antes.", {}),
    ],
)
def test_what_is_not_corrected_stays(text: str, expected: Mapping[str, object]) -> None:
    """Numbers of other fields, denied numbers and reasons replace no value."""
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "512 GB of RAM and scratch space in /ssd, but that's the other cluster; ours has 128",
            {"/hardware/ram_gib": 128},
        ),
        (
            "la màquina té 96 GiB de RAM, però aquesta és l'altra, la web; la d'entrenar en té 32",
            {"/hardware/ram_gib": 32},
        ),
        (
            "el portátil tiene 16 GB de RAM, pero ese no es; el de entrenar tiene 128",
            {"/hardware/ram_gib": 128},
        ),
        ("a l'article posen rang 128 i 10 èpoques, però això era amb BLOOM 7B", {}),
        ("they train with batch 256 and 10 epochs, but that was with OPT 6.7B", {}),
        ("en su blog usan 20 épocas, pero eso era con Falcon 7B; rango 16", {"/method/rank": 16}),
        ("esa es la buena: seed 1235", {"/training/seed": 1235}),
        ("aquesta no és la bona, posa llavor 12", {"/training/seed": 12}),
        ("the best one was with rank 16, so rank 16", {"/method/rank": 16}),
    ],
)
def test_what_is_disowned_sets_nothing(text: str, expected: Mapping[str, object]) -> None:
    """Every value of the previous sentence belongs to something else, including the model."""
    assert values(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I'm between Qwen2.5 7B Instruct and Llama 3.1 8B Instruct, what would you pick?",
        "estic entre una 4080 i una 3080, tu què agafaries?",
        "dudo entre una 4070 y una 3090, ¿tú qué harías?",
        "em debato entre salamandra 2b instruct i salamandra 7b instruct",
        "hesitating between a T4 and an L4. What would you do?",
    ],
)
def test_alternatives_set_nothing(text: str) -> None:
    """A question for advice between two values chooses neither."""
    assert values(text, NOTHING) == {}


def test_a_correction_leaves_a_line_of_shorthand_terse() -> None:
    """The "that" of "scratch that" is no article."""
    line = "distill Qwen2.5-32B-Instruct -> Qwen2.5-3B-Instruct"
    found = values(f"{line}, teacher nf4, T=0.9, no scratch that 0.7", NOTHING)
    assert found["/objective/teacher/quantization"] == "nf4"
    assert found["/objective/temperature"] == 0.7


@pytest.mark.parametrize(
    "text",
    [
        "In Unsloth I always had sample_packing: true and it worked",
        "please don't load the base in 4 bits",
        "no carreguis el model base a 4 bits, sisplau",
        "no cargues el modelo base en 4 bits para entrenar",
    ],
)
def test_no_learned_value_overrides_a_doubt(text: str) -> None:
    """A report sets nothing, and words about the base model set nothing of a teacher."""
    assert values(text) == {}
