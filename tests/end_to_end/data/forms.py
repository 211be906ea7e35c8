"""A bundle whose data are prepared, and what its rows learn."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.process import read_rows

NOT_LEARNED = -100
END = "</s>"
QUESTION = "where is my parcel number {}?"
ANSWER = "the parcel {} is on its way"
MOJIBAKE = "the café is open".encode().decode("cp1252")
ROWS = 60
COUNTS = {
    "blank": "blank_rows",
    "duplicate": "duplicate_rows",
    "malformed": "malformed_rows",
    "repaired": "misencoded_rows",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A bundle whose data are prepared, and the facts that ftc compiled it from."""

    bundle: Path
    report: Mapping[str, Any]
    facts: Mapping[str, Any]
    decisions: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of all splits."""
        files = sorted((self.bundle / "run/data").glob("*.jsonl"))
        return [row for file in files for row in read_rows(file)]


Prepare = Callable[..., Prepared]


def runs(row: Mapping[str, Any]) -> list[tuple[bool, list[int]]]:
    """Cut a row where it begins or ceases to be learned: (learned, its tokens)."""
    parts: list[tuple[bool, list[int]]] = []
    for token, label in zip(row["input_ids"], row["labels"], strict=True):
        learned = label != NOT_LEARNED
        assert not learned or label == token
        if not parts or parts[-1][0] != learned:
            parts.append((learned, []))
        parts[-1][1].append(token)
    return parts


def hold_counts(prepared: Prepared) -> None:
    """Assert that script and compiler counted the same, and that the splits are as planned."""
    report, facts = prepared.report, prepared.facts
    counted = {name: report["changes"].get(name, 0) for name in COUNTS}
    assert counted == {name: facts[fact] for name, fact in COUNTS.items()}
    assert report["rows_read"] == facts["rows"]
    assert report["rows_usable"] == facts["usable_rows"]
    assert report["rows_used"] == facts["usable_rows"] == sum(report["splits"].values())
    for split, rows in report["splits"].items():
        assert abs(rows - prepared.decisions[f"{split}_rows"]["value"]) <= 1, split


def write_lines(path: Path, rows: Sequence[object]) -> None:
    """Write JSON rows as lines; a string is written as it stands."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
