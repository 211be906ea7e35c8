"""The chat's summaries of a file, a model and this machine."""

import json
from pathlib import Path

import pytest

from ftc.compiler.resolve import hardware
from ftc.compiler.resolve.hardware import Gpu
from ftc.tui.languages.voice import LANGUAGES, Voice
from ftc.tui.session.session import Session

GIBI = 1024**3


def told(session: Session, text: str) -> str:
    """Return the whole reply to a message."""
    return "\n".join(line.text for line in session.reply(text))


def test_a_file_shows_its_columns_and_three_rows(session: Session) -> None:
    """The form of the rows is shown too."""
    said = told(session, "tickets.csv")
    assert "240 rows, columns text, label" in said
    assert "(prompt = text, completion = label)" in said
    rows = [line for line in said.splitlines() if line.startswith("  row ")]
    assert rows[0] == "  row 1: my parcel number 0 has a problem with billing | billing"
    assert len(rows) == 3
    assert "3 labels: " in said


def test_scores_are_no_labels(session: Session, folder: Path) -> None:
    """Pairs of texts have a score, which is not one of some answers."""
    rows = [
        f"a message about topic {n},another about topic {n % 7},{n % 11 / 10}" for n in range(220)
    ]
    text = "\n".join(["sentence1,sentence2,score", *rows]) + "\n"
    (folder / "pairs.csv").write_text(text, encoding="utf-8")
    said = told(session, "train an embedding model on pairs.csv")
    assert "220 rows, columns sentence1, sentence2, score" in said
    assert "row 1" in said
    assert "labels" not in said


def test_it_is_said_once(session: Session) -> None:
    """A later answer does not show the file again."""
    told(session, "tickets.csv")
    assert "columns" not in told(session, "3 epochs")


def test_a_long_row_is_cut_and_holds_no_controls(session: Session, folder: Path) -> None:
    """A row is shown on one line, without control characters."""
    row = {"prompt": "\u001b[2Jx\n" + "word " * 100, "completion": {"a": [1, 2]}}
    text = json.dumps(row) + "\n" + json.dumps({"prompt": "b", "completion": "c"}) + "\n"
    (folder / "rows.jsonl").write_text(text * 20, encoding="utf-8")
    lines = [line for line in told(session, "rows.jsonl").splitlines() if "row 1:" in line]
    assert len(lines) == 1
    assert len(lines[0]) <= 72
    assert lines[0].endswith("...")
    assert lines[0].isprintable()


def test_a_model_says_its_size_licence_and_context(session: Session) -> None:
    """A gated model says that its terms must be accepted first."""
    assert "4.02B parameters, apache-2.0, context 40,960 tokens" in told(session, "qwen3 4b")
    assert "accept its terms" in told(session, "llama 3.1 8b")


def test_this_machine_says_what_it_has(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPUs that the driver reports."""
    gpu = Gpu(name="NVIDIA GeForce RTX 4090", memory_bytes=24 * GIBI, compute_capability=8.9)
    monkeypatch.setattr(hardware, "read_gpus", lambda: (gpu, gpu))
    assert "2x" in told(session, "this machine")


def test_a_machine_without_a_gpu_says_so(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training would run on the CPU."""
    monkeypatch.setattr(hardware, "read_gpus", tuple)
    assert "I found no GPU" in told(session, "this machine")


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_said_in_every_language(session: Session, language: str) -> None:
    """Names of columns, models and forms are not translated."""
    session.voice = Voice(language=language)  # type: ignore[arg-type]  # one of LANGUAGES
    said = told(session, "tickets.csv, qwen3 4b")
    for name in ("tickets.csv", "text, label", "prompt_completion", "Qwen/Qwen3-4B"):
        assert name in said
