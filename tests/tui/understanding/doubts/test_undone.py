"""Orders that the end of a message takes back, and those that it leaves."""

from typing import Any, Final

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.doubts.test_certainty import DRAFT

ORDERS: Final = {
    "en": [
        "seed 7",
        "let's go 5 epochs",
        "put 2 nodes on it",
        "set the learning rate to 1e-5",
        "train it in fp32",
        "switch to dora",
        "make it dpo",
        "Q6_K please",
        "use a batch of 32",
        "try Qwen3-8B instead",
        "no weight decay",
        "track with mlflow",
    ],
    "ca": [
        "posa-hi 2 nodes",
        "fem-ho en fp32",
        "llavor 7",
        "posa Q5_K_M",
        "5 èpoques",
        "puja el rang a 32",
        "sense weight decay",
        "que vagi amb mlflow",
        "taxa d'aprenentatge 1e-5",
        "fes-ho amb dpo",
        "canvia el model per Qwen3-8B",
    ],
    "es": [
        "pon 2 nodos",
        "hazlo en fp32",
        "semilla 7",
        "ponle Q5_K_M",
        "5 épocas",
        "sube el rango a 32",
        "no le pongas weight decay",
        "que vaya con mlflow",
        "tasa de aprendizaje 1e-5",
        "hazlo con dpo",
        "cambia el modelo por Qwen3-8B",
    ],
}
TAKEN_BACK: Final = {
    "en": [
        "... hmm, actually no, leave that alone till i've seen how the first run goes",
        ". hmm no, forget I said that, whatever it is now is fine",
        "... no, wait, keep it as it was",
        ". on second thought leave it how it is",
        "... nah, scratch that",
        ". oh no, sorry, that one's for the other project. leave it as it was",
        "... never mind, it's fine the way it is",
        ", no hold on, don't touch it",
        ". or rather, no, let's not change anything",
        "... eh, better not",
        ". you know what, skip it",
        "... ah no, I take that back, same as before",
        ", actually don't, I'd rather stay with what we have",
    ],
    "ca": [
        ". ai no, que l'altre és per a la Núria. deixa-ho com estava",
        "... res, res, deixa-ho tal com estava",
        ", no, calla... bah, deixa-ho tal com està",
        ". ui no, espera, no toquis res",
        "... no, millor no",
        ". bé, no, que es quedi com està",
        ". ostres no, oblida-ho",
        "... o sigui, no, ja està bé com està",
        ", no, perdona, això no ho canviïs",
        ". mira, deixa-ho córrer",
        ". no res, que m'he equivocat de projecte, queda igual",
    ],
    "es": [
        "... o sea, déjalo como está, que me da cosa tocarlo",
        "... no, espera, déjalo como estaba",
        ". ay no, que eso es para el otro proyecto, se queda igual",
        "... nada, nada, olvídalo",
        ", no, mejor no",
        ". bueno, no, que se quede como está",
        "... perdona, eso no lo toques",
        ". mira, déjalo estar",
        ", no, qué digo, no cambies nada",
        ". uy no, me he equivocado, tal y como estaba",
        "... va, da igual, lo de antes estaba bien",
    ],
}


@pytest.mark.parametrize(
    ("language", "back"), [(lang, each) for lang in ORDERS for each in TAKEN_BACK[lang]]
)
def test_an_order_that_is_taken_back_sets_nothing(language: str, back: str) -> None:
    """Whatever the order, and however it is taken back; the reason may stand between or behind."""
    assert [order for order in ORDERS[language] if read(order + back, DRAFT).changes] == []


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("rank 16, and leave the rest as it is", {"/method/rank": 16}),
        ("no, rank 16, the rest stays as it is", {"/method/rank": 16}),
        ("no packing please, and keep the seed as it is", {"/data/packing": "none"}),
        ("no, usa rango 16 y lo demás se queda como está", {"/method/rank": 16}),
        ("rang 16 i la resta deixa-la com està", {"/method/rank": 16}),
        ("hmm, actually rank 16. that's all", {"/method/rank": 16}),
        ("no, wait, 5 epochs", {"/training/epochs": 5}),
        ("ai, perdona, 5 èpoques", {"/training/epochs": 5}),
        ("Uy, perdón, semilla 7. Gracias", {"/training/seed": 7}),
    ],
)
def test_an_order_beside_what_stays_is_set(text: str, sets: dict[str, Any]) -> None:
    """What is left as it is does not undo an order that stands beside it."""
    assert {each.pointer: each.value for each in read(text, DRAFT).changes} == sets
