"""The steps of prepare.py: scan all rows, choose some, turn them into records, write them.

The data are read twice, a chunk at a time. Only a few numbers per row are kept in memory.
"""

import json
import os
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from ..files import write_lines
from ..read.rows import DataError
from ..run import Run
from .records import Chunk, RowWork, Source
from .workers import Workers


@dataclass(slots=True, kw_only=True)
class Rows:
    """All rows that were read, in their order.

    `counts` has the rows of each source, `origins` the number of its source for each row, and
    `wanted` whether it is used. `keys` are equal for copies. `changes` has the numbers of the rows
    to which something happened, counted from 1.
    """

    sources: Sequence[Source]
    counts: Sequence[int]
    origins: Any
    keys: Any
    wanted: Any
    changes: dict[str, "array[int]"]

    def drop_copies(self) -> None:
        """Leave out rows that repeat an earlier row."""
        order = np.argsort(self.keys, kind="stable")
        alike = self.keys[order]
        again = order[1:][alike[1:] == alike[:-1]]
        self.leave_out(again[self.wanted[again]], "duplicate")

    def count_wanted(self) -> list[int]:
        """Return how many rows of each source are used."""
        found = np.bincount(self.origins[self.wanted], minlength=len(self.sources))
        return [int(rows) for rows in found]

    def leave_out(self, rows: Any, change: str) -> None:
        """Leave out rows, by their numbers, because of a change."""
        self.changes[change].extend((rows + 1).tolist())
        self.wanted[rows] = False


@dataclass(slots=True, kw_only=True)
class Records:
    """The records that training reads, by number, in an unnamed temporary file.

    `ends` is where each line of the file ends, after a 0. `lengths` counts the tokens of all rows
    that have some, before they are cut; all other lists have an entry for each record. `prompts`
    are equal for rows that stay in one split. `labels` are indices into `names`, `origins` the
    number of the source, and `reasons` whether an answer has reasoning before it.
    """

    file: IO[bytes]
    ends: "array[int]"
    lengths: "array[int]"
    learned: "array[int]"
    prompts: "array[int]"
    labels: "array[int]"
    origins: "array[int]"
    reasons: "array[int]"
    names: dict[str, int]

    def read(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Yield the lines of records."""
        for number in numbers:
            size = self.ends[number + 1] - self.ends[number]
            yield os.pread(self.file.fileno(), size, self.ends[number])


def start_workers(run: Run, work: RowWork) -> Workers:
    """Start the processes; they give up the lock of the run folder."""
    return Workers((work.scan, work.make_records), begin=run.release_lock)


def scan(run: Run, workers: Workers, work: RowWork) -> Rows:
    """Read all rows for the first time; end the stage if a column is missing."""
    keys, counts = array("Q"), [0] * len(work.sources)
    changes: dict[str, array[int]] = defaultdict(lambda: array("Q"))
    columns = [set[str]() for _ in work.sources]
    with _stop_on_error(run):
        for number, source in enumerate(work.sources):
            start = len(keys)
            for _, found, looks in workers.map(work.scan, _number(number, source.chunks())):
                columns[number] |= found
                counts[number] += len(looks)
                for change, key in looks:
                    keys.append(key)
                    if change:
                        changes[change].append(len(keys))
                if source.is_enough is not None and source.is_enough(keys, start):
                    break
    for source, found in zip(work.sources, columns, strict=True):
        if not set(source.needed) <= found:
            has = f"{source.name} has the columns {sorted(found, key=str)}"
            run.stop(f"{has}, and {list(source.needed)} are needed")
    run.say(f"read {len(keys):,} rows")
    return Rows(
        sources=work.sources,
        counts=counts,
        origins=np.repeat(np.arange(len(counts), dtype="uint8"), counts),
        keys=np.asarray(keys),
        wanted=np.asarray(keys) > 0,
        changes=changes,
    )


def make_records(run: Run, workers: Workers, work: RowWork, rows: Rows, *, folder: Path) -> Records:
    """Read all rows for the second time, and turn those that are wanted into records."""
    folder.mkdir(parents=True, exist_ok=True)
    records = Records(
        file=tempfile.TemporaryFile(dir=folder),  # noqa: SIM115 - closed with the process
        ends=array("Q", [0]), lengths=array("I"), learned=array("B"), prompts=array("Q"),
        labels=array("I"), origins=array("B"), reasons=array("B"), names={},
    )  # fmt: skip
    numbers = compress(range(len(rows.wanted)), rows.wanted)
    with _stop_on_error(run):
        found = chain.from_iterable(workers.map(work.make_records, _list_jobs(rows)))
        for row, made in zip(numbers, found, strict=True):
            if made.change:
                rows.changes[made.change].append(row + 1)
            if made.tokens:
                records.lengths.append(made.tokens)
            if made.line:
                records.learned.append(made.is_learned)
                records.reasons.append(made.reasons)
                records.prompts.append(made.prompt_key)
                if work.conversations is not None:
                    work.conversations.add(made.answer_keys)
                records.labels.append(records.names.setdefault(made.answer, len(records.names)))
                records.origins.append(int(rows.origins[row]))
                records.ends.append(records.ends[-1] + records.file.write(made.line))
    workers.end()
    if work.conversations is not None:
        work.conversations.join(records.prompts)
    records.file.flush()
    if not records.prompts:
        found_changes = {what: len(numbers) for what, numbers in rows.changes.items() if numbers}
        run.stop(f"no row is left of {len(rows.wanted):,}: {found_changes}")
    return records


def write_splits(folder: Path, records: Records, splits: Mapping[str, Sequence[int]]) -> None:
    """Write the records of each split; those of training and validation also as Arrow tables."""
    longest = int(np.diff(records.ends).max())
    for name, split in splits.items():
        write_lines(folder / f"{name}.jsonl", records.read(split))
        if name != "test" and split:
            write_table(folder / f"{name}.jsonl", longest_bytes=longest)


def write_table(path: Path, *, longest_bytes: int) -> None:
    """Write a split again as an Arrow table, which training maps instead of reading it.

    `longest_bytes` is the size of the longest line. Messages and tools are left out.
    """
    with path.open(encoding="utf-8") as lines:
        row = json.loads(lines.readline())
    texts: dict[type, Any] = {str: pa.string(), list: pa.list_(pa.int32())}
    kinds = texts | {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
    names = [name for name in row if name not in ("messages", "tools")]
    schema = pa.schema([(name, kinds[type(row[name])]) for name in names])
    how = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    block = pa.json.ReadOptions(block_size=max(2**18, 2 * longest_bytes))
    table = path.with_suffix(".arrow")
    with (
        pa.json.open_json(path, block, how) as batches,
        table.open("wb") as file,
        pa.ipc.new_stream(file, schema) as stream,
    ):
        for batch in batches:
            stream.write_batch(batch)


def _list_jobs(rows: Rows) -> Iterator[tuple[int, Chunk, Any]]:
    """Yield each chunk with the number of its source and which of its rows are wanted."""
    start = 0
    for number, source in enumerate(rows.sources):
        chunks = source.again(rows.counts[number]) if source.again else source.chunks()
        for chunk in chunks:
            yield number, chunk, rows.wanted[start : start + len(chunk)]
            start += len(chunk)


def _number(number: int, chunks: Iterable[Chunk]) -> Iterator[tuple[int, Chunk]]:
    return ((number, chunk) for chunk in chunks)


@contextmanager
def _stop_on_error(run: Run) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        run.stop(str(error))
