"""Data sets that are streamed: their first rows stand for them, and little is fetched."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ftc.compiler.resolve.data.stream import BYTES, FILES
from tests.compiler.resolve.resolving import known, unknown

ROWS = 12_000
STREAMED = {"source": "owner/rows", "streaming": True, "max_rows": 5000}
#: What a look may fetch: its share of each file, and what says how large the file is.
MOST_BYTES = FILES * (BYTES + 2**18)


def make_rows(shard: int, count: int = ROWS) -> list[dict[str, str]]:
    """Return rows of about 200 bytes, each of its own; some texts run over several lines."""
    return [
        {"text": f"shard {shard},\nrow {n}: " + "so long " * 20 + f'"{n}"', "label": f"l{n % 3}"}
        for n in range(count)
    ]


def write(kind: str, rows: list[dict[str, str]]) -> bytes:
    """Return rows as a file's bytes."""
    if kind == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    if kind == "csv":
        text = io.StringIO(newline="")
        table = csv.DictWriter(text, ["text", "label"])
        table.writeheader()
        table.writerows(rows)
        return text.getvalue().encode()
    held = io.BytesIO()
    columns = {"text": [row["text"] for row in rows], "label": [row["label"] for row in rows]}
    plain: Any = {"use_dictionary": False, "compression": "none", "row_group_size": 1000}
    parquet.write_table(pa.table(columns), held, **plain)
    return held.getvalue()


def publish(hub: Any, files: Mapping[str, bytes]) -> int:
    """Put files into a data set of the hub, and return their bytes."""
    hub.add("datasets/owner/rows", files)
    return sum(map(len, files.values()))


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_the_first_rows_stand_for_the_whole(
    kind: str, make_spec: Any, tmp_path: Path, hub: Any
) -> None:
    """A few files are looked into; the number of rows is an estimate; the rest is never fetched."""
    shards = {f"train-{n}.{kind}": write(kind, make_rows(n)) for n in range(7)}
    whole = publish(hub, shards)

    facts = known(make_spec(data=STREAMED), tmp_path)

    assert hub.served_bytes <= MOST_BYTES < whole / 5
    assert (facts.revision, facts.path, facts.format) == ("a" * 40, None, kind)
    assert len(facts.files) == 7
    assert facts.columns == ("text", "label")
    assert facts.usable_rows == 5000
    assert facts.rows < 7 * ROWS
    assert facts.streamed_rows == pytest.approx(7 * ROWS, rel=0.03)
    assert facts.malformed_rows == 0
    assert {label.name for label in facts.labels} == {"l0", "l1", "l2"}
    again = hub.served_bytes
    hub.failing = 503
    assert known(make_spec(data=STREAMED), tmp_path) == facts
    assert hub.served_bytes == again


def test_a_small_data_set_is_counted(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Where the first rows are all rows nothing is estimated, and the limit leaves them all."""
    publish(hub, {"train-0.csv": write("csv", make_rows(0, 40)), "train-1.csv": b"text,label\n"})

    facts = known(make_spec(data=STREAMED), tmp_path)

    assert (facts.rows, facts.streamed_rows, facts.usable_rows) == (40, 40, 40)


def test_a_first_row_is_read_to_its_end(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """A row that is longer than what is fetched at once is no broken one."""
    long = {"text": "word " * (BYTES // 2), "label": "a"}
    rows = [long, *make_rows(0, 10)]
    publish(hub, {"train.jsonl": write("jsonl", rows), "more/train.jsonl": write("jsonl", rows)})

    facts = known(make_spec(data=STREAMED), tmp_path)

    assert (facts.rows, facts.malformed_rows) == (2 * len(rows), 0)


def test_a_source_of_a_mixture_is_streamed(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """Beside a file that is read whole; each has facts of its own."""
    publish(hub, {"train.jsonl": write("jsonl", make_rows(1))})
    (tmp_path / "own.csv").write_text("text,label\n" + "".join(f"own {n},x\n" for n in range(30)))
    sources = ["own.csv", {"source": "owner/rows", "streaming": True, "max_rows": 900}]

    facts = known(make_spec(data={"sources": sources}), tmp_path)

    assert [part.usable_rows for part in facts.sources] == [30, 900]
    assert [part.streamed_rows is None for part in facts.sources] == [True, False]
    assert facts.usable_rows == 930
    assert facts.streamed_rows == pytest.approx(ROWS + 30, rel=0.05)


def test_what_cannot_be_streamed(make_spec: Any, tmp_path: Path, hub: Any) -> None:
    """A list, wide letters, a broken file, no network and no such data set are findings."""
    publish(hub, {"train.json": json.dumps(make_rows(0, 5)).encode()})
    finding = unknown(make_spec(data=STREAMED), tmp_path)
    assert (finding.code, finding.pointer) == ("FTC260", "/data/streaming")
    assert "JSON list" in finding.message

    publish(hub, {"wide.csv": "text,label\na,b\n".encode("utf-16")})
    assert "two bytes" in unknown(make_spec(data=STREAMED), tmp_path).message

    publish(hub, {"broken.parquet": b"PAR1 and nothing more"})
    assert unknown(make_spec(data=STREAMED), tmp_path).code == "FTC203"

    hub.failing = 503
    assert unknown(make_spec(data={**STREAMED, "source": "owner/new"}), tmp_path).code == "FTC210"
    hub.failing = 0
    assert unknown(make_spec(data={**STREAMED, "source": "owner/new"}), tmp_path).code == "FTC208"
    hub.gated.add("datasets/owner/rows")
    publish(hub, {"gated.csv": b"text,label\na,b\n"})
    assert unknown(make_spec(data=STREAMED), tmp_path).code == "FTC209"
