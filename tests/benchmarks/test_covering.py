"""The report of the covering array, from pytest's XML."""

from pathlib import Path

from benchmarks.covering import COLUMNS, read_outcomes, report
from tests.covering import running

CASE = running()[0]


def write_report(path: Path, trouble: str) -> None:
    """Write pytest's XML for a case, and for a test that is not a case."""
    case = f'<testcase name="test_a_case_runs[{CASE.name}]" time="61.4">{trouble}</testcase>'
    other = '<testcase name="test_of_something_else" time="1"/>'
    path.write_text(f"<testsuites><testsuite>{case}{other}</testsuite></testsuites>")


def test_the_last_word_on_a_case_counts(tmp_path: Path) -> None:
    """A case that was run again is listed once; other tests are omitted."""
    first, again = tmp_path / "1.xml", tmp_path / "2.xml"
    write_report(first, '<failure message="exit 1&#10;| more">...</failure>')
    write_report(again, "")
    choices = " | ".join(getattr(CASE, name) for name in COLUMNS)

    failed = report(list(read_outcomes(first)), "a command")
    mended = {one.case: one for path in (first, again) for one in read_outcomes(path)}

    assert "0 of 1 passed" in failed
    assert f"| {choices} | 61 | exit 1 |" in failed
    assert f"| {choices} | 61 | passed |" in report(list(mended.values()), "a command")
