"""The next smaller micro-batch after the kernel killed training for memory."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime.exit_codes import OUT_OF_MEMORY
from ftc.runtime.files import read_json, write_json
from ftc.runtime.smaller_batch import reduce_batch

GIB = 2**30
LADDER = [[4, 2], [2, 4], [1, 8]]


@pytest.fixture(name="note")
def _note(tmp_path: Path) -> Path:
    """Return the place of batch.json in a bundle that planned 2 GiB."""
    write_json(tmp_path / "plan.json", {"memory_bytes": 2 * GIB})
    (tmp_path / "run" / "train").mkdir(parents=True)
    return tmp_path / "run" / "train" / "batch.json"


def test_each_kill_goes_one_row_down(note: Path) -> None:
    """The global batch stays; after the last row, training is not started again."""
    write_json(note, {"row": 0, "ladder": LADDER, "changes": []})
    codes = [reduce_batch(note, step, 3 * GIB, for_memory=True) for step in (9, 30, 40)]

    noted = read_json(note)
    assert [code for code, _ in codes] == [OUT_OF_MEMORY, OUT_OF_MEMORY, 1]
    assert noted["row"] == 2
    assert noted["ladder"] == LADDER
    sizes = {"held_bytes": 3 * GIB, "planned_bytes": 2 * GIB}
    assert noted["changes"] == [
        {"step": 9, "from": [4, 2], "to": [2, 4], **sizes},
        {"step": 30, "from": [2, 4], "to": [1, 8], **sizes},
    ]
    assert "3.00 GiB were used, 2.00 GiB were planned" in codes[0][1]
    assert codes[0][1].endswith("next with 2 x 4 passes, the same batch")
    assert "set a smaller data.max_length" in codes[2][1]


def test_a_kill_for_another_reason_writes_nothing(note: Path) -> None:
    """The sentence names the next row instead."""
    write_json(note, {"row": 1, "ladder": LADDER, "changes": []})
    before = note.read_bytes()
    code, said = reduce_batch(note, 9, GIB, for_memory=False)

    assert code == 1
    assert "`train.py --row 2`" in said
    assert note.read_bytes() == before


@pytest.mark.parametrize("text", [None, "", "{", "[]", "null", "\xff"])
def test_a_note_that_cannot_be_read_has_no_smaller_row(note: Path, text: str | None) -> None:
    """Training was killed before it wrote one, or the file is damaged: advice, and no error."""
    if text is not None:
        note.write_bytes(text.encode("latin-1"))
    (note.parents[2] / "plan.json").unlink()
    code, said = reduce_batch(note, 0, 0, for_memory=True)

    assert code == 1
    assert said.startswith("0.00 GiB were used, 0.00 GiB were planned; ")


@settings(max_examples=30)
@given(st.integers(1, 6).flatmap(lambda rows: st.tuples(st.just(rows), st.integers(0, rows))))
def test_the_batch_is_the_same_on_every_row(
    tmp_path_factory: pytest.TempPathFactory, given_row: tuple[int, int]
) -> None:
    """Rows times passes, for any ladder and row of it."""
    rows, row = given_row
    note = tmp_path_factory.mktemp("bundle") / "run" / "train" / "batch.json"
    ladder: list[Any] = [[2 ** (rows - n), 2**n] for n in range(rows)]
    write_json(note, {"row": row, "ladder": ladder, "changes": []})
    code, _ = reduce_batch(note, 1, 0, for_memory=True)

    noted = json.loads(note.read_text(encoding="utf-8"))
    assert (code == OUT_OF_MEMORY) == (row + 1 < rows) == bool(noted["changes"])
    for change in noted["changes"]:
        (micro, passes), (less, more) = change["from"], change["to"]
        assert micro * passes == less * more
        assert less < micro
