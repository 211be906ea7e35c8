"""A word affects only the value that it belongs to: files, splits, rewards, sections."""

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
    "text",
    [
        "also use extra.jsonl",
        "afegeix-hi extra.jsonl",
        "train on extra.jsonl too",
        "añade además extra.jsonl",
        "there are more rows to add, they are in extra.jsonl",
        "tinc un altre fitxer, extra.jsonl, afegeix-lo també",
    ],
)
def test_a_file_is_added_in_its_own_words(text: str) -> None:
    """A file is added if the words that add stand with it, or with nothing else."""
    assert values(text)["/data/sources"] == ["tickets.csv", "extra.jsonl"]


@pytest.mark.parametrize(
    "text",
    [
        "use pairs.jsonl. Also rank 16",
        "train on pairs.jsonl, and also set rank 16",
        "les dades són a pairs.jsonl i afegeix-hi el missatge de sistema «Ets un gat.»",
        "datos en pairs.jsonl; además quiero rank 8",
        "the data is now pairs.jsonl, and add a q8_0 export",
        "les dades ja no són un csv sinó pairs.jsonl, i també vull rang 8",
    ],
)
def test_a_word_that_adds_something_else_replaces_the_data(text: str) -> None:
    """The file replaces the old one."""
    found = values(text)
    assert found["/data/source"] == "pairs.jsonl"
    assert "/data/sources" not in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("skip the test split, just hold out 8%", {"test": 0, "validation": 0.08}),
        ("reserva un 10% per veure com va l'entrenament", {"validation": 0.1}),
        ("guarda un 6% para ver cómo va; sin test", {"test": 0, "validation": 0.06}),
        ("set aside 4% so we can monitor it during training", {"validation": 0.04}),
        ("hold out 10%", {"test": 0.1}),
        ("deixa un 10% per provar-lo al final", {"test": 0.1}),
        ("aparta un 7%, lo miro al acabar", {"test": 0.07}),
        ("sin test", {"test": 0}),
        ("don't call it 'test', call it owls-v2", {}),
        ("no lo llames «test»; ponle de nombre hola-mundo", {}),
        ('no li diguis "test", digues-li mussol', {}),
    ],
)
def test_rows_are_held_out_for_what_they_are_for(text: str, expected: Mapping[str, float]) -> None:
    """Rows to watch the training are for validation; a quoted word is not a split."""
    splits = "/data/splits/"
    found = {at: value for at, value in values(text).items() if at.startswith(splits)}
    assert found == {f"{splits}{name}": value for name, value in expected.items()}


@pytest.mark.parametrize(
    ("text", "pointer", "value"),
    [
        ("rank 8; verify: 4096 toks", "/export/verify/tokens", 4096),
        ("verify: top1 0.9, 2048 tok. max length 512 tokens", "/data/max_length", 512),
        ("rows: 8192 toks", "/data/max_length", 8192),
        ("el mejor por exact match respondiendo 50 filas cada vez", "answered_rows", 50),
        ("pick the best by chrf, answering 40 rows each time", "answered_rows", 40),
        ("16 files cada vegada", "/training/global_batch", 16),
        ("32 filas cada vez", "/training/global_batch", 32),
    ],
)
def test_a_number_belongs_to_what_is_counted(text: str, pointer: str, value: int) -> None:
    """The heading of a line, or the verb before the rows, selects the field."""
    pointer = f"/training/evaluation/{pointer}" if "/" not in pointer else pointer
    assert values(text)[pointer] == value


@pytest.mark.parametrize(
    ("text", "rewards"),
    [
        ("grpo on sums.jsonl, I wrote the rewards myself: check.py", [{"functions": "check.py"}]),
        ("rloo, recompensas: las tengo en puntos.py", [{"functions": "puntos.py"}]),
        ("GRPO: recompenses de premia.py, eines de calc.py", [{"functions": "premia.py"}]),
        ("rloo reward regex ^<a>.*</a>$ data asks.jsonl", [{"regex": "^<a>.*</a>$"}]),
        (r"grpo reward regex \d{1,3}$ w 0.5, k=8", [{"regex": r"\d{1,3}$", "weight": 0.5}]),
        (r"grpo, recompensa regex ^\{.*\}$ i asks.jsonl", [{"regex": r"^\{.*\}$"}]),
        ('grpo, rewards: regex "^a b$" + numeric', [{"regex": "^a b$"}, "numeric"]),
        (
            r"grpo rewards: numeric + regex #### -?\d+$ , k=8",
            ["numeric", {"regex": r"#### -?\d+$"}],
        ),
    ],
)
def test_rewards_are_read_to_their_end(text: str, rewards: list[object]) -> None:
    """A file of functions is a reward; an unquoted pattern ends at `$` or at a space."""
    reading = read(text, NOTHING)
    told = {each.pointer: each.value for each in reading.changes}
    asked = {each.pointer: each.values for each in reading.choices}
    at = "/objective/rewards"
    assert told.get(at, *asked.get(at, (None,))) == rewards
    assert told.get("/objective/tools") in (None, "calc.py")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("do not push anything to Google, please", {}),
        ("no subas nada a Hugging Face, anda", {}),
        ("no pugis res a Hugging Face", {}),
        (
            "forget the Llama I was going to mention, we stick with Qwen but the 3B",
            {"/model/id": "Qwen/Qwen2.5-3B-Instruct"},
        ),
        (
            "olvida el Gemma que te iba a decir, seguimos con Qwen pero el de 3B",
            {"/model/id": "Qwen/Qwen2.5-3B-Instruct"},
        ),
    ],
)
def test_a_place_is_no_maker(text: str, expected: Mapping[str, object]) -> None:
    """A destination such as Hugging Face rejects no model."""
    reading = read(text, DRAFT)
    assert {each.pointer: each.value for each in reading.changes} == expected
    assert not [each for each in reading.choices if each.pointer == "/model/id"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("we want to publish it. On the hub, as acme/owls", {"/publish/repo": "acme/owls"}),
        ("lo publicaremos. En el hub, en acme/buhos", {"/publish/repo": "acme/buhos"}),
        ("ho publicarem. Al hub, com a acme/mussols", {"/publish/repo": "acme/mussols"}),
        ("train on hub data: acme/owls", {"/data/source": "acme/owls"}),
        ("rerank data/q.parquet ask=pregunta doc=pasaje", {"/data/source": "data/q.parquet"}),
        ("grpo, tools=calc.py", {"/objective/tools": "calc.py"}),
        ("tools=col utils, sdpa", {"/model/attention": "sdpa"}),
    ],
)
def test_a_name_is_of_the_kind_that_its_field_has(
    text: str, expected: Mapping[str, object]
) -> None:
    """The name behind "the hub" is a repository, and tools must be a file."""
    kinds = ("/publish/repo", "/data/source", "/objective/tools", "/objective/document_prompt")
    found = {at: value for at, value in values(text, NOTHING).items() if at in (*kinds, *expected)}
    assert found == expected


COLUMNS: Final = "/data/columns/"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "faq.csv, prompt pregunta, completion respuesta",
            {"prompt": "pregunta", "completion": "respuesta"},
        ),
        (
            "orpo prefs.csv prompt q chosen good rejected bad",
            {"prompt": "q", "chosen": "good", "rejected": "bad"},
        ),
        (
            "kto amb vots.jsonl: prompt ask, completion ans, label ok_flag",
            {"prompt": "ask", "completion": "ans", "label": "ok_flag"},
        ),
        (
            "embeddings de frases parecidas con su nota (texto_a, texto_b, nota), en sts.csv",
            {"prompt": "texto_a", "completion": "texto_b", "score": "nota"},
        ),
        (
            "the subject is in 'subj', the customer's text is in 'body' and the reply is 'ans'",
            {"prompt": "body", "completion": "ans"},
        ),
        (
            "el títol és a 'titol', el text és a 'cos' i la resposta és 'sortida'",
            {"prompt": "cos", "completion": "sortida"},
        ),
        ("use lora on the usual modules (q_proj, v_proj)", {}),
        ("the prompt is long, the completion is short", {}),
        ("el prompt és llarg i la resposta és curta", {}),
        (
            "the prompt is ask_text and the completion is short_reply",
            {"prompt": "ask_text", "completion": "short_reply"},
        ),
        ("8-bit optimizers (adamw_8bit, lion_8bit) are both fine with me", {}),
        ("use chat messages, system prompt off, rows from a.csv", {}),
    ],
)
def test_columns_of_a_list_have_their_own_roles(text: str, expected: Mapping[str, str]) -> None:
    """Columns follow the order of the list, or stand behind their roles."""
    found = {at: value for at, value in values(text, NOTHING).items() if at.startswith(COLUMNS)}
    assert found == {f"{COLUMNS}{role}": name for role, name in expected.items()}
