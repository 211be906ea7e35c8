"""Data that changed after the bundle was compiled: nearly the same warns, the rest stops."""

from pathlib import Path

import pytest

from ftc.runtime.prepare.planned import (
    Planned,
    check_lengths,
    check_planned_lengths,
    find_changed,
)
from ftc.runtime.run import Run

AGAIN = "compile again with `ftc compile SPEC --update`"


def plan(folder: Path, *, is_intended: bool = False, changed: bool = True) -> Planned:
    """Return a plan for two files of 1,000 rows, the second of which may have changed."""
    paths = [(1, folder / "more.csv")] if changed else []
    run = Run(folder, stage="prepare")
    return Planned(run=run, rows=[1000, 1000], changed=paths, is_intended=is_intended)


@pytest.mark.parametrize("rows", [980, 1000, 1020])
def test_nearly_as_many_rows_are_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    """Up to 2 % more or fewer."""
    plan(tmp_path).check_rows([1000, rows])
    assert f"more.csv is not the file that the plan was made with: {rows:,} usable rows" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("rows", [979, 1021, 0])
def test_other_numbers_of_rows_end_the_stage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int
) -> None:
    """They change the steps; who intends that gets the same sentence as a warning."""
    with pytest.raises(SystemExit, match=f"planned for 1,000 rows, now {rows:,}.*{AGAIN}"):
        plan(tmp_path).check_rows([1000, rows])
    plan(tmp_path, is_intended=True).check_rows([1000, rows])
    assert "warning: more.csv is not the file" in capsys.readouterr().out


def test_files_that_are_as_planned_are_not_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their rows differ only if cleaning does, which the plan could not know."""
    plan(tmp_path, changed=False).check_rows([1, 1])
    plan(tmp_path).check_rows([1, 1000])
    assert "warning: data" not in capsys.readouterr().out


def test_much_longer_rows_end_the_stage(tmp_path: Path) -> None:
    """The 95th percentile may move by a quarter: the longest rows alone do not move it."""
    check_planned_lengths(plan(tmp_path), [100] * 97 + [9000] * 3, planned_p95=100)
    check_planned_lengths(plan(tmp_path), [125] * 100, planned_p95=100)
    check_planned_lengths(plan(tmp_path, changed=False), [500] * 100, planned_p95=100)
    for length in (126, 74):
        with pytest.raises(SystemExit, match=f"at most {length} tokens, 100 in the plan"):
            check_planned_lengths(plan(tmp_path), [length] * 100, planned_p95=100)


def test_changed_files_are_found_by_their_content(tmp_path: Path) -> None:
    """A file of the Hub has no path and cannot change, as its commit is fixed."""
    one, two = tmp_path / "bundle" / ".." / "one.csv", tmp_path / "two.csv"
    digests = {"../one.csv": "a" * 64, "../two.csv": "b" * 64}
    planned = ["a" * 64, "", "c" * 64]
    found = find_changed([one, None, two], digests, planned=planned, bundle=tmp_path / "bundle")
    assert found == [(2, two)]


def test_a_few_more_over_long_rows_are_no_surprise(tmp_path: Path) -> None:
    """The plan may rest on a sample; clearly more over-long rows end the stage."""
    run = Run(tmp_path, stage="prepare")

    check_lengths(run, [10] * 98 + [99] * 2, max_length=64, planned_share=0.01)

    with pytest.raises(SystemExit, match="30 of 100 rows are longer than 64 tokens"):
        check_lengths(run, [10] * 70 + [99] * 30, max_length=64, planned_share=0.01)
