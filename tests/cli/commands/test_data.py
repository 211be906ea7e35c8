"""`ftc data`: the rows of a spec, counted once and shown three ways."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

from ftc.report.data import data_text
from tests.cli.conftest import SPEC, Call, read_schema

ADDRESS = "joan.puig@correu.cat"
KEY = "ghp_Zk3Lr8Qw0Tn5Vb7Xc1Mf9Hd2Js6Gp4YaEuRi"
Describe = Callable[..., Any]


@pytest.fixture
def describe(call: Call, spec_file: Path, findings_schema: dict[str, Any]) -> Describe:
    """Return a function that writes a spec and gives its valid data, and the exit code."""
    registry: Registry[Any] = Resource.from_contents(findings_schema) @ Registry()
    schema = jsonschema.Draft202012Validator(read_schema("data.schema.json"), registry=registry)

    def run(code: int = 0, **changes: Any) -> Any:
        spec_file.write_text(json.dumps({**SPEC, **changes}))
        result = call("data", spec_file, "--format", "json")
        assert (result.code, result.err) == (code, "")
        described = json.loads(result.out)
        schema.validate(described)
        return described

    return run


def change_rows(path: Path, changes: dict[int, tuple[str, str]]) -> None:
    """Replace rows of a file, counted from 1 without the header."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    for row, cells in changes.items():
        rows[row] = list(cells)
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


FLAWED = {
    6: ("", ""),
    10: ("where is order 8 and my refund?", "refund"),
    21: (f"write to {ADDRESS} now", "refund"),
    31: ("where is order 29 and my delivery?", "refund"),
    41: (f"the token is {KEY}", "refund"),
    51: ("very " * 900, "refund"),
}


def test_columns_say_what_reads_them(describe: Describe, spec_file: Path) -> None:
    """A column without a role is named as such."""
    rows = "".join(f"how do I open door {n},door {n % 7},{n}\n" for n in range(60))
    (spec_file.parent / "doors.csv").write_text(f"prompt,completion,row\n{rows}")

    found = describe(data="doors.csv")

    assert found["form"] == "prompt_completion"
    assert found["columns"] == {"prompt": "prompt", "completion": "completion", "row": None}
    assert "| row        |   not read |" in data_text(found)


def test_clean_rows(describe: Describe) -> None:
    """The numbers add up, to the rows of the splits and of the labels."""
    found = describe()
    rows = found["rows"]
    assert (rows["read"], rows["usable"], rows["prompts"]) == (200, 200, 200)
    assert (rows["dropped"], rows["duplicate"]) == ({}, 0)
    splits = found["splits"]
    assert (splits["train"], splits["validation"], splits["test"]) == (160, 20, 20)
    assert [(label["name"], label["rows"], label["test"]) for label in found["labels"]] == [
        (name, 50, 5) for name in ("delivery", "invoice", "password", "refund")
    ]
    assert sum(rows for _, rows in found["lengths"]["histogram"]) == 200
    assert found["lengths"]["share_above"] == 0
    assert found["languages"] == {"en": 1.0}
    assert "| English  | 100.0% |" in data_text(found)
    assert found["review"] == []


def test_rows_to_review(describe: Describe, tmp_path: Path) -> None:
    """Each flaw is found in its row, the worst first; no text of a row is printed."""
    change_rows(tmp_path / "tickets.csv", FLAWED)
    found = describe()
    assert found["rows"]["dropped"] == {"blank": 1, "duplicate": 1}
    assert found["secrets"]["rows"] == {"access_token": 1}
    assert found["personal"]["rows"] == {"email": 1}
    assert [(entry["reason"], entry["rows"]) for entry in found["review"]] == [
        ("access_token", [41]),
        ("conflicting", [31]),
        ("long", [51]),
        ("email", [21]),
        ("blank", [6]),
        ("duplicate", [10]),
    ]
    assert ADDRESS not in json.dumps(found)
    assert KEY not in json.dumps(found)


def test_few_rows_are_named_for_each_reason(describe: Describe, tmp_path: Path) -> None:
    """Of sixty blank rows the first five."""
    change_rows(tmp_path / "tickets.csv", dict.fromkeys(range(100, 160), ("", "")))
    found = describe()
    assert found["rows"]["dropped"] == {"blank": 60}
    assert found["review"] == [
        {"reason": "blank", "source": "tickets.csv", "rows": [100, 101, 102, 103, 104]}
    ]


def test_copies_across_splits(describe: Describe, tmp_path: Path) -> None:
    """One sentence with another number in each row leaks into the test split."""
    text = (
        "please tell me at last where in the whole world is that large parcel of my order which"
        " your kind colleague said they would have sent from some other town with number"
    )
    change_rows(tmp_path / "tickets.csv", {n: (f"{text} {n}", "refund") for n in range(1, 200)})
    found = describe()
    assert found["splits"]["near_copies_share"] > 0.9
    assert found["near_copies"]["largest"] > 100
    (entry,) = [entry for entry in found["review"] if entry["reason"] == "near_copies"]
    assert entry["rows"] == [found["near_copies"]["row"]]


def test_what_is_kept_is_not_dropped(describe: Describe, tmp_path: Path) -> None:
    """Copies that cleaning keeps are counted apart; rows beyond `max_rows` are a reason."""
    change_rows(tmp_path / "tickets.csv", {10: FLAWED[10]})
    data = {**SPEC["data"], "cleaning": {"drop_duplicates": False}, "max_rows": 150}
    rows = describe(data=data)["rows"]
    assert (rows["dropped"], rows["duplicate"], rows["usable"]) == ({"limit": 50}, 1, 150)


def test_a_mixture(describe: Describe, tmp_path: Path) -> None:
    """Each source has its rows, and the rows to review name it."""
    (tmp_path / "more.csv").write_text((tmp_path / "tickets.csv").read_text().replace("my", "our"))
    change_rows(tmp_path / "more.csv", {7: ("", "")})
    columns = SPEC["data"]["columns"]
    sources = [{"source": name, "columns": columns} for name in ("tickets.csv", "more.csv")]
    found = describe(data={"sources": sources})
    assert [(entry["name"], entry["usable"]) for entry in found["sources"]] == [
        ("tickets.csv", 200),
        ("more.csv", 199),
    ]
    assert sum(entry["epoch"] for entry in found["sources"]) == found["splits"]["train"]
    assert found["review"] == [{"reason": "blank", "source": "more.csv", "rows": [7]}]


def test_without_a_plan(describe: Describe) -> None:
    """The rows are there, the splits are not; a finding about the hardware is not this one's."""
    found = describe(hardware="RTX 40900000")
    assert (found["splits"], found["lengths"]["max_length"]) == (None, None)
    assert found["rows"]["usable"] == 200
    assert "train" not in found["labels"][0]
    assert all(finding["pointer"].startswith("/data") for finding in found["findings"])
    assert "## Splits" not in data_text(found)


def test_data_that_cannot_be_read(call: Call, describe: Describe, spec_file: Path) -> None:
    """One finding, exit code 1, and no page."""
    found = describe(code=1, data="none.csv")
    assert "rows" not in found
    assert found["findings"]
    result = call("data", spec_file)
    assert (result.code, result.out) == (1, "")
    assert "none.csv" in result.err


@pytest.mark.parametrize("report", ["html", "text"])
def test_pages(call: Call, spec_file: Path, tmp_path: Path, report: str) -> None:
    """Both pages have the same sections, and no text of a row."""
    change_rows(tmp_path / "tickets.csv", FLAWED)
    result = call("data", spec_file, "--format", report)
    assert result.code == 0
    assert "FTC222" in result.err
    for title in ("Rows", "Splits", "Lengths in tokens", "Labels", "Rows to review first"):
        assert (f"<h2>{title}</h2>" if report == "html" else f"\n## {title}\n") in result.out
    assert "hold access tokens" in result.out
    assert ADDRESS not in result.out
    assert KEY not in result.out
    assert result.out.startswith("<!doctype html>" if report == "html" else "# The data of triage")


def test_bins_hold_every_row(describe: Describe, tmp_path: Path) -> None:
    """The bins of the page add up, and the last is open."""
    change_rows(tmp_path / "tickets.csv", FLAWED)
    lines = data_text(describe()).splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| tokens"))
    cells = [line.split("|") for line in lines[start + 2 : lines.index("", start)]]
    assert sum(int(cell[3]) for cell in cells) == 198
    assert cells[-1][1].strip().startswith("over ")
