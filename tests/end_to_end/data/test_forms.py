"""Every form of data through `ftc compile` and `prepare.py`: what is counted, split and learned.

Each file has the blemishes that its form can have, and the counts of the script must be those
that ftc found when it compiled.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

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
from tests.end_to_end.process import Ended, run, write_json

pytestmark = pytest.mark.prove


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


def hold_sentence(ended: Ended, text: str) -> None:
    """Assert that a script ended with one sentence that says what is wrong."""
    assert ended.code == 1
    assert ended.err.count("prepare.py: ") == 1, ended.said
    assert text in ended.err, ended.said
    assert "Traceback" not in ended.err, ended.said


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

    hold_sentence(start("--data", tmp_path / "absent.json"), "does not exist")
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
