"""The files of regression checks: what can be used, and why others cannot."""

from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.detail_facts import RegressionFile
from ftc.compiler.resolve.facts import DataFacts
from ftc.compiler.resolve.regression import look_at_files
from ftc.spec.validate import to_spec
from tests.compiler.conftest import BuildKnown

SUMS = "".join(f'{{"prompt": "{n} + 1", "answer": "{n + 1}"}}\n' for n in range(6))
TASK = "task: sums\ndataset_path: json\nprocess_docs: !function sums.read\n"


def look(folder: Path, data: DataFacts, **check: Any) -> RegressionFile:
    """Return what the file of one check holds."""
    training = {"evaluation": {"regression": [check]}}
    spec = to_spec({"name": "x", "model": "m/m", "data": "d.jsonl", "training": training})
    (found,) = look_at_files(spec, data, folder=folder)
    assert found is not None
    return found


@pytest.fixture(name="data")
def _data(build_known: BuildKnown) -> DataFacts:
    return build_known({})[1].data


@pytest.mark.parametrize(
    ("kind", "content"), [("prompts", SUMS), ("task", TASK), ("text", "a b c " * 400)]
)
def test_a_good_file_is_hashed(tmp_path: Path, data: DataFacts, kind: str, content: str) -> None:
    """Prompts, a text and a task, whose own functions are not followed."""
    (tmp_path / "kept").write_text(content)

    found = look(tmp_path, data, **{kind: "kept"})

    assert found.fault is None
    assert (found.path, len(found.sha256)) == ("kept", 64)


def test_a_question_may_have_any_separator(tmp_path: Path, data: DataFacts) -> None:
    """Only a line feed ends a row."""
    row = '{"prompt": "1 +\u2028 1\x85", "answer": "2"}\n'
    (tmp_path / "kept").write_text(row * 6, encoding="utf-8")
    assert look(tmp_path, data, prompts="kept").fault is None


@pytest.mark.parametrize(
    ("kind", "content", "why"),
    [
        ("prompts", '{"prompt": "a", "answer": 1}\n' * 6, "no_answer"),
        ("prompts", '{"prompt": "a"}\n' * 6, "no_answer"),
        ("prompts", "\n \n", "empty"),
        ("prompts", SUMS.splitlines()[0], "few"),
        ("prompts", "what is 1 + 1?\n", "not_json"),
        ("prompts", b"\xff\xfe\x00", "not_utf8"),
        ("task", "[", "not_yaml"),
        ("task", "just a text", "not_task"),
        ("task", "name: x\nmodel: y\n", "not_task"),
        ("text", "short", "short"),
    ],
)
def test_a_bad_file_says_why(
    tmp_path: Path, data: DataFacts, kind: str, content: str | bytes, why: str
) -> None:
    """Each has one sentence of its own."""
    (tmp_path / "kept").write_bytes(content.encode() if isinstance(content, str) else content)

    found = look(tmp_path, data, **{kind: "kept"})

    assert found.fault is not None
    assert found.fault.key == f"regression.{why}"


def test_the_training_data_and_a_missing_file_are_named(tmp_path: Path, data: DataFacts) -> None:
    """Neither says what the model lost."""
    assert data.path is not None
    (tmp_path / data.path).write_text(SUMS)

    learned, missing = (look(tmp_path, data, prompts=name) for name in (data.path, "none.jsonl"))

    assert learned.fault is not None
    assert learned.fault.key == "regression.learned"
    assert missing.fault is not None
    assert missing.fault.key == "regression.missing"
