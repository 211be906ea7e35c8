"""Experts' lines about data, teachers, rewards and what is published, in other words each time."""

from typing import Any

import pytest

from ftc.tui.understanding.reader import read
from tests.tui.understanding.experts.test_experts import BASE, EMPTY, sets_of

RATE = "/training/learning_rate"
SOURCE = "/data/source"
SOURCES = "/data/sources"
SPLIT = "/data/split"
SUBSET = "/data/subset"
MODEL = "/model/id"
TEACHER = "/objective/teacher/id"
WIDTH = "/objective/teacher/quantization"
OBJECTIVE = "/objective/type"
REWARDS = "/objective/rewards"


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "KD from Qwen2.5-72B-Instruct (load it in nf4) into qwen2.5 7b instruct",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen2.5-72B-Instruct",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen2.5-7B-Instruct",
            },
        ),
        (
            "destil·la des de Qwen3-32B (carregat en nf4) cap a qwen3 4b",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen3-32B",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen3-4B",
            },
        ),
        (
            "KD: teacher Qwen2.5-32B-Instruct in 4 bit, student qwen2.5 1.5b",
            {
                OBJECTIVE: "distill",
                TEACHER: "Qwen/Qwen2.5-32B-Instruct",
                WIDTH: "nf4",
                MODEL: "Qwen/Qwen2.5-1.5B-Instruct",
            },
        ),
    ],
)
def test_the_model_behind_from_teaches(text: str, sets: dict[str, Any]) -> None:
    """What is said beside it of its width is its own."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            'load_dataset("acme/stack-smol", "python", split="train_v2", streaming=True)',
            {
                SOURCE: "acme/stack-smol",
                SUBSET: "python",
                SPLIT: "train_v2",
                "/data/streaming": True,
            },
        ),
        (
            "load_dataset('acme/web', name='ca', revision='v1.1')",
            {SOURCE: "acme/web", SUBSET: "ca", "/data/revision": "v1.1"},
        ),
        ("acme/gsm (config main), lr 1e-6", {SOURCE: "acme/gsm", SUBSET: "main", RATE: 1e-6}),
        ("acme/web [es], 2 epochs", {SOURCE: "acme/web", SUBSET: "es", "/training/epochs": 2}),
        (
            "acme/xats (ca, train, màxim 5k files)",
            {SOURCE: "acme/xats", SUBSET: "ca", SPLIT: "train", "/data/max_rows": 5000},
        ),
        (
            "data mix 70/30: domain.jsonl vs acme/chats (train_sft, capped at 20k rows)",
            {
                SOURCES: [
                    {"source": "domain.jsonl", "weight": 70},
                    {
                        "source": "acme/chats",
                        "weight": 30,
                        "split": "train_sft",
                        "max_rows": 20000,
                    },
                ]
            },
        ),
        (
            "mix: tickets.csv w=2 + acme/chats split=train_sft max_rows=20k w=1",
            {
                SOURCES: [
                    {"source": "tickets.csv", "weight": 2},
                    {
                        "source": "acme/chats",
                        "weight": 1,
                        "split": "train_sft",
                        "max_rows": 20000,
                    },
                ]
            },
        ),
        (
            "mezcla 80/20 de acme/chats y acme/noticias",
            {
                SOURCES: [
                    {"source": "acme/chats", "weight": 80},
                    {"source": "acme/noticias", "weight": 20},
                ]
            },
        ),
    ],
)
def test_a_data_set_of_the_hub_with_what_is_beside_it(text: str, sets: dict[str, Any]) -> None:
    """It is no model, and its split, subset and rows are its own."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "Qwen/Qwen3-8B a 3f2a9c1, i el dataset acme/parallel a la branca v1.2",
            {
                MODEL: "Qwen/Qwen3-8B",
                "/model/revision": "3f2a9c1",
                SOURCE: "acme/parallel",
                "/data/revision": "v1.2",
            },
        ),
        (
            "Qwen/Qwen3-8B rama dev, acme/web (es) commit 9b1c0de44",
            {
                MODEL: "Qwen/Qwen3-8B",
                "/model/revision": "dev",
                SOURCE: "acme/web",
                SUBSET: "es",
                "/data/revision": "9b1c0de44",
            },
        ),
        ("pin Qwen/Qwen3-8B at tag v2.0", {MODEL: "Qwen/Qwen3-8B", "/model/revision": "v2.0"}),
        ("sharegpt.json | r32", {SOURCE: "sharegpt.json", "/method/rank": 32}),
    ],
)
def test_a_revision_belongs_to_what_is_named_before(text: str, sets: dict[str, Any]) -> None:
    """A commit needs no word; a branch and a tag do."""
    assert sets_of(read(text, EMPTY)) == sets


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            "embed bge-m3 on pairs.csv (query, passage)",
            {"prompt": "query", "completion": "passage"},
        ),
        (
            "rerank amb bge-m3 / cerques.csv, cols consulta i document / 10 negatius",
            {"prompt": "consulta", "completion": "document"},
        ),
        (
            "stsb_es.csv → frase1, frase2 y la nota en puntuacion. Bi-encoder con bge-m3",
            {"prompt": "frase1", "completion": "frase2", "score": "puntuacion"},
        ),
        (
            "messages are in `conv`, function schemas in `fns`",
            {"messages": "conv", "tools": "fns"},
        ),
        (
            "los mensajes están en `hilo` y las funciones en `api`",
            {"messages": "hilo", "tools": "api"},
        ),
    ],
)
def test_lists_of_columns(text: str, columns: dict[str, str]) -> None:
    """Each name has one role; none is taken twice."""
    found = sets_of(read(text, EMPTY))
    own = {at.rpartition("/")[2]: name for at, name in found.items() if at.startswith("/data/col")}
    assert own == columns


@pytest.mark.parametrize("text", ["faq.csv, salida en q8_0", "faq.csv, output in q5_k_m"])
def test_a_quantization_type_is_no_column(text: str) -> None:
    """An output word beside it tells what is exported."""
    found = sets_of(read(text, EMPTY))
    assert set(found) == {SOURCE, "/export/types"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Tune LM and projector, tower stays frozen", ["language_model", "projector"]),
        ("entrena projector i torre de visió, LM congelat", ["projector", "vision_tower"]),
        (
            "entrena el proyector y la torre de visión, el LM se queda congelado",
            ["projector", "vision_tower"],
        ),
        ("qwen2.5-vl-7b, LM + projector trained", ["language_model", "projector"]),
    ],
)
def test_a_frozen_part_is_none_of_the_trained(text: str, parts: list[str]) -> None:
    """What stands behind the last comma is not trained."""
    assert sets_of(read(text, EMPTY))["/method/parts"] == parts


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        (
            "push_to_hub acme-ml/triage-7b as a public repo - apache-2.0, adapter + gguf only",
            {
                "/publish/repo": "acme-ml/triage-7b",
                "/publish/licence": "apache-2.0",
                "/publish/what": ["adapter", "gguf"],
                "/publish/private": False,
            },
        ),
        (
            "puja-ho al hub com a acme/bot: només el model fusionat",
            {"/publish/repo": "acme/bot", "/publish/what": ["merged"]},
        ),
        (
            "push_to_hub uab-nlp/notaris-7b, nom\u00e9s adapter, llic cc-by-nc-4.0, p\u00fablic",
            {
                "/publish/repo": "uab-nlp/notaris-7b",
                "/publish/what": ["adapter"],
                "/publish/licence": "cc-by-nc-4.0",
                "/publish/private": False,
            },
        ),
        (
            "quiero tb el adapter en un gguf aparte",
            {"/export/adapter": True},
        ),
        ("give me the adapter as its own gguf", {"/export/adapter": True}),
    ],
)
def test_what_is_published(text: str, sets: dict[str, Any]) -> None:
    """A list beside a repository is what goes there, and no export."""
    assert sets_of(read(text, BASE)) == sets


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        (
            "rloo, rewards.py: correctness (weight 1) and brevity (0.1)",
            [
                {"functions": "rewards.py", "names": ["correctness"]},
                {"functions": "rewards.py", "names": ["brevity"], "weight": 0.1},
            ],
        ),
        (
            "grpo con recompensas.py: es_correcto, es_breve",
            [{"functions": "recompensas.py", "names": ["es_correcto", "es_breve"]}],
        ),
        (
            "grpo, numeric reward plus 0.2 for matching the regex #### -?\\d+$ , lr 1e-6",
            ["numeric", {"regex": "#### -?\\d+$", "weight": 0.2}],
        ),
    ],
)
def test_rewards_of_a_file_and_of_a_pattern(text: str, rewards: list[Any]) -> None:
    """Each function has its own weight; the question mark of a pattern asks nothing."""
    found = sets_of(read(text, EMPTY))
    assert found[REWARDS] == rewards
    assert not found.keys() & {"/objective/tools", "/training/weight_decay", "/data/columns/prompt"}


@pytest.mark.parametrize(
    ("text", "sets"),
    [
        ("mask everything except the final assistant turn", {"/objective/loss_on": "last_turn"}),
        ("la pérdida solo en la última respuesta", {"/objective/loss_on": "last_turn"}),
        ("emmascara-ho tot menys l'últim torn", {"/objective/loss_on": "last_turn"}),
        (
            "the dupes are oversampled on purpose so keep em",
            {"/data/cleaning/drop_duplicates": False},
        ),
        ("els duplicats són volguts, deixa'ls", {"/data/cleaning/drop_duplicates": False}),
        ("no em reparis l'encoding", {"/data/cleaning/repair_encoding": False}),
        ("CoT in the rows gets stripped", {"/data/reasoning": "strip"}),
        ("el raonament s'ha de llegir però no aprendre", {"/data/reasoning": "mask"}),
        ("mask the chain of thought", {"/data/reasoning": "mask"}),
        ("la foto es una URL, permite bajarlas", {"/data/allow_download": True}),
        ("it has no extension but it's parquet", {"/data/format": "parquet"}),
    ],
)
def test_what_happens_to_the_rows(text: str, sets: dict[str, Any]) -> None:
    """Prose about rare fields is read in three languages."""
    assert sets_of(read(text, BASE)) == sets
