"""The results of a model on the files of regression checks: answers, and losses of a text."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.runtime.evaluate import kept_scores, regression
from ftc.runtime.files import read_json, write_rows
from ftc.runtime.run import Run

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

QUESTIONS = ["where is my card?", "is it late\u2028or lost?", "a \x85 b", "one", "two", "three"]


@pytest.fixture(name="loaded", scope="module")
def _loaded(model: Path) -> tuple[Any, Any]:
    """Return the quickstart's untrained model and its tokenizer."""
    found = transformers.AutoModelForCausalLM.from_pretrained(model)
    return found.eval(), transformers.AutoTokenizer.from_pretrained(model)


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Run:
    (tmp_path / "run").mkdir()
    return Run(tmp_path, stage="evaluate")


def check(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a check of a file."""
    return {"kind": kind, "path": name, "max_drop": 0.05, **more}


def examine(run: Run, loaded: tuple[Any, Any], one: dict[str, Any], **options: bool) -> Any:
    """Return what the model gives on the file of one check."""
    given = {"has_template": True, **options}
    (found,) = kept_scores.examine_kept(run, *loaded, [one], **given)
    return found


@pytest.mark.parametrize("has_template", [True, False])
def test_each_question_has_an_answer(
    run: Run, loaded: tuple[Any, Any], *, has_template: bool
) -> None:
    """Lines of any program: a byte order mark, blank lines, and separators inside of a text."""
    rows = [json.dumps({"prompt": q, "answer": "x"}, ensure_ascii=False) for q in QUESTIONS]
    text = "\ufeff" + "\r\n".join([*rows, "", " "])
    (run.bundle / "kept.jsonl").write_bytes(text.encode())
    one = check("prompts", "kept.jsonl", metric="exact_match", answer_tokens=2)
    found = examine(run, loaded, one, has_template=has_template)

    assert found["texts"] == QUESTIONS
    assert found["values"] == [0.0] * len(QUESTIONS)
    assert (found["measure"], found["higher"], found["percent"]) == ("exact match", True, True)


def test_answers_are_graded_by_the_metric(run: Run, loaded: tuple[Any, Any]) -> None:
    """The model's own answers are right."""
    from ftc.runtime.evaluate import answers  # noqa: PLC0415 - torch is needed

    found, tokenizer = loaded
    ids = [tokenizer(question)["input_ids"] for question in QUESTIONS]
    said = answers.write(found, tokenizer, [{"prompt_ids": each} for each in ids], 3)
    rows = [{"prompt": q, "answer": a.upper()} for q, a in zip(QUESTIONS, said, strict=True)]
    write_rows(run.bundle / "kept.jsonl", rows)
    one = check("prompts", "kept.jsonl", metric="exact_match", answer_tokens=3)

    assert examine(run, loaded, one, has_template=False)["values"] == [1.0] * len(rows)


@pytest.mark.parametrize(("words", "most"), [(60, 16), (900, 256)])
def test_a_text_is_read_in_stretches(
    run: Run, loaded: tuple[Any, Any], words: int, most: int
) -> None:
    """All of one length, which a short text makes short, and none is read twice."""
    text = " ".join(f"card {n}" for n in range(words))
    (run.bundle / "kept.txt").write_text(text, encoding="utf-8-sig")
    found = examine(run, loaded, check("text", "kept.txt"))
    size = found["tokens"][0] + 1  # the first token of a stretch has no loss

    assert size <= most
    assert set(found["tokens"]) == {size - 1}
    assert len(found["values"]) >= 6
    assert not found["higher"]
    assert "\ufeff" not in found["texts"][0]
    joined = "".join("".join(found["texts"]).split())
    assert "".join(text.split()).startswith(joined)


def test_a_short_text_ends_the_stage(run: Run, loaded: tuple[Any, Any]) -> None:
    """Its name and its tokens are said."""
    (run.bundle / "kept.txt").write_text("much too short", encoding="utf-8")

    with pytest.raises(SystemExit, match=r"kept\.txt has \d+ tokens, too few"):
        examine(run, loaded, check("text", "kept.txt"))


@pytest.mark.parametrize(
    ("text", "said"), [("a: 1\n", "is not a task"), ("group: some\n", "asks no question")]
)
def test_a_file_without_questions_ends_the_stage(
    run: Run, loaded: tuple[Any, Any], text: str, said: str
) -> None:
    """The harness takes any file for nothing, and a group for a task."""
    pytest.importorskip("lm_eval")
    (run.bundle / "kept.yaml").write_text(text, encoding="utf-8")

    with pytest.raises(SystemExit, match=rf"kept\.yaml {said}"):
        examine(run, loaded, check("task", "kept.yaml"))


def test_only_texts_of_a_question_are_compared() -> None:
    """A document of the harness has numbers and lists too."""
    doc = {"question": "who?", "id": 7, "choices": ["a"], "context": "then"}

    assert kept_scores.list_texts(doc) == "who?\nthen"


def test_checks_are_judged_and_written(
    run: Run, loaded: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the questions that are in training rows: in a prompt, and in either answer."""
    _, tokenizer = loaded
    asked = ["the card that I ordered has not arrived", "please send me another card by mail now"]
    rows = [
        {"prompt_ids": tokenizer(f"hello, {asked[0]} yet")["input_ids"], "origin": 3},
        {
            "chosen_ids": tokenizer("yes")["input_ids"],
            "rejected_ids": tokenizer(asked[1]).input_ids,
        },
    ]
    write_rows(run.folder / "data" / "train.jsonl", rows)
    scores = {"measure": "exact match", "values": [1.0] * 40, "higher": True, "percent": True}
    texts = [*asked, *(f"a question of this world {n}" for n in range(38))]
    after = {**scores, "values": [0.0] * 40, "texts": texts}
    checks = [check("prompts", "kept.jsonl")]
    path = kept_scores.compare_kept(run, tokenizer, checks, [scores], [after])

    assert path == run.folder / regression.REPORT
    (entry,) = read_json(path)["checks"]
    assert entry["fault"].startswith("exact match went from 100.0% to 0.0%")
    assert (entry["overlap"]["overlapping"], entry["overlap"]["compared"]) == (2, 40)
    assert "kept.jsonl: exact match 100.0% before, 0.0% after: FAILED" in capsys.readouterr().out
