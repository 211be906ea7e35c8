"""The first rows of some files of a streamed data set, which are all that is read of it.

They are kept in the Hub's cache, beside what is downloaded, so that the next look needs no network.
"""

import codecs
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.hub.cache import repository_folder, write_whole
from ftc.compiler.resolve.hub.client import BLOCK_BYTES, HubFile, Trouble, sort_trouble
from ftc.compiler.resolve.rows.reader import UnreadableError
from ftc.spec.sections import FileFormat

#: Files that are looked into, and bytes of each; a longer first row is read to its end.
FILES: Final = 4
BYTES: Final = 512 * 1024
_LONGEST_ROW_BYTES: Final = 64 * 1024 * 1024
_ROWS: Final = 5000
_BATCH_ROWS: Final = 250
_WIDE: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class WideTextError(Exception):
    """The text has several bytes per letter, so no part of it can be read separately."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstRows:
    """Local files with the first rows.

    `part` is the share of the data set's bytes that they stand for; `rows` counts all rows of the
    data set, by what parquet files say of themselves, and is None for text.
    """

    paths: tuple[Path, ...]
    part: float
    rows: int | None


def fetch_first_rows(
    repository: str, commit: str, sizes: Mapping[str, int | None], kind: FileFormat
) -> FirstRows | Trouble:
    """Return the first rows of a few of the files, from the cache where they were read before.

    `sizes` are the bytes of each file where the Hub says them. Raises WideTextError, and
    UnreadableError and ImportError as reading the table does.
    """
    digest = hashlib.sha256("\n".join(sizes).encode()).hexdigest()[:16]
    folder = _folder(repository) / commit / digest
    names = _spread(list(sizes))
    paths = tuple(folder / f"{place}-{Path(name).name}" for place, name in enumerate(names))
    note = folder / "read.json"
    if note.is_file() and all(path.is_file() for path in paths):
        said = json.loads(note.read_text(encoding="utf-8"))
        return FirstRows(paths=paths, part=said["part"], rows=said["rows"])
    read, whole, rows = 0, 0, 0
    try:
        for name, path in zip(names, paths, strict=True):
            file = HubFile(repository, commit, name)
            if kind == "parquet":
                taken, held = _copy_parquet(file, path)
                share = taken / max(1, held)
                rows += held
            else:
                share = _copy_text(file, path, kind) / max(1, file.size_bytes)
            read += round(share * file.size_bytes)
            whole += file.size_bytes
    except (WideTextError, UnreadableError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 - sorted, or raised again, by `sort_trouble`
        return sort_trouble(error)
    known = sum(size or 0 for size in sizes.values())
    all_bytes = max(
        whole, known if None not in sizes.values() else whole * len(sizes) // len(names)
    )
    part = min(1.0, read / max(1, all_bytes))
    about = round(rows * all_bytes / max(1, whole)) if kind == "parquet" else None
    write_whole(note, json.dumps({"part": part, "rows": about}).encode())
    return FirstRows(paths=paths, part=part, rows=about)


def count_rows(first: FirstRows, seen: int) -> int:
    """Return about how many rows the data set has, `seen` of which are its first."""
    about = first.rows if first.rows is not None else round(seen / max(first.part, 1e-9))
    return max(seen, about)


def _spread(names: Sequence[str]) -> list[str]:
    """Return a few names, evenly spread over all of them."""
    few = min(FILES, len(names))
    return [names[place * len(names) // few] for place in range(few)]


def _copy_text(file: HubFile, path: Path, kind: FileFormat) -> int:
    """Write the first whole rows of a text file, and return their bytes."""
    found = file.fetch(0, BYTES) if file.size_bytes else b""
    if found.startswith(_WIDE):
        raise WideTextError
    while len(found) < file.size_bytes:
        end = _end_of_rows(found, quoted=kind == "csv")
        if end or len(found) > _LONGEST_ROW_BYTES:
            found = found[: end or len(found)]
            break
        found += file.fetch(len(found), 2 * len(found))
    write_whole(path, found)
    return len(found)


def _end_of_rows(text: bytes, *, quoted: bool) -> int:
    """Return where the last whole row ends, 0 where none does.

    In a table a line ends a row where an even number of quotation marks stands before it.
    """
    end = text.rfind(b"\n") + 1
    while quoted and end and text.count(b'"', 0, end) % 2:
        end = text.rfind(b"\n", 0, end - 1) + 1
    return end


def _copy_parquet(file: HubFile, path: Path) -> tuple[int, int]:
    """Write the first rows of a parquet file; return how many, and how many the file has.

    Pages are fetched as they are needed, so that a large group of rows is not read to its end.
    """
    from pyarrow import ArrowException, Table, parquet  # noqa: PLC0415 - an extra, and slow

    source: Any = file
    batches, rows = [], 0
    try:
        table = parquet.ParquetFile(source, buffer_size=BLOCK_BYTES, pre_buffer=False)
        begun = file.fetched_bytes
        for batch in table.iter_batches(_BATCH_ROWS):
            batches.append(batch)
            rows += batch.num_rows
            if rows >= _ROWS or file.fetched_bytes - begun >= BYTES:
                break
    except (ArrowException, UnicodeDecodeError) as error:
        raise UnreadableError(
            f"`{path.name.partition('-')[2]}` breaks off or is another"
        ) from error
    held = io.BytesIO()
    parquet.write_table(Table.from_batches(batches, schema=table.schema_arrow), held)
    write_whole(path, held.getvalue())
    return rows, table.metadata.num_rows


def _folder(repository: str) -> Path:
    return repository_folder(repository, "dataset") / "first-rows"
