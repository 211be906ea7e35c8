"""The sources of a mixture give the same rows from every format, from disk and streamed."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ftc.runtime.prepare.records import Source
from ftc.runtime.prepare.sources import open_source
from ftc.runtime.prepare.stream_sources import open_stream
from ftc.runtime.read.rows import DataError
from ftc.runtime.read.streaming import File
from ftc.runtime.read.text_rows import read_texts

# The downloaded rows are in a temporary file, which is deleted when the process ends.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
ROWS = [{"ask": f"què és {n}?\nara", "say": f"resposta, {n}", "id": str(n)} for n in range(600)]
COLUMNS = {"prompt": "ask", "completion": "say"}
ENCODINGS = {"csv": "cp1252", "jsonl": "utf-8-sig", "json": "utf-16", "parquet": "binary"}


class Held(File):
    """A file whose parts come from memory and not over the network."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__("acme/tickets", "a" * 40, name)
        self.content = content

    def fetch(self, start: int, stop: int) -> bytes:
        """Return a part."""
        self.size = len(self.content)
        return self.content[start:stop]


def write_rows(kind: str, rows: list[dict[str, str]], delimiter: str = ",") -> bytes:
    """Return rows as a file of a format."""
    if kind == "parquet":
        held = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), held)
        return held.getvalue()
    text = io.StringIO(newline="")
    if kind == "csv":
        table = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
        table.writeheader()
        table.writerows(rows)
    elif kind == "json":
        json.dump(rows, text, ensure_ascii=False)
    else:
        text.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return text.getvalue().encode(ENCODINGS[kind])


def open_files(folder: Path, kind: str, delimiter: str | None = None) -> Source:
    """Return a source of two files."""
    paths = [folder / f"{n}.{kind}" for n in range(2)]
    for path, rows in zip(paths, (ROWS[:400], ROWS[400:]), strict=True):
        path.write_bytes(write_rows(kind, rows, delimiter or ","))
    return open_source(
        lambda: paths,
        kind=kind,
        encoding=ENCODINGS[kind],
        delimiter=delimiter,
        columns=COLUMNS,
        read=read_texts,
        name="tickets",
        max_rows=7,
    )


def open_network(folder: Path, kind: str, delimiter: str | None = None) -> Source:
    """Return the same source as it comes."""
    parts = (ROWS[:400], ROWS[400:])
    contents = [write_rows(kind, rows, delimiter or ",") for rows in parts]
    return open_stream(
        [Held(f"{n}.{kind}", content) for n, content in enumerate(contents)],
        goal=5,
        seed=3,
        deduplicate=False,
        folder=folder / "run",
        kind=kind,
        encoding=ENCODINGS[kind],
        delimiter=delimiter,
        columns=COLUMNS,
        read=read_texts,
        name="tickets",
        max_rows=7,
    )


@pytest.mark.parametrize(
    ("open_rows", "kind", "delimiter"),
    [
        *((open_files, kind, None) for kind in ("csv", "jsonl", "json", "parquet")),
        *((open_network, kind, None) for kind in ("csv", "jsonl", "parquet")),
        (open_files, "csv", ";"),
        (open_network, "csv", "\t"),
    ],
)
def test_every_format_gives_the_rows(
    tmp_path: Path, open_rows: Callable[..., Source], kind: str, delimiter: str | None
) -> None:
    """With the columns of the roles, which are read into the same turns; twice, if asked for."""
    source = open_rows(tmp_path, kind, delimiter)
    found: list[Any] = [row for chunk in source.chunks() for row in source.unpack(chunk)]

    by_prompt = sorted(({name: row[name] for name in ("ask", "say")} for row in found), key=str)
    assert by_prompt == sorted(({k: row[k] for k in ("ask", "say")} for row in ROWS), key=str)
    assert (source.name, source.max_rows, source.needed) == ("tickets", 7, ["ask", "say"])
    turns: Any = source.read_row(found[0], repair=False)[0]
    assert [role for role, _ in turns] == ["user", "assistant"]
    again = source.chunks() if source.again is None else source.again(len(ROWS))
    assert [row for chunk in again for row in source.unpack(chunk)] == found


def test_only_a_stream_knows_when_it_has_enough(tmp_path: Path) -> None:
    """A file on the disk is read to its end."""
    stream = open_network(tmp_path, "jsonl")
    assert stream.is_enough is not None

    assert not stream.is_enough([1, 0, 2, 3, 4], 0)
    assert stream.is_enough([1, 0, 2, 3, 4, 5], 0)
    assert open_files(tmp_path, "jsonl").is_enough is None


def test_only_the_columns_of_roles_are_fetched(tmp_path: Path) -> None:
    """Of a parquet file; the pictures beside the texts may be most of it."""
    source = open_network(tmp_path, "parquet")

    assert set(next(iter(source.unpack(next(source.chunks()))))) == {"ask", "say"}


@pytest.mark.parametrize("kind", ["json", "parquet", "csv"])
def test_files_are_looked_for_when_they_are_read(tmp_path: Path, kind: str) -> None:
    """Opening a source reads nothing; a damaged file is then named."""
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(b'a,b\n"1')
    source = open_source(
        lambda: [path],
        kind=kind,
        encoding="utf-8",
        delimiter=None,
        columns=COLUMNS,
        read=read_texts,
    )

    with pytest.raises(DataError, match=rf"rows\.{kind} cannot be read: "):
        list(source.chunks())
