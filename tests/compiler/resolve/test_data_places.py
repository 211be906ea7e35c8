"""Where data files are: paths, patterns, folders and addresses, and the file that was meant."""

from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import Unknown
from tests.compiler.resolve.resolving import NO_TOKENIZER, unknown


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://huggingface.co/datasets/tatsu-lab/alpaca", "tatsu-lab/alpaca"),
        ("https://huggingface.co/datasets/tatsu-lab/alpaca/blob/main/a.json", "tatsu-lab/alpaca"),
        ("hf://datasets/tatsu-lab/alpaca/train.parquet", "tatsu-lab/alpaca"),
        ("https://example.com/datasets/tatsu-lab/alpaca", None),
    ],
)
def test_the_page_of_a_data_set_is_its_id(
    make_spec: Any, tmp_path: Path, address: str, name: str | None
) -> None:
    """Text after the id is not part of the id."""
    finding = unknown(make_spec(data=address), tmp_path)
    assert (finding.code, [step["value"] for step in finding.fix]) == (
        "FTC200",
        [name] if name else [],
    )


def test_a_folder_of_texts_is_told_how_to_become_rows(make_spec: Any, tmp_path: Path) -> None:
    """Hidden files and pictures are not read as text."""
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / ".notes").write_text("hidden", encoding="utf-8")
    (folder / "a.png").write_bytes(b"\x89PNG\0")
    assert "jsonl" not in unknown(make_spec(data="pages"), tmp_path).help
    (folder / "a.md").write_text("# A page", encoding="utf-8")
    assert "write its texts to one jsonl file" in unknown(make_spec(data="pages"), tmp_path).help
    finding = unknown(make_spec(data="pages/*.md"), tmp_path)
    assert "is a pattern" in finding.message
    assert "write its texts to one jsonl file" in finding.help


def test_a_missing_file_is_suggested(make_spec: Any, tmp_path: Path) -> None:
    """The nearest file's name is a fix; a folder is told as one."""
    (tmp_path / "tickets.csv").write_text("text\na\n", encoding="utf-8")
    finding = unknown(make_spec(data="tikets.csv"), tmp_path)
    assert finding.code == "FTC200"
    assert finding.fix == ({"op": "replace", "path": "/data", "value": "tickets.csv"},)
    (tmp_path / "folder").mkdir()
    assert unknown(make_spec(data="./folder"), tmp_path).code == "FTC200"


@pytest.mark.parametrize("name", ["rows", "rows/*.jsonl", "rows/b*"])
def test_folder_or_pattern_of_files(make_spec: Any, tmp_path: Path, name: str) -> None:
    """The files of a folder or of a pattern are named, and proposed if they are of one kind."""
    folder = tmp_path / "rows"
    folder.mkdir()
    for stem in ("a", "b", "b-test"):
        (folder / f"{stem}.jsonl").write_text('{"text": "a"}\n')
    finding = unknown(make_spec(data=name), tmp_path)
    several = ({"source": "rows/a.jsonl"}, {"source": "rows/b.jsonl"})
    wanted = "rows/b.jsonl" if name.endswith("b*") else list(several)
    assert finding.code == "FTC200"
    assert "rows/b.jsonl" in finding.help
    assert finding.fix[0]["value"] == wanted
    (folder / "b.csv").write_text("text\na\n")
    finding = unknown(make_spec(data=name), tmp_path)
    assert bool(finding.fix) == name.endswith(".jsonl")


def test_file_of_another_machine(make_spec: Any, tmp_path: Path) -> None:
    """A file of that name in the spec's folder is meant; a name that shares its ending is not."""
    (tmp_path / "tickets.csv").write_text("text\na\n")
    finding = unknown(make_spec(data=r"C:\Users\ana\tickets.csv"), tmp_path)
    assert finding.fix[-1]["value"] == "tickets.csv"
    assert not unknown(make_spec(data="sales.csv"), tmp_path).fix


def test_only_a_file_of_rows_is_suggested(make_spec: Any, tmp_path: Path) -> None:
    """A spec, a plan and a folder are no data, however near their names are."""
    (tmp_path / "ticket.json").write_text(' {"name": "x", "data": "tickets.json"}', "utf-8")
    (tmp_path / "tickets.yml").write_text("name: x", encoding="utf-8")
    (tmp_path / "tickets2.json").mkdir()
    (tmp_path / "tickets.jsonl").mkdir()
    finding = unknown(make_spec(data="tickets.json"), tmp_path)
    assert (finding.code, finding.fix) == ("FTC200", ())
    assert "did you mean" not in finding.help
    (tmp_path / "my_tickets.json").write_text('\n[{"text": "a"}]', encoding="utf-8")
    found = unknown(make_spec(data="tickets.json"), tmp_path)
    assert found.fix == ({"op": "replace", "path": "/data", "value": "my_tickets.json"},)


@pytest.mark.parametrize("address", ["https://x.y/rows.jsonl", "s3://b/rows.csv", "gs://b/rows"])
def test_an_address_is_no_file(make_spec: Any, tmp_path: Path, address: str) -> None:
    """Nothing is downloaded from it, and the finding says so."""
    finding = unknown(make_spec(data=address), tmp_path)
    assert finding.code == "FTC200"
    assert "is an address" in finding.message
    assert finding.help.startswith("download the file")


def test_what_is_no_regular_file(make_spec: Any, tmp_path: Path) -> None:
    """An existing device is not reported as missing."""
    finding = unknown(make_spec(data={"source": "/dev/null", "format": "csv"}), tmp_path)
    assert "not a regular file" in finding.message


@pytest.mark.parametrize("name", ["data.csv", "inner/data.csv"])
def test_data_that_may_not_be_read(
    make_spec: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Missing permissions of the file or its folder are named, without a fix."""
    (tmp_path / "inner").mkdir()
    path = tmp_path / name
    path.write_text("prompt,completion\na,b\n")
    spec = make_spec(data=name)

    def refuse(self: Path, *_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open" if name == "data.csv" else "stat", refuse)
    found = resolve_data(spec, folder=tmp_path, tokenizer=NO_TOKENIZER)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC200"
    assert "cannot be read: permission denied" in found.finding.message


@pytest.mark.parametrize("names", ["a.csv,my b.csv", "a.csv; my b.csv", "a.csv a.csv"])
def test_several_files_in_one_text(make_spec: Any, tmp_path: Path, names: str) -> None:
    """The fix lists them; a name may hold a space."""
    for name in ("a.csv", "my b.csv"):
        (tmp_path / name).write_text("text\na\n", encoding="utf-8")
    finding = unknown(make_spec(data={"source": names}), tmp_path)
    assert finding.message == f"`{names}` names 2 files in one text"
    first, second = finding.fix[0]["value"]
    assert first == {"source": "a.csv"}
    assert second["source"].endswith(".csv")
