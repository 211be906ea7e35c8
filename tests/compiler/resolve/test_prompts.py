"""Rows with only prompts: how they are recognised, read and counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ftc.compiler.resolve.rows.example import Example, read_example
from ftc.compiler.resolve.rows.roles import Roles, make_reader
from tests.compiler.resolve.resolving import exact, known, unknown

ASKED = {"role": "user", "content": "How many books are on a shelf?"}
TOLD = {"role": "system", "content": "Answer with a number."}
SAID = {"role": "assistant", "content": "Twelve."}
SAMPLING = ("grpo", "rloo", "distill")


def write(folder: Path, *rows: Any) -> None:
    """Write one row per line."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "asked.jsonl").write_text(text, encoding="utf-8")


def number(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return twenty rows that differ in their first question."""
    text = json.dumps(row)
    return [json.loads(text.replace("a shelf", f"shelf {n}")) for n in range(20)]


@pytest.mark.parametrize(
    ("objective", "columns", "form"),
    [
        ({"type": "distill", "teacher": "./model"}, {}, "prompt"),
        ({"type": "grpo", "rewards": [{"regex": "shelf"}]}, {}, "prompt"),
        # what is sampled is compared with it, or a function may be
        ({"type": "grpo", "rewards": ["exact"]}, {}, "prompt_completion"),
        ({"type": "grpo", "rewards": [{"functions": "rewards.py"}]}, {}, "prompt_completion"),
        ({"type": "grpo", "rewards": [{"regex": "shelf"}]}, {"completion": "topic"}, None),
        ("sft", {}, "prompt_completion"),
        ("classification", {}, "prompt_completion"),
    ],
)
def test_a_label_beside_prompts_is_no_answer(
    make_spec: Any, tmp_path: Path, objective: Any, columns: dict[str, str], form: str | None
) -> None:
    """It sorts the prompts, unless answers are learned or compared, or the spec names it."""
    write(tmp_path, *number({"prompt": ASKED["content"], "topic": "maths"}))
    spec = make_spec(data={"source": "asked.jsonl", "columns": columns}, objective=objective)
    data = known(spec, tmp_path)
    expected = None if form == "prompt" else "topic"
    assert (data.form, data.completion) == (form or "prompt_completion", expected)


@pytest.mark.parametrize("objective", SAMPLING)
@pytest.mark.parametrize(
    ("row", "column"),
    [
        ({"prompt": ASKED["content"]}, "prompt"),
        ({"question": ASKED["content"], "id": 3}, "question"),
        ({"prompt": [ASKED]}, "prompt"),
        ({"prompt": json.dumps([TOLD, ASKED])}, "prompt"),
        ({"messages": [TOLD, ASKED]}, "messages"),
        ({"conversations": [ASKED, SAID, ASKED]}, "conversations"),
    ],
)
def test_prompts_alone_are_recognised(
    make_spec: Any, tmp_path: Path, objective: str, row: dict[str, Any], column: str
) -> None:
    """Rows are recognised by their columns, and conversations by their last turn."""
    write(tmp_path, *number(row))
    data = known(make_spec(data="asked.jsonl", objective={"type": objective}), tmp_path)
    assert (data.form, data.prompt, data.messages, data.completion) == (
        "prompt",
        column,
        None,
        None,
    )
    assert (data.usable_rows, data.malformed_rows, data.prompts) == (20, 0, 20)
    assert data.lengths.max == data.lengths.prompt_max
    assert data.lengths.answer_max == 0
    assert data.labels == ()


@pytest.mark.parametrize(
    ("row", "form"),
    [
        ({"messages": [ASKED], "answer": "12"}, "prompt_completion"),
        ({"prompt": [TOLD, ASKED], "answer": "12"}, "prompt_completion"),
        ({"messages": [ASKED, SAID]}, "chat"),
        ({"instruction": ASKED["content"], "output": "12"}, "instruction"),
    ],
)
def test_answers_are_read_where_there_are_any(
    make_spec: Any, tmp_path: Path, row: dict[str, Any], form: str
) -> None:
    """Rewards compare with the column beside a conversation that waits for its answer."""
    write(tmp_path, *number(row))
    data = known(make_spec(data="asked.jsonl", objective={"type": "grpo"}), tmp_path)
    assert (data.form, data.usable_rows) == (form, 20)


def test_other_objectives_need_answers(make_spec: Any, tmp_path: Path) -> None:
    """Supervised fine-tuning has nothing to learn from a prompt, and does not name another."""
    write(tmp_path, *number({"prompt": ASKED["content"]}))
    finding = unknown(make_spec(data="asked.jsonl"), tmp_path)
    assert (finding.code, finding.fix) == ("FTC206", ())


def test_a_column_of_prompts_with_another_name_is_proposed(make_spec: Any, tmp_path: Path) -> None:
    """The fix names it, and is not applied by itself."""
    write(tmp_path, *number({"task": ASKED["content"]}))
    finding = unknown(make_spec(data="asked.jsonl", objective={"type": "rloo"}), tmp_path)
    value = {"prompt": "task"}
    assert finding.fix == ({"op": "add", "path": "/data/columns", "value": value},)
    assert '"columns": {"prompt": "task"}' in finding.help


def test_the_form_makes_answers_unread(make_spec: Any, tmp_path: Path) -> None:
    """If the spec sets this form, it also applies to rows that have answers."""
    write(tmp_path, *number({"prompt": ASKED["content"], "completion": "12"}))
    data = {"source": "asked.jsonl", "form": "prompt"}
    found = known(make_spec(data=data, objective={"type": "distill", "teacher": "./m"}), tmp_path)
    assert (found.form, found.completion) == ("prompt", None)


@pytest.mark.parametrize(
    ("rows", "form", "fault"),
    [
        ([{"messages": [ASKED]}, {"messages": [ASKED, SAID]}], "auto", {"unanswered": 1}),
        ([{"prompt": "a b"}, {"prompt": [ASKED, SAID]}], "auto", {"answered": 1}),
        ([{"prompt": "a b"}, {"prompt": [TOLD]}], "auto", {"order": 1}),
        ([{"prompt": "a b"}, {"prompt": [ASKED, ASKED]}], "auto", {"order": 1}),
        ([{"prompt": "a b"}, {"prompt": {"text": "c"}}], "auto", {"not_text": 1}),
    ],
)
def test_rows_of_another_kind_are_counted(
    make_spec: Any, tmp_path: Path, rows: list[Any], form: str, fault: dict[str, int]
) -> None:
    """Each has one reason, and the others are used."""
    write(tmp_path, *rows)
    data = {"source": "asked.jsonl", "form": form}
    found = known(make_spec(data=data, objective={"type": "grpo"}), tmp_path)
    assert (found.faults, found.usable_rows) == (fault, 1)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"prompt": ""}, "have no text in `prompt`"),
        ({"prompt": []}, "have no text in `prompt`"),
        ({"prompt": None}, "have no text in `prompt`"),
        ({"prompt": [ASKED, SAID]}, "end with an answer, where a prompt alone belongs"),
    ],
)
def test_a_file_without_a_prompt_is_one_finding(
    make_spec: Any, tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    """The finding gives the reason, and says how to train on prompts alone."""
    write(tmp_path, row, row)
    finding = unknown(make_spec(data="asked.jsonl", objective={"type": "grpo"}), tmp_path)
    assert finding.code == "FTC204"
    assert said in finding.message
    assert "the prompts alone" in finding.help


def test_the_mark_of_the_answer_belongs_to_the_prompt(
    make_spec: Any, tmp_path: Path, model_folder: Path
) -> None:
    """The lengths are those of what the model continues, with or without an answer in the data."""
    del model_folder
    spec = make_spec(data="asked.jsonl", objective={"type": "grpo"})
    write(tmp_path, *number({"prompt": [ASKED]}))
    alone = exact(spec, tmp_path).lengths
    write(tmp_path, *number({"prompt": [ASKED], "completion": "12"}))
    answered = exact(spec, tmp_path).lengths
    assert alone.max == alone.prompt_max == answered.prompt_max < answered.max
    assert alone.histogram == alone.prompt_histogram == answered.prompt_histogram


_TEXTS = st.text(alphabet="ab \u00e9?", min_size=1).filter(str.strip)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(_TEXTS, min_size=1, max_size=5))
def test_a_prompt_is_all_of_its_turns(turns: list[str]) -> None:
    """A conversation is either a prompt or has an answer, by the number of its turns."""
    messages = [
        {"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(turns)
    ]
    row = {"messages": messages}
    alone = read_example(row, make_reader(Roles(form="prompt", prompt="messages")), repair=True)
    whole = read_example(row, make_reader(Roles(form="chat", messages="messages")), repair=True)
    if len(turns) % 2:
        assert isinstance(alone, Example)
        assert whole == "unanswered"
        assert (alone.prompt, alone.answer, alone.is_prompt) == (alone.turns, "", True)
    else:
        assert isinstance(whole, Example)
        assert alone == "answered"
        assert (*whole.prompt, ("assistant", whole.answer)) == whole.turns
