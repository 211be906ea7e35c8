"""Texts that a head scores: their own tokens, and labels by the hundred."""

from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from tests.compiler.resolve.resolving import exact, known

SCORED = {"objective": "classification"}


def write(folder: Path, rows: list[str]) -> None:
    """Write a file of texts and labels, in the columns that classifiers' data have."""
    (folder / "data.csv").write_text("\n".join(["text,label", *rows]), encoding="utf-8")


def test_lengths_are_those_of_the_texts(
    make_spec: Any, model_folder: Path, tokenizer_json: str
) -> None:
    """No template, no label and no end are counted, unlike where the label is written."""
    folder = model_folder.parent
    texts = [f"where is my card x{'x' * i}" for i in range(40)]
    write(folder, [f"{text},label {i % 2}" for i, text in enumerate(texts)])
    tokenizer = Tokenizer.from_str(tokenizer_json)
    totals = sorted(len(tokenizer.encode(text)) for text in texts)

    data = exact(make_spec(**SCORED), folder)
    written = exact(make_spec(), folder)

    assert (data.form, data.prompt, data.completion) == ("prompt_completion", "text", "label")
    assert (data.lengths.p50, data.lengths.max) == (totals[19], totals[-1])
    assert data.lengths.answer_max == data.lengths.max
    assert written.lengths.max > data.lengths.max
    estimated = known(make_spec(**SCORED), folder).lengths
    assert estimated.estimate
    assert abs(estimated.max - totals[-1]) < totals[-1]


@pytest.mark.parametrize(("labels", "closed"), [(200, True), (201, False)])
def test_labels_that_are_written_are_few(
    make_spec: Any, tmp_path: Path, labels: int, *, closed: bool
) -> None:
    """More than 200 different answers are no labels to write, and are labels to a head."""
    write(tmp_path, [f"text {n} of {i},label {n}" for n in range(labels) for i in range(5)])

    assert bool(known(make_spec(), tmp_path).labels) == closed
    assert len(known(make_spec(**SCORED), tmp_path).labels) == labels


@pytest.mark.parametrize(
    ("rows", "reason", "number", "most"),
    [
        (
            [f"text {n} of {i},label {n}" for n in range(1001) for i in range(5)],
            "values",
            1001,
            1000,
        ),
        ([f"text {n} of {i},label {n}" for n in range(40) for i in range(4)], "rows", 160, 40),
        (["a,b", f"c,{'d' * 81}", "e,f"], "length", 81, 80),
    ],
)
def test_free_text_is_no_label(  # noqa: PLR0917 - a case has four parts
    make_spec: Any, tmp_path: Path, rows: list[str], reason: str, number: int, most: int
) -> None:
    """The facts say which limit the answers break, and nothing of it to another objective."""
    write(tmp_path, rows)
    data = known(make_spec(**SCORED), tmp_path)
    assert data.labels == ()
    assert data.open_answers is not None
    found = data.open_answers
    assert (found.reason, found.number, found.most) == (reason, number, most)
    assert known(make_spec(), tmp_path).open_answers is None
