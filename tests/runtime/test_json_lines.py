"""Files of JSON Lines: what ends a row."""

from pathlib import Path

from ftc.runtime.files import write_rows
from ftc.runtime.json_lines import read_rows, split_rows


def test_only_a_line_feed_ends_a_row(tmp_path: Path) -> None:
    """Texts have other separators of lines, which are written as they are."""
    rows = [{"x": "a\u2028b\u2029c\x85d"}, {"x": "e\r\nf\x0bg\x0ch"}]
    write_rows(tmp_path / "rows.jsonl", rows)
    text = (tmp_path / "rows.jsonl").read_text(encoding="utf-8")

    assert read_rows(tmp_path / "rows.jsonl") == rows
    assert len(split_rows(f"\ufeff{text}\n \n")) == 2
