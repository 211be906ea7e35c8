"""Hard negatives by the real `mine_hard_negatives`, with a model whose vectors count letters."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ftc.runtime.run import Run

pytestmark = pytest.mark.prove
ROWS = [
    ("aaab", "aaaa"),
    ("AAAB", "aaac"),  # the first query, in capitals
    ("aabb", "aabc"),
    ("bbbb", "bbbc"),
    ("bbbc", "bbba"),  # a query that is also a text
    ("cccc", "cccb"),
    ("dddd", "ddde"),
]


class Letters:
    """A model whose vector of a text counts its letters."""

    device = "cpu"

    def __init__(self) -> None:
        self.prompts = {"query": "q: ", "document": ""}
        self.asked: list[str] = []

    def encode_document(self, texts: Sequence[str], **_: Any) -> Any:
        """Return a unit vector per text."""
        table = np.array([[text.casefold().count(c) for c in "abcdef"] for text in texts], float)
        return (table / np.linalg.norm(table, axis=1, keepdims=True)).astype("float32")

    def encode_query(self, texts: Sequence[str], *, prompt: str, **_: Any) -> Any:
        """Return a unit vector per text, and keep its prompt."""
        self.asked.append(prompt)
        return self.encode_document(texts)

    def similarity(self, first: Any, second: Any) -> Any:
        """Return the cosines: first x second."""
        import torch  # noqa: PLC0415 - it takes seconds

        return torch.as_tensor(first) @ torch.as_tensor(second).T

    def similarity_pairwise(self, first: Any, second: Any) -> Any:
        """Return the cosines of pairs."""
        import torch  # noqa: PLC0415 - it takes seconds

        return (torch.as_tensor(first) * torch.as_tensor(second)).sum(1)


def mine(folder: Path, rows: Sequence[tuple[str, str]], many: int) -> list[dict[str, Any]]:
    """Return the rows of a split with what was found for them."""
    pytest.importorskip("sentence_transformers")
    from ftc.runtime.prepare.hard_negatives import add_hard_negatives  # noqa: PLC0415 - slow

    path = folder / "train.jsonl"
    written = [{"input_ids": [1], "anchor": a, "positive": p} for a, p in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in written), encoding="utf-8")
    model = Letters()
    note = add_hard_negatives(Run(folder, stage="prepare"), path, model, many=many, seed=7)
    assert model.asked == ["q: "]
    assert json.loads(note.read_text(encoding="utf-8"))["per_row"] == many
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def wrong(row: dict[str, Any]) -> list[str]:
    """Return the wrong texts of a row."""
    return [text for name, text in row.items() if name.startswith("negative_")]


def test_the_closest_wrong_texts_are_found(tmp_path: Path) -> None:
    """None belongs to the query, in any letter case, or is the query; the same come each time."""
    found = mine(tmp_path, ROWS, 2)
    again = mine(tmp_path, ROWS, 2)

    assert found == again
    assert all(len(set(wrong(row))) == 2 for row in found)
    assert not {"aaaa", "aaac"} & {*wrong(found[0]), *wrong(found[1])}
    assert "bbbc" not in wrong(found[4])
    assert wrong(found[0]) == ["bbba", "bbbc"]  # "aabc" is as close as "aaaa"
    own = [(row["anchor"], row["positive"]) for row in found]
    assert own == ROWS
    documents = {text for _, text in ROWS}
    assert all(text in documents for row in found for text in wrong(row))
    with pa.ipc.open_stream((tmp_path / "train.arrow").read_bytes()) as table:
        assert {"negative_1", "negative_2"} < set(table.schema.names)


def test_texts_as_close_as_the_right_one_are_left_out(tmp_path: Path) -> None:
    """They may be right too: random texts, which share no letter here, take their place."""
    rows = [("ab", "ab c"), ("ba", "ba c"), ("de", "de f"), ("ed", "ed f")]
    found = mine(tmp_path, rows, 1)

    assert [wrong(row)[0][0] in "de" for row in found] == [True, True, False, False]
    note = json.loads((tmp_path / "hard_negatives.json").read_text(encoding="utf-8"))
    assert note["random"] == 0
    assert note["mined"] == 4


def test_fewer_texts_than_wanted_are_repeated(tmp_path: Path) -> None:
    """Two queries have one wrong text each."""
    found = mine(tmp_path, [("ab", "abc"), ("de", "def")], 3)

    assert wrong(found[0]) == ["def"] * 3
    assert wrong(found[1]) == ["abc"] * 3


def test_one_query_has_no_wrong_text(tmp_path: Path) -> None:
    """The stage ends with one sentence."""
    with pytest.raises(SystemExit, match="there is no wrong one to learn"):
        mine(tmp_path, [("ab", "abc"), ("ab", "abd")], 1)
