"""Every form of data through `ftc compile` and `prepare.py`: what is counted, split and learned.

Each file has the blemishes that its form can have, and the counts of the script must be those
that ftc found when it compiled.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import check, mask_rows
from tests.end_to_end.process import Ended, compile_spec, read_json, read_rows, run, write_json

pytestmark = pytest.mark.prove

NOT_LEARNED = -100
END = "</s>"
QUESTION = "where is my parcel number {}?"
ANSWER = "the parcel {} is on its way"
MOJIBAKE = "the café is open".encode().decode("cp1252")
ROWS = 60
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
COUNTS = {
    "blank": "blank_rows",
    "duplicate": "duplicate_rows",
    "malformed": "malformed_rows",
    "repaired": "misencoded_rows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A bundle whose data are prepared, and the facts that ftc compiled it from."""

    bundle: Path
    report: Mapping[str, Any]
    facts: Mapping[str, Any]
    decisions: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all splits."""
        files = sorted((self.bundle / "run/data").glob("*.jsonl"))
        return [row for file in files for row in read_rows(file)]


Prepare = Callable[..., Prepared]


@pytest.fixture
def prepare(tmp_path: Path, model: Path) -> Prepare:
    """Return a function that compiles a spec on a data file, and runs `prepare.py`."""

    def compile_and_run(data: str | Mapping[str, Any], **sections: Any) -> Prepared:
        (tmp_path / "model").symlink_to(model)
        spec = {"name": "forms", "model": "./model", "data": data, "hardware": "cpu", **sections}
        bundle = compile_spec(tmp_path, spec)
        ended = run("python", "prepare.py", cwd=bundle)
        assert ended.code == 0, ended.said
        lock = read_json(bundle / "ftc.lock.json")
        return Prepared(
            bundle=bundle,
            report=read_json(bundle / "run/data/report.json"),
            facts=lock["facts"]["data"],
            decisions=lock["decisions"],
        )

    return compile_and_run


@pytest.fixture(scope="module")
def pieces(model: Path) -> Callable[[Sequence[int]], str]:
    """Return a function that writes tokens as the text that they stand for."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)

    def decode(ids: Sequence[int]) -> str:
        return str(tokenizer.decode(ids, clean_up_tokenization_spaces=False))

    return decode


def runs(row: Mapping[str, Any]) -> list[tuple[bool, list[int]]]:
    """Cut a row where it begins or ceases to be learned: (learned, its tokens)."""
    parts: list[tuple[bool, list[int]]] = []
    for token, label in zip(row["input_ids"], row["labels"], strict=True):
        learned = label != NOT_LEARNED
        assert not learned or label == token
        if not parts or parts[-1][0] != learned:
            parts.append((learned, []))
        parts[-1][1].append(token)
    return parts


def hold_counts(prepared: Prepared) -> None:
    """Assert that script and compiler counted the same, and that the splits are as planned."""
    report, facts = prepared.report, prepared.facts
    counted = {name: report["changes"].get(name, 0) for name in COUNTS}
    assert counted == {name: facts[fact] for name, fact in COUNTS.items()}
    assert report["rows_read"] == facts["rows"]
    assert report["rows_used"] == facts["usable_rows"] == sum(report["splits"].values())
    for split, rows in report["splits"].items():
        assert abs(rows - prepared.decisions[f"{split}_rows"]["value"]) <= 1, split


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


def write_lines(path: Path, rows: Sequence[object]) -> None:
    """Write JSON rows as lines; a string is written as it stands."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


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


def test_instruction(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """The input stands below its instruction, and only the output is learned."""
    rows: list[dict[str, Any]] = [
        {"instruction": f"answer {n}", "input": f"parcel {n}" if n % 2 else "", "output": f"ok {n}"}
        for n in range(ROWS)
    ]
    faults = [
        rows[0],
        {"instruction": " ", "input": "alone", "output": "x"},
        {"instruction": "nothing comes", "input": None, "output": ""},
        {"instruction": "a list", "input": "", "output": ["x"]},
        {"instruction": MOJIBAKE, "input": "", "output": 12},
    ]
    write_json(tmp_path / "tasks.json", {"data": [*rows, *faults]})

    prepared = prepare("tasks.json")

    hold_counts(prepared)
    assert (prepared.facts["blank_rows"], prepared.facts["malformed_rows"]) == (2, 1)
    texts = {pieces(runs(row)[0][1]): pieces(runs(row)[1][1]) for row in prepared.rows}
    assert texts["<s><|user|> answer 2<|assistant|>"] == f"ok 2{END}"
    assert texts["<s><|user|> answer 3\n\nparcel 3<|assistant|>"] == f"ok 3{END}"
    assert texts["<s><|user|> the café is open<|assistant|>"] == f"12{END}"


def test_plain_text(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """A document is learned from its first token to its end."""
    rows = [{"text": f"  the story of parcel {n}  "} for n in range(ROWS)]
    faults: list[object] = [rows[3], {"text": ""}, {"text": {"a": 1}}, {"text": MOJIBAKE}]
    write_lines(tmp_path / "stories.jsonl", [*rows, *faults])

    prepared = prepare("stories.jsonl")

    hold_counts(prepared)
    assert prepared.facts["form"] == "text"
    for row in prepared.rows:
        assert row["labels"][-1] == row["input_ids"][-1]
        assert pieces(row["input_ids"]).endswith(END)
        assert [learned for learned, _ in runs(row)] in ([True], [False, True])
        assert len(runs(row)[0][1]) == 1 or runs(row)[0][0]
    assert any("the story of parcel 7" in pieces(row["input_ids"]) for row in prepared.rows)


def turns(*texts: str) -> list[dict[str, str]]:
    """Return messages of a user and an assistant in turns."""
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


def test_preferences(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]
) -> None:
    """Pairs come as texts, as lists with or without the prompt, and as transcripts."""
    rows: list[dict[str, Any]] = []
    for n in range(ROWS):
        asked, good, bad = QUESTION.format(n), ANSWER.format(n), f"no idea about {n}"
        said = f"\n\nHuman: {asked}\n\nAssistant: "
        shapes: list[dict[str, Any]] = [
            {"prompt": asked, "chosen": good, "rejected": bad},
            {"prompt": turns(asked), "chosen": turns("", good)[1:], "rejected": bad},
            {"prompt": asked, "chosen": turns(asked, good), "rejected": turns(asked, bad)},
            {"prompt": "", "chosen": said + good, "rejected": said + bad},
        ]
        rows.append(shapes[n % 4])
    faults: list[object] = [
        rows[0],
        {"prompt": "the same twice?", "chosen": "yes", "rejected": " yes "},
        {"prompt": "", "chosen": turns("a?", "yes"), "rejected": turns("b?", "no")},
        {"prompt": "", "chosen": "yes", "rejected": "no"},
        {"prompt": "nothing comes", "chosen": "yes", "rejected": None},
        {"prompt": "who?", "chosen": turns("a?"), "rejected": "no"},
        {"prompt": MOJIBAKE, "chosen": "yes", "rejected": "no"},
    ]
    write_lines(tmp_path / "pairs.jsonl", [*rows, *faults])

    prepared = prepare("pairs.jsonl", objective="dpo")

    hold_counts(prepared)
    facts = prepared.facts
    assert facts["form"] == "preference"
    assert facts["faults"] == {"same_answers": 1, "two_prompts": 1, "unanswered": 1}
    assert (facts["blank_rows"], facts["duplicate_rows"]) == (2, 1)
    seen = set()
    for row in prepared.rows:
        begin = len(row["input_ids"]) - len(row["chosen_ids"])
        assert row["labels"] == [NOT_LEARNED] * begin + row["chosen_ids"]
        asked = pieces(row["input_ids"][:begin])
        answers = pieces(row["chosen_ids"]), pieces(row["rejected_ids"])
        seen.add((asked, *answers))
    for n in range(4):
        asked = f"<s><|user|> {QUESTION.format(n)}<|assistant|>"
        assert (asked, ANSWER.format(n) + END, f"no idea about {n}{END}") in seen


def test_feedback(prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]) -> None:
    """An answer and its verdict, as texts and as messages; a label in many words."""
    words = (True, "yes", 1, "up", False, "no", 0, "bad")
    rows: list[dict[str, Any]] = []
    for n in range(ROWS):
        asked, answer, label = QUESTION.format(n), ANSWER.format(n), words[n % 8]
        whole = {"prompt": turns(asked), "completion": turns("", answer)[1:], "label": label}
        rows.append(whole if n % 2 else {"prompt": asked, "completion": answer, "label": label})
    faults: list[object] = [
        rows[5],
        {"prompt": "who?", "completion": "me", "label": "perhaps"},
        {"prompt": "who?", "completion": "", "label": True},
        {"prompt": None, "completion": "me", "label": True},
    ]
    write_lines(tmp_path / "verdicts.jsonl", [*rows, *faults])

    prepared = prepare("verdicts.jsonl", objective="kto")

    hold_counts(prepared)
    assert prepared.facts["form"] == "feedback"
    assert prepared.facts["faults"] == {"no_label": 1}
    good = sum(n % 8 < 4 for n in range(ROWS))
    told = {"desirable_rows": good, "undesirable_rows": ROWS - good}
    assert prepared.facts["feedback"] == told
    for row in prepared.rows:
        number = int(re.findall(r"\d+", row["messages"][0]["content"])[0])
        assert row["label"] == (number % 8 < 4)
        (_, read), (_, learned) = runs(row)
        assert pieces(read) == f"<s><|user|> {QUESTION.format(number)}<|assistant|>"
        assert pieces(learned) == ANSWER.format(number) + END


@pytest.mark.parametrize("quote", ["", '"'])
def test_csv_of_another_country(
    prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str], quote: str
) -> None:
    """Semicolons and cp1252 are read as what they are; a row with too many cells is malformed."""
    cells = [("pregunta, o crítica", "resposta")]
    cells += [(f"on és, el paquet {n}?", f"ja ve, número {n} — €") for n in range(ROWS)]
    cells += [(" ", "res"), cells[2]]
    lines = [f"{quote}{a}{quote};{quote}{b}{quote}" for a, b in cells]
    lines += ["", "massa;cel·les;aquí"]
    (tmp_path / "dades.csv").write_bytes("\r\n".join(lines).encode("cp1252") + b"\r\n")
    columns = {"prompt": "pregunta, o crítica", "completion": "resposta"}

    prepared = prepare({"source": "dades.csv", "columns": columns})

    hold_counts(prepared)
    facts = prepared.facts
    assert (facts["encoding"], facts["delimiter"]) == ("cp1252", ";")
    assert (facts["blank_rows"], facts["duplicate_rows"], facts["malformed_rows"]) == (1, 1, 1)
    for row in prepared.rows:
        number = re.findall(r"\d+", row["messages"][0]["content"])[0]
        (_, read), (_, learned) = runs(row)
        assert pieces(read) == f"<s><|user|> on és, el paquet {number}?<|assistant|>"
        assert pieces(learned) == f"ja ve, número {number} — €{END}"


def test_parquet(prepare: Prepare, tmp_path: Path, pieces: Callable[[Sequence[int]], str]) -> None:
    """A parquet file with nulls and a nested column of messages is read as JSON lines are."""
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


def hold_sentence(ended: Ended, text: str) -> None:
    """Assert that a script ended with one sentence that says what is wrong."""
    assert ended.code == 1
    assert ended.err.count("prepare.py: ") == 1, ended.said
    assert text in ended.err, ended.said
    assert "Traceback" not in ended.err, ended.said


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


def test_what_is_missing_or_broken_is_said(prepare: Prepare, tmp_path: Path) -> None:
    """A missing file, a missing model, other columns and broken JSON end in one sentence each."""
    rows = [{"prompt": QUESTION.format(n), "completion": ANSWER.format(n)} for n in range(ROWS)]
    write_json(tmp_path / "pairs.json", rows)
    bundle = prepare("pairs.json").bundle
    (tmp_path / "broken.json").write_text('[{"prompt": "a", ', encoding="utf-8")
    write_json(tmp_path / "other.json", [{"question": "a", "answer": "b"}])
    write_json(tmp_path / "number.json", 7)
    write_json(tmp_path / "blank.json", [{"prompt": " ", "completion": "b"}])

    def start(*arguments: str | Path) -> Ended:
        return run("python", "prepare.py", *arguments, cwd=bundle)

    hold_sentence(start("--data", tmp_path / "absent.json"), "is not there")
    hold_sentence(start("--model", tmp_path / "absent"), "has no config.json")
    hold_sentence(start("--data", tmp_path / "other.json"), "are needed")
    hold_sentence(start("--data", tmp_path / "broken.json"), "broken.json")
    hold_sentence(start("--data", tmp_path / "number.json"), "number.json")
    hold_sentence(start("--data", tmp_path / "blank.json"), "no row is left")


def test_the_compiler_says_what_is_missing_or_broken(tmp_path: Path, model: Path) -> None:
    """`ftc compile` names a missing file, a missing model and broken data, and writes nothing."""
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "broken.json").write_text('[{"prompt": "a", ', encoding="utf-8")
    (tmp_path / "broken.csv").write_text('prompt,completion\n"a,b\n', encoding="utf-8")
    for data, source, code in (
        ("absent.csv", "./model", "FTC2"),
        ("broken.json", "./model", "FTC2"),
        ("broken.csv", "./model", "FTC2"),
        ("broken.json", "./absent", "FTC1"),
    ):
        spec = {"name": "broken", "model": source, "data": data, "hardware": "cpu"}
        write_json(tmp_path / "spec.json", spec)
        ended = run("ftc", "compile", "spec.json", cwd=tmp_path)
        assert ended.code == 1, ended.said
        assert re.search(rf"spec\.json:\d+:\d+: error\[{code}\d\d\]", ended.err), ended.said
        assert "Traceback" not in ended.err
    assert not (tmp_path / "broken").exists()
