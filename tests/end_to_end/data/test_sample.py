"""A sample of rows may hold more long ones than the whole file, by chance; more than that stops."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.end_to_end.process import Ended, compile_spec, read_rows, run

pytestmark = pytest.mark.prove

ROWS, TAKEN = 600, 200
LONG = 24  # of the file: 4 %
Prepare = Callable[[set[int]], tuple[Ended, Path]]


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Prepare:
    """Return what compiles and prepares a file whose rows of these numbers are long."""
    folder = tmp_path_factory.mktemp("sample")
    (folder / "model").symlink_to(model)
    spec = {
        "name": "sampled",
        "model": "./model",
        "data": {"source": "rows.jsonl", "max_rows": TAKEN, "max_length": 64},
        "hardware": "cpu",
    }

    def prepare(long: set[int]) -> tuple[Ended, Path]:
        lines = [
            {"prompt": f"row {n} " + "what " * (80 if n in long else 5), "completion": f"it is {n}"}
            for n in range(ROWS)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "rows.jsonl").write_text(text, encoding="utf-8")
        shutil.rmtree(folder / "sampled", ignore_errors=True)  # its lock holds what was counted
        bundle = compile_spec(folder, spec)
        return run(sys.executable, "prepare.py", cwd=bundle), bundle / "run/data"

    return prepare


def test_more_long_rows_than_the_file_has(prepare: Prepare) -> None:
    """Seven in a hundred where the plan counted four is chance; twelve are not."""
    first, data = prepare(set())
    assert first.code == 0, first.said
    splits = ("train", "validation", "test")
    rows = [row for split in splits for row in read_rows(data / f"{split}.jsonl")]
    taken = sorted(int(row["messages"][0]["content"].split()[1]) for row in rows)
    assert len(taken) == TAKEN
    others = sorted(set(range(ROWS)) - set(taken))

    likely, _ = prepare({*taken[:14], *others[: LONG - 14]})
    unlikely, _ = prepare({*taken[:24]})

    assert likely.code == 0, likely.said
    assert unlikely.code == 1
    assert "24 of 200 rows are longer than 64 tokens" in unlikely.err
    assert "the plan said 4.0% of rows" in unlikely.err
