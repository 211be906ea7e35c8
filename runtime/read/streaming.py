"""Rows of the Hub's files as they come over the network; no file is kept.

The files are taken in an order that the seed draws, AT_ONCE of them at a time, each of which gives
TURN_CHUNKS chunks in turn. The groups of rows of a parquet file, and the spans of SPAN_BYTES of a
file of lines, come in a drawn order as well; a table of CSV is read from its beginning.
Neighbouring rows of a file are taken together, not drawn one by one, and prepare.py shuffles the
rows taken. The same commit and seed give the same rows in the same order.
"""

import io
import pickle
import random
import tempfile
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, Final

import httpx2
import numpy as np
import pyarrow as pa
import pyarrow.parquet
from huggingface_hub import get_session, hf_hub_url
from huggingface_hub.errors import OfflineModeIsEnabled
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

from .csv_files import parse_csv
from .parquet_files import raising_data_error
from .rows import CHUNK_ROWS, DataError, cut

TURN_CHUNKS: Final = 16  # that a file gives before the next one does
AT_ONCE: Final = 8  # files that are open
READ_BYTES: Final = 2**20  # asked for at once
SPAN_BYTES: Final = 2**24  # of a file of lines
TIMEOUT_SECONDS: Final = 30
WAITS_SECONDS: Final = (1, 2, 5, 15, 60)  # before a failed request is repeated
_PART, _TIMEOUT, _EMPTY, _BUSY, _FAILED = 206, 408, 416, 429, 500

# -----------------------------------------------------------------------------
# A file of the Hub


class File(io.RawIOBase):
    """A file at a commit; only the parts that are read are fetched."""

    def __init__(self, repository: str, revision: str, name: str) -> None:
        self.name, self.place, self.size = name, 0, 0
        self.url = hf_hub_url(repository, name, repo_type="dataset", revision=revision)

    def fetch(self, start: int, stop: int) -> bytes:
        """Return a part. A failed request is retried a few times, after increasing delays."""
        said = ""
        for wait in (*WAITS_SECONDS, None):
            try:
                status, content = self._ask(start, stop)
                if content is not None:
                    return content
                said = f"status {status}"
                if status < _FAILED and status not in (_TIMEOUT, _BUSY):
                    raise DataError(
                        f"the Hub refuses {self.name} ({said}): is HF_TOKEN that of an account with"
                        " access to it?"
                    )
            except OfflineModeIsEnabled:
                raise DataError(
                    "HF_HUB_OFFLINE is set, and the data come over the network: unset it"
                ) from None
            except (httpx2.TransportError, OSError) as error:
                said = type(error).__name__
            if wait is not None:
                time.sleep(wait)
        raise DataError(f"the Hub does not send {self.name} ({said}): try again later")

    def _ask(self, start: int, stop: int) -> tuple[int, bytes | None]:
        """Return the status of an answer, and the part if it holds one."""
        part = {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}
        headers = build_hf_headers() | part
        with get_session().stream(
            "GET", self.url, headers=headers, timeout=TIMEOUT_SECONDS
        ) as answer:
            status = int(answer.status_code)
            if status == _PART:
                self.size = int(answer.headers["content-range"].rpartition("/")[2])
                return status, bytes(answer.read())
            if status == _EMPTY:  # an empty file has no part
                return status, b""
        if status == 200:  # noqa: PLR2004 - the whole file
            raise DataError(f"this server does not send parts of {self.name}")
        return status, None

    def open(self) -> "File":
        """Find out the size, and return the file."""
        self.fetch(0, 1)
        return self

    def readable(self) -> bool:
        """Return True: the file can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: parts are fetched in any order."""
        return True

    def tell(self) -> int:
        """Return the place of the next byte that is read."""
        return self.place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a place, and return it."""
        self.place = offset + (0, self.place, self.size)[whence]
        return self.place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the file goes; return the number of bytes."""
        stop = min(self.place + len(buffer), self.size)
        found = self.fetch(self.place, stop) if stop > self.place else b""
        buffer[: len(found)] = found
        self.place += len(found)
        return len(found)


# -----------------------------------------------------------------------------
# The rows of a file, in chunks


def read_csv(
    file: File, _draw: random.Random, *, encoding: str, delimiter: str
) -> Iterator[list[Any]]:
    """Yield the rows of a table; None stands for one that is broken. Nothing is drawn."""
    text = (line.decode(encoding, "replace") for line in io.BufferedReader(file, READ_BYTES))
    lines = chain.from_iterable(io.StringIO(line, newline="") for line in text)  # at a \r as well
    yield from cut(parse_csv(lines, delimiter)[1])


def read_jsonl(file: File, draw: random.Random, *, encoding: str) -> Iterator[list[str]]:
    """Yield lines by spans; a line belongs to the span in which it begins."""
    starts = list(range(0, file.size, SPAN_BYTES))
    draw.shuffle(starts)
    for start in starts:
        yield from cut(filter(str.strip, _read_span(file, start, encoding)))


def _read_span(file: File, start: int, encoding: str) -> Iterator[str]:
    """Yield the lines that begin in a span."""
    file.seek(max(0, start - 1))
    text = io.BufferedReader(file, READ_BYTES)
    if start:
        text.readline()  # of the span before, or the end of its last line
    while text.tell() < min(start + SPAN_BYTES, file.size):
        yield text.readline().decode(encoding, errors="replace")
    text.detach()


def read_parquet(file: File, draw: random.Random, *, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the batches of a file; pages are fetched as they are needed."""
    with raising_data_error(file.name):
        table = pa.parquet.ParquetFile(file, buffer_size=READ_BYTES, pre_buffer=False)
        groups = list(range(table.num_row_groups))
        draw.shuffle(groups)
        held = [name for name in table.schema_arrow.names if name in columns]
        for group in groups:
            yield from table.iter_batches(CHUNK_ROWS, row_groups=[group], columns=held)


# -----------------------------------------------------------------------------
# The rows of all files, and those that were taken


@dataclass(slots=True, kw_only=True)
class Stream:
    """Files whose rows are taken until `goal` of them are good.

    `read` returns the chunks of a file. The rows that came are kept for the second reading, in an
    unnamed file in `folder` that ends with the process. With `deduplicate` copies are not counted.
    """

    files: Sequence[File]
    read: Callable[[File, random.Random], Iterator[Any]]
    goal: int
    seed: int
    deduplicate: bool
    folder: Path
    taken: IO[bytes] = field(init=False)
    seen: int = 0  # rows of all sources whose keys were counted
    good: int = 0
    checked_at: int = field(init=False)  # good rows at which copies are counted again
    before: int = -1  # distinct keys of the sources before

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.taken = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 - see above
        self.checked_at = self.goal

    def take(self) -> Iterator[Any]:
        """Yield chunks in the order that the seed draws, and keep them for the second reading."""
        for chunk in take(self.files, self.seed, self.read):
            pickle.dump(chunk, self.taken)
            yield chunk

    def again(self, rows: int) -> Iterator[Any]:
        """Yield the chunks that were taken, up to so many rows."""
        self.taken.seek(0)
        while rows > 0:
            chunk = pickle.load(self.taken)  # noqa: S301 - our own file
            rows -= len(chunk)
            yield chunk

    def is_enough(self, keys: Sequence[int], start: int) -> bool:
        """Return whether enough rows are good; `keys` are all so far, this source's from `start`.

        The key of a row that is left out is 0.
        """
        self.seen = max(self.seen, start)
        self.good += sum(key > 0 for key in keys[self.seen :])
        self.seen = len(keys)
        if self.good < self.checked_at:
            return False
        if not self.deduplicate:
            return True
        if self.before < 0:
            self.before = count_distinct(keys[:start])
        self.checked_at = self.good + self.goal - (count_distinct(keys) - self.before)
        return self.checked_at <= self.good


def take(
    files: Sequence[File], seed: int, read: Callable[[File, random.Random], Iterator[Any]]
) -> Iterator[Any]:
    """Yield chunks of all files, in the order that the seed gives; `read` gives those of one."""
    waiting = deque(random.Random(seed).sample(files, len(files)))  # noqa: S311 - an order
    turns: deque[Iterator[Any]] = deque()
    while waiting or turns:
        while waiting and len(turns) < AT_ONCE:
            file = waiting.popleft()
            turns.append(read(file.open(), random.Random(f"{seed} {file.name}")))  # noqa: S311
        turn = turns.popleft()
        given = 0
        for chunk in islice(turn, TURN_CHUNKS):
            given += 1
            yield chunk
        if given == TURN_CHUNKS:
            turns.append(turn)


def count_distinct(keys: "Sequence[int] | array[int]") -> int:
    """Count the distinct keys of rows; the key 0 is that of a row left out."""
    return int(np.count_nonzero(np.unique(np.array(keys))))
