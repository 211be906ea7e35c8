"""What two real processes train on and evaluate, in the cases of this folder."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import read_json, run


def find(case: str, folder: Path) -> list[Any]:
    """Return what each process found."""
    ended = run(sys.executable, "-m", "tests.runtime.parallel.on_two", case, cwd=folder)
    assert ended.code == 0, ended.said
    return [read_json(folder / f"{rank}.json") for rank in (0, 1)]


@pytest.mark.prove
def test_a_run_resumed_in_its_second_epoch_takes_the_rows_that_are_left(tmp_path: Path) -> None:
    """By the order of ftc, and by TRL's sampler, which has no epoch."""
    first, second = find("resume_epochs", tmp_path)

    assert set(first) == {"order_rows", "repeat_rows"}
    for order, (whole, resumed) in first.items():
        other, other_resumed = second[order]
        steps = [sorted(a + b) for a, b in zip(whole, other, strict=True)]
        assert resumed == whole[6:], order
        assert other_resumed == other[6:], order
        for begin in (0, 4, 8):  # each row once in an epoch, in an order of its own
            epoch = [row for step in steps[begin : begin + 4] for row in step]
            assert sorted(epoch) == list(range(16))
        assert steps[:4] != steps[4:8]


@pytest.mark.prove_all
def test_no_text_is_right_and_wrong_in_a_step(tmp_path: Path) -> None:
    """The batches of both processes differ, and an evaluation of few rows has a loss."""
    first, second = find("tell_apart", tmp_path)

    assert len(first["steps"]) == len(second["steps"]) == 2 * 2  # of ten rows, in two epochs
    for one, other in zip(first["steps"], second["steps"], strict=True):
        assert len(set(one + other)) == 2 * 10
    assert first["evaluations"] == second["evaluations"]  # one loss of all processes
    nine, threes, same, one = first["evaluations"]
    assert nine[1] == [4]  # rows of each process, of a row left over
    assert threes[1] == [1, 1, 1]  # of three queries, two of which are compared
    assert same[1] == one[1] == [1]
    assert same[0] == pytest.approx(math.log(2), rel=1e-4)  # a row beside itself
