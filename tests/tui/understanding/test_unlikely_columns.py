"""Columns that a message names without asking for them, and names that are no columns."""

import pytest

from ftc.tui.understanding.doubts.unlikely_columns import is_other
from ftc.tui.understanding.reader import read
from ftc.tui.understanding.reading import Names


@pytest.mark.parametrize(
    "text",
    [
        "the previous intern had named the question column `preg` and the answer column `res`",
        "no cojas la columna borrador como respuesta",
        "a colleague mentioned two fields, `k1` and `k2`. no clue yet which one is which",
        "El Joan m'ha dit «posa la columna text_final com a resposta», però ho vull parlar abans",
        "I was going to tell you that `body` is the input, but let's leave it for Monday",
    ],
)
def test_a_reported_column_is_asked_about(text: str) -> None:
    """Nothing is set, and a column is asked about."""
    reading = read(text, {})
    assert not reading.changes
    assert reading.asked is not None
    assert reading.asked.pointer.startswith("/data/columns/")


def test_a_role_that_another_name_has_is_asked_about() -> None:
    """Of two columns that may be the prompt, the likelier one is set."""
    text = "tramits.csv: entra la columna consulta i ha de respondre la columna tramit"
    roles = {each.pointer: each.value for each in read(text, {}).changes}
    assert roles["/data/columns/prompt"] == "consulta"


@pytest.mark.parametrize(
    ("name", "other"),
    [
        *(("q5_k_m", True), ("t4", True), ("starcoder2", True), ("bge-reranker-v2-m3", True)),
        *(("lm_head", True), ("enable_thinking", True), ("learning_rate", True), ("a.csv", True)),
        *(("gpt4_answer", False), ("reply_2", False), ("prompt_text", False), ("label", False)),
    ],
)
def test_names_of_other_things(name: str, *, other: bool) -> None:
    """Types, cards, models, modules, keys and files are no columns."""
    assert is_other(name) is other


def test_a_question_about_a_list_is_no_defect() -> None:
    """A message that doubts a list and also names another setting is read without an error."""
    reading = read("targets q_proj k_proj v_proj o_proj only; rsLoRA on; dropout 0", {})
    assert {each.pointer: each.value for each in reading.changes}["/method/rslora"] is True


@pytest.mark.parametrize(
    "text",
    [
        "predict the category column from the description",
        "guess category given description",
        "que aprengui category a partir de description",
        "predice la columna category usando description",
    ],
)
def test_a_column_is_predicted_from_another_one(text: str) -> None:
    """Columns of the data have their roles from the sentence, in either order of the table."""
    names = Names(columns=("category", "ticket", "description"))
    roles = {each.pointer: each.value for each in read(text, {}, {}, names).changes}
    assert roles["/data/columns/prompt"] == "description"
    assert roles["/data/columns/completion"] == "category"


@pytest.mark.parametrize(
    "text",
    [
        "the conversations are in tools.jsonl",
        "les converses són a tools.jsonl",
        "las conversaciones están en tools.jsonl",
        "teach llama 3.1 8b to call my tools, the conversations are in tools.jsonl",
    ],
)
def test_the_name_of_a_file_is_no_column(text: str) -> None:
    """The word before its ending is a column of the file, and "call my tools" names no run."""
    changes = read(text, {}, {}, Names(columns=("messages", "tools"))).changes
    assert {each.pointer for each in changes} - {"/model/id"} == {"/data/source"}
    assert "tools.jsonl" in [each.value for each in changes]
