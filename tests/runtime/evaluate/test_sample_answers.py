"""Answers that are printed, logged and sent while training runs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.evaluate import sample_answers
from ftc.runtime.evaluate.sample_answers import SHOWN_CHARACTERS, SampleAnswers, describe
from ftc.runtime.run import Run

transformers = pytest.importorskip("transformers")


class Session:
    """The part of a training that notes events."""

    def __init__(self, run: Run, tracker: Any = None) -> None:
        self.run, self.tracker = run, tracker
        self.events: list[dict[str, Any]] = []
        self.progress = SimpleNamespace(clear=lambda: self.events.append({"event": "clear"}))

    def log(self, state: Any, **event: Any) -> None:
        """Note an event with its step."""
        self.events.append({"step": state.global_step, **event})


@pytest.fixture(name="session")
def _session(tmp_path: Path) -> Session:
    (tmp_path / "run").mkdir()
    return Session(Run(tmp_path, stage="train"))


def evaluate(callback: SampleAnswers, *, first: bool = True, **given: Any) -> None:
    """Call it as the Trainer does at an evaluation of step 1,200."""
    state = SimpleNamespace(is_world_process_zero=first, global_step=1200)
    callback.on_evaluate(None, state, None, **given)


def test_the_model_answers_validation_rows(
    session: Session, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the tokenizer of a processor too; a prompt alone has no right answer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model).eval()
    ids = tokenizer("where is\nmy card?")["input_ids"]
    rows = [{"prompt_ids": ids, "answer": "lost"}, {"prompt_ids": ids}]
    callback = SampleAnswers(session, rows, tokens=2)
    for processing in (tokenizer, SimpleNamespace(tokenizer=tokenizer)):
        evaluate(callback, model=loaded, processing_class=processing)

    samples = [event["samples"] for event in session.events if event["event"] == "samples"]
    assert samples[0] == samples[1]
    assert [each["answer"] for each in samples[0]] == ["lost", ""]
    assert "where is\nmy card?" in samples[0][0]["prompt"]
    said = capsys.readouterr().out
    assert said.count("step 1,200: sample answer\n    asked: ") == 4
    assert "expected: (the data has no answer)" in said


def test_every_process_writes_and_the_first_one_tells(session: Session) -> None:
    """Divided weights need all processes; nothing is written after the end of training."""
    wrote: list[Any] = []

    def write(model: Any, _tokenizer: Any, rows: Any, tokens: int, **given: Any) -> list[str]:
        wrote.append((model, tokens, given))
        return ["x"] * len(rows)

    tokenizer = SimpleNamespace(decode=lambda ids: f"{ids}")
    rows = [{"prompt_ids": [1], "answer": "a"}]
    callback = SampleAnswers(session, rows, tokens=5, write=write, images="images")
    evaluate(callback, first=False, model="m", processing_class=tokenizer)
    assert session.events == []
    evaluate(callback, model="m", processing_class=tokenizer)
    callback.on_train_end(None, None, None)
    evaluate(callback, model="m", processing_class=tokenizer)

    assert wrote == [("m", 5, {"images": "images"})] * 2
    assert [event["event"] for event in session.events] == ["samples", "clear"]


def test_samples_are_sent_to_the_tracker(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the step, by the Trainer's name of the tracker."""
    sent: list[Any] = []
    monkeypatch.setattr(sample_answers, "send_samples", lambda *given: sent.append(given))
    session.tracker = SimpleNamespace(kind="wandb")
    tokenizer = SimpleNamespace(decode=lambda _: "asked")
    callback = SampleAnswers(
        session, [{"prompt_ids": [1], "answer": "a"}], tokens=5, write=lambda *_: ["said"]
    )
    evaluate(callback, model=None, processing_class=tokenizer)

    assert sent == [("wandb", 1200, [{"prompt": "asked", "answer": "a", "said": "said"}])]


def test_a_long_sample_loses_its_middle() -> None:
    """The end of a prompt and the beginning of an answer are shown, on one line each."""
    long = "a\n" * SHOWN_CHARACTERS
    lines = describe({"prompt": f"{long}end", "answer": f"begin{long}", "said": "x\ty"}).split("\n")

    assert len(lines) == 4
    assert lines[1].startswith("    asked: ...")
    assert lines[1].endswith(" a end")
    assert lines[2].startswith("    expected: begin")
    assert lines[2].endswith("...")
    assert lines[3] == "    answered: x y"
