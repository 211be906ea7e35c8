"""Conversations through `ftc compile` and `prepare.py`: which answers are trained on."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check, mask_rows
from tests.end_to_end.data.forms import (
    ANSWER,
    END,
    MOJIBAKE,
    NOT_LEARNED,
    QUESTION,
    ROWS,
    Prepare,
    hold_counts,
    runs,
    write_lines,
)

pytestmark = pytest.mark.prove

TOOLS_TEMPLATE = (
    "{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}"
    "{{ '<|' + m.role + '|>' + (m.content or '') }}{% for call in m.tool_calls or [] %}"
    "[{{ call.function.name }} {{ call.function.arguments | tojson }}]{% endfor %}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
REASONING_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' }}"
    "{% if m.role == 'assistant' and loop.last %}(thought){% endif %}{{ m.content }}"
    "{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def chat(number: int) -> dict[str, Any]:
    """Return a conversation of a system message and two turns each."""
    turns = [
        ("system", "be brief"),
        ("user", QUESTION.format(number)),
        ("assistant", ANSWER.format(number)),
        ("user", "thanks"),
        ("assistant", f"bye {number}"),
    ]
    return {"messages": [{"role": role, "content": text} for role, text in turns]}


def test_chat(prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]) -> None:
    """Of a conversation with several turns every answer and its end is learned, nothing else."""
    faults: list[object] = [
        chat(1),
        {"messages": []},
        {"messages": [{"role": "user", "content": "nobody answers"}]},
        {"messages": ["no message"]},
        {"messages": [{"role": ["user"], "content": "x"}, {"role": "assistant", "content": "y"}]},
        {"messages": 7},
        {"messages": [{"role": "user", "content": MOJIBAKE}, {"from": "gpt", "value": "yes"}]},
        "{broken",
        "[1, 2]",
    ]
    write_lines(tmp_path / "chats.jsonl", [*map(chat, range(ROWS)), *faults])

    prepared = prepare("chats.jsonl")

    hold_counts(prepared)
    assert prepared.facts["malformed_rows"] == 6
    long = [row for row in prepared.rows if len(row["messages"]) == 5]
    assert len(long) == ROWS
    for row in long:
        number = re.findall(r"\d+", row["messages"][1]["content"])[0]
        learned = [pieces(ids) for is_learned, ids in runs(row) if is_learned]
        assert learned == [ANSWER.format(number) + END, f"bye {number}{END}"]
        assert pieces(row["input_ids"]).startswith("<s><|system|> be brief<|user|> where is")


def test_chat_with_everything_learned(prepare: Prepare, tmp_path: Path) -> None:
    """With `loss_on` all, no token is left out."""
    write_lines(tmp_path / "chats.jsonl", [chat(number) for number in range(ROWS)])

    prepared = prepare("chats.jsonl", objective={"type": "sft", "loss_on": "all"})

    hold_counts(prepared)
    assert all(row["labels"] == row["input_ids"] for row in prepared.rows)


def weighed(number: int) -> dict[str, Any]:
    """Return a conversation of three answers, of which the first and the last are excluded."""
    first, second = chat(number)["messages"], chat(number + 100)["messages"][1:3]
    first[2]["weight"], first[4]["weight"] = 0, 1
    second[1]["weight"] = 0
    return {"messages": [*first, *second]}


@pytest.mark.parametrize("loss_on", ["completion", "all"])
def test_answers_with_the_weight_0(
    loss_on: str, prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """They are read and not learned; a conversation ends with its last answer that is learned."""
    nothing = {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    }
    nothing["messages"][1]["weight"] = 0  # type: ignore[assignment]
    write_lines(tmp_path / "chats.jsonl", [*map(weighed, range(ROWS)), nothing])

    prepared = prepare("chats.jsonl", objective={"type": "sft", "loss_on": loss_on})

    hold_counts(prepared)
    assert prepared.facts["faults"] == {"unlearned": 1}
    for row in prepared.rows:
        assert [set(message) for message in row["messages"]] == [{"role", "content"}] * 5
        number = re.findall(r"\d+", row["messages"][1]["content"])[0]
        learned = [pieces(ids) for is_learned, ids in runs(row) if is_learned]
        read = [pieces(ids) for is_learned, ids in runs(row) if not is_learned]
        if loss_on == "all":
            assert read == [ANSWER.format(number) + END]
        else:
            assert learned == [f"bye {number}{END}"]
        assert row["answer"] == f"bye {number}"
    masked = mask_rows(check(str(tmp_path / "spec.json")), ROWS)
    assert masked is not None
    assert {(row.tokens, row.learned) for row in masked} == {
        (len(row["labels"]), sum(label != NOT_LEARNED for label in row["labels"]))
        for row in prepared.rows
    }


def test_calls_of_tools(prepare: Prepare, tmp_path: Path) -> None:
    """What an assistant calls is learned as what it says is, by the tokens that ftc marks too."""
    tool = {"type": "function", "function": {"name": "track", "parameters": {"type": "object"}}}
    rows: list[object] = []
    for n in range(ROWS):
        called = {"name": "track", "arguments": json.dumps({"parcel": n})}
        call = {"role": "assistant", "content": None, "tool_calls": [{"function": called}]}
        turns = [
            {"role": "user", "content": QUESTION.format(n)},
            call if n % 2 else call | {"content": "let me look"},
            {"role": "tool", "content": f"depot {n}"},
            {"role": "assistant", "content": ANSWER.format(n)},
        ]
        turns = turns if n % 3 else turns[:2]
        rows.append({"messages": turns, "tools": [tool] if n % 4 else json.dumps([tool])})
    rows.append({"messages": turns, "tools": "{broken"})
    rows.append({"messages": [turns[0], call | {"tool_calls": [{"function": {}}]}]})
    write_lines(tmp_path / "chats.jsonl", rows)
    (tmp_path / "tools.jinja").write_text(TOOLS_TEMPLATE, encoding="utf-8")
    model = {"id": "./model", "chat_template": "tools.jinja"}

    prepared = prepare("chats.jsonl", model=model)

    hold_counts(prepared)
    assert (prepared.facts["tools"], prepared.facts["malformed_rows"]) == ("tools", 2)
    assert any(row["answer"] == '[track {"parcel": 3}]' for row in prepared.rows)
    masked = mask_rows(check(str(tmp_path / "spec.json")), len(rows))
    assert masked is not None
    counted = {(row.tokens, row.learned) for row in masked}
    assert counted == {
        (len(row["labels"]), sum(label != NOT_LEARNED for label in row["labels"]))
        for row in prepared.rows
    }


def test_answers_that_are_rewritten(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """Where the template changes earlier answers, these are read, and the last one is learned."""
    write_lines(tmp_path / "chats.jsonl", [chat(number) for number in range(ROWS)])
    (tmp_path / "own.jinja").write_text(REASONING_TEMPLATE, encoding="utf-8")

    prepared = prepare("chats.jsonl", model={"id": "./model", "chat_template": "own.jinja"})

    hold_counts(prepared)
    for row in prepared.rows:
        learned = [pieces(ids) for is_learned, ids in runs(row) if is_learned]
        number = re.findall(r"\d+", row["messages"][1]["content"])[0]
        assert learned == [f"(thought)bye {number}{END}"]


def test_parquet(prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]) -> None:
    """A Parquet file with nulls and a nested messages column gives the same rows as JSON Lines."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").Table.from_pylist(
        [*map(chat, range(ROWS)), chat(4), {"messages": None}]
    )
    parquet.write_table(table, tmp_path / "chats.parquet")

    prepared = prepare("chats.parquet")

    hold_counts(prepared)
    assert (prepared.facts["blank_rows"], prepared.facts["duplicate_rows"]) == (1, 1)
    row = next(row for row in prepared.rows if row["messages"][4]["content"] == "bye 4")
    assert [pieces(ids) for learned, ids in runs(row) if learned][1] == f"bye 4{END}"


def test_nested_parquet(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """Lists of structs are conversations; a key that other messages lack is null in them."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = {"role": pyarrow.string(), "content": pyarrow.large_string()}
    message = pyarrow.struct([*texts.items(), ("weight", pyarrow.int8())])
    chats = [chat(number)["messages"] for number in range(ROWS)]
    for messages in chats:
        messages[2]["weight"] = 0
    columns = {
        "messages": pyarrow.array(chats, pyarrow.large_list(message)),
        "tags": pyarrow.array([["a", "b"]] * ROWS, pyarrow.list_(pyarrow.string())),
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "chats.parquet")

    prepared = prepare("chats.parquet")

    hold_counts(prepared)
    assert prepared.facts["usable_rows"] == ROWS
    for row in prepared.rows:
        number = re.findall(r"\d+", row["messages"][1]["content"])[0]
        learned = [pieces(ids) for is_learned, ids in runs(row) if is_learned]
        assert learned == [f"bye {number}{END}"]
