"""Rows as they come over the network, from a hub on this machine."""

import csv
import io
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ftc.runtime.read.streaming import Stream
from tests.compiler.resolve.local_hub import COMMIT, LocalHub, serve
from tests.end_to_end.process import environment

FORMATS = ("jsonl", "csv", "parquet")
SHARDS, ROWS = 3, 300
#: Reads all shards of a format, a chunk to a line.
READ = """
import json, sys
from functools import partial
from ftc.runtime.read import rows, streaming
from ftc.runtime.read.rows import DataError
kind, seeds, names, settings, commit = json.loads(sys.argv[1])
for name, value in settings.items():
    setattr(streaming, name, value)
    setattr(rows, name, value)
read = {
    "csv": partial(streaming.read_csv, encoding="utf-8", delimiter=","),
    "jsonl": partial(streaming.read_jsonl, encoding="utf-8"),
    "parquet": partial(streaming.read_parquet, columns={"text", "label"}),
}[kind]
for seed in seeds:
    files = [streaming.File("owner/" + kind, commit, name) for name in names]
    try:
        for chunk in streaming.take(files, seed, read):
            rows = chunk.to_pylist() if kind == "parquet" else chunk
            print(seed, json.dumps([json.loads(r) if isinstance(r, str) else r for r in rows]))
    except DataError as error:
        sys.exit(str(error))
"""


def make_rows(shard: int) -> list[dict[str, str]]:
    """Return rows of uneven length, some with line breaks and letters of several bytes."""
    return [
        {"text": f"{shard}-{n} " + "é\n" * (n % 7) + "x" * (n % 13), "label": f"l{n % 3}"}
        for n in range(ROWS)
    ]


def write_shard(kind: str, rows: list[dict[str, str]]) -> bytes:
    """Return rows as a file's bytes."""
    if kind == "jsonl":
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    if kind == "csv":
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, ["text", "label"])
        table.writeheader()
        table.writerows(rows)
        return text.getvalue().encode()
    held = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows), held, row_group_size=100)
    return held.getvalue()


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    """Run a hub with a data set of each format."""
    with serve() as served:
        for kind in FORMATS:
            shards = {f"train-{n}.{kind}": write_shard(kind, make_rows(n)) for n in range(SHARDS)}
            served.add(f"datasets/owner/{kind}", {**shards, f"train-9.{kind}": b""})
        yield served


@pytest.fixture(scope="module")
def online(hub: LocalHub, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return the environment in which that hub is the Hub."""
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(tmp_path_factory.mktemp("home")),
        "HF_HUB_OFFLINE": "0",
    }


def read(
    online: Mapping[str, str],
    kind: str,
    *,
    seeds: Sequence[int] = (1,),
    **settings: Any,
) -> subprocess.CompletedProcess[str]:
    """Read all shards in the order of a seed."""
    names = [f"train-{n}.{kind}" for n in (*range(SHARDS), 9) if n != 9 or kind != "parquet"]
    given = json.dumps([kind, seeds, names, settings, COMMIT])
    return subprocess.run(
        [sys.executable, "-c", READ, given],
        env=environment(online),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_every_row_comes_once_in_the_order_of_the_seed(
    online: Mapping[str, str], kind: str
) -> None:
    """Wherever the spans and the parts of files end; another seed gives another order."""
    small = {"SPAN_BYTES": 4999, "READ_BYTES": 2048, "CHUNK_ROWS": 30, "TURN_CHUNKS": 2}
    ended = read(online, kind, seeds=[1, 1, 2], AT_ONCE=2, **small)

    assert ended.returncode == 0, ended.stderr
    chunks = [(seed, json.loads(rows)) for seed, _, rows in map(split, ended.stdout.splitlines())]
    first = [row for seed, chunk in chunks if seed == "1" for row in chunk]
    other = [row for seed, chunk in chunks if seed == "2" for row in chunk]
    expected = sorted(row["text"] for shard in range(SHARDS) for row in make_rows(shard))
    assert sorted(row["text"] for row in other) == expected
    assert first[: len(other)] == first[len(other) :]
    assert first[: len(other)] != other
    assert all(set(row) == {"text", "label"} for row in other)
    assert len({row["text"].partition("-")[0] for row in other[:150]}) == 2  # files take turns


def split(line: str) -> tuple[str, str, str]:
    """Cut a printed line into its seed and its rows."""
    return line.partition(" ")


def test_a_line_that_goes_dead_is_asked_again(online: Mapping[str, str], hub: LocalHub) -> None:
    """Some times; then one sentence says what to do, and so does a refusal at once."""
    calm = read(online, "jsonl", WAITS_SECONDS=[0, 0])
    hub.dropping = 2
    dropped = read(online, "jsonl", WAITS_SECONDS=[0, 0])
    assert dropped.stdout == calm.stdout
    assert hub.dropping == 0

    hub.failing = 503
    dead = read(online, "parquet", WAITS_SECONDS=[0, 0])
    hub.failing = 403
    refused = read(online, "csv", WAITS_SECONDS=[60])
    hub.failing = 0
    offline = read({**online, "HF_HUB_OFFLINE": "1"}, "csv", WAITS_SECONDS=[60])
    for ended, said in (
        (dead, "(status 503): try again"),
        (refused, "(status 403): is HF_TOKEN"),
        (offline, "HF_HUB_OFFLINE is set"),
    ):
        assert ended.returncode == 1
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


def test_rows_are_taken_until_enough_are_good(tmp_path: Path) -> None:
    """Copies and rows that are left out are not counted; what came can be read again."""
    stream = Stream(
        files=[], read=lambda *_: iter(()), goal=4, seed=1, deduplicate=True, folder=tmp_path
    )
    earlier = [7, 8]  # the keys of the source before
    assert not stream.is_enough([*earlier, 0, 1, 2, 2], 2)
    assert not stream.is_enough([*earlier, 0, 1, 2, 2, 7], 2)  # four are good, two are new
    assert not stream.is_enough([*earlier, 0, 1, 2, 2, 7, 3], 2)
    assert stream.is_enough([*earlier, 0, 1, 2, 2, 7, 3, 4], 2)

    for chunk in (["a", "b"], ["c"], ["d"]):
        pickle.dump(chunk, stream.taken)
    assert list(stream.again(3)) == [["a", "b"], ["c"]]
    stream.taken.close()
