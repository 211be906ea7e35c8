"""The page of the covering array, from a report of pytest."""

from pathlib import Path

from benchmarks.covering import COLUMNS, read_outcomes, report

CHOICES = dict.fromkeys(COLUMNS, "one")


def write_report(path: Path, trouble: str) -> None:
    """Write what pytest writes of a case, and of a test that is none."""
    told = "".join(f'<property name="{name}" value="{word}"/>' for name, word in CHOICES.items())
    case = f'<testcase name="a" time="61.4"><properties>{told}</properties>{trouble}</testcase>'
    other = '<testcase name="b" time="1"/>'
    path.write_text(f"<testsuites><testsuite>{case}{other}</testsuite></testsuites>")


def test_the_last_word_on_a_case_counts(tmp_path: Path) -> None:
    """A case that failed and was run again is told once; what is no case is left out."""
    first, again = tmp_path / "1.xml", tmp_path / "2.xml"
    write_report(first, '<failure message="exit 1&#10;| more">...</failure>')
    write_report(again, "")

    failed = report([one for _, one in read_outcomes(first)], "a command")
    mended = dict([*read_outcomes(first), *read_outcomes(again)])

    assert "0 of 1 ended well" in failed
    assert f"| {' | '.join(CHOICES.values())} | 61 | exit 1 |" in failed
    assert "1 of 1 ended well" in report(list(mended.values()), "a command")
