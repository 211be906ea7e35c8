"""Quotations, conditions, what others did and plans for some day set nothing; demands beside do."""

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.wanted.test_licence import DRAFT


@pytest.mark.parametrize(
    "text",
    [
        'the wiki says "train with rank 128 and dropout 0.2" and that is all I know',
        "a la guia hi posa «amb 10 èpoques i lr 1e-5 n'hi ha prou»",
        "once the new cluster arrives we will use 16 H100",
        "algun dia tindrem quatre 4090",
        "el año que viene pondremos 8 H100",
        "if the loss explodes then lr 1e-5",
        "si el modelo se queda corto, rank 128",
        "mi profesora entrenó el suyo con 20 épocas y rango 256",
        "la meva cap va entrenar el seu amb 20 èpoques i rang 256",
        "the other team trained theirs with rank 256 and 20 epochs",
        "whatever that forum with lr 5e-3 says, I am not convinced",
        "minus four epochs",
        "rang -8",
    ],
)
def test_hearsay_sets_nothing(text: str) -> None:
    """At most it leads to a question."""
    assert read(text, DRAFT).changes == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('the wiki says "train with rank 128 and pray", use rank 16', {"/method/rank": 16}),
        ("anything but wandb, log to mlflow", {"/tracking/type": "mlflow"}),
        ("¿Y si ponemos 4 épocas? Venga, ponlas.", {"/training/epochs": 4}),
        ("stop if it does not improve 4 times", {"/training/early_stopping": 4}),
        ("4 èpoques, no 6", {"/training/epochs": 4}),
        ("batch of 8, sorry, I mean 4 per GPU", {"/training/micro_batch": 4}),
        ("rank 32... hmm no, half of that", {"/method/rank": 16}),
        ("not rank 8, I said 24", {"/method/rank": 24}),
        ("better adafactor than lion", {"/training/optimizer": "adafactor"}),
        ("els duplicats treu-los no, deixa'ls", {"/data/cleaning/drop_duplicates": False}),
    ],
)
def test_a_demand_beside_it_is_set(text: str, expected: dict[str, object]) -> None:
    """A demand behind the hearsay counts, and so does a value that corrects another one."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes} == expected


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("20% for testing and half of that for validation", "/data/splits/validation", 0.1),
        ("un 10% per validar i el mateix per provar", "/data/splits/test", 0.1),
        ("la hora de gpu me sale a 2,40 €", "/hardware/price_per_hour", 2.4),
        ("the machine costs two and a half euros an hour", "/hardware/price_per_hour", 2.5),
        ("colab gratis", "/hardware/gpu", "T4"),
        ("slurm -p long -A bio7", "/launch/account", "bio7"),
        ("release it under an MIT license", "/publish/licence", "mit"),
        ("two passes and rank 8", "/training/epochs", 2),
        ("warmup none", "/training/warmup", 0),
        ("no gradient clipping", "/training/max_grad_norm", 0),
        ("column of input body and of output reply", "/data/columns/completion", "reply"),
        ("train on choir letters.csv", "/data/source", "choir letters.csv"),
        ("el rate a tres e menys cinc", "/training/learning_rate", 3e-5),
    ],
)
def test_what_people_leave_out(text: str, pointer: str, value: object) -> None:
    """Shares, prices, columns and file names are read from casual phrasing."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes}.get(pointer) == value
