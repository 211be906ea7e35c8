"""Rows as they come over the network: the module of a bundle, against a hub of this machine."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.spec.sections import Spec
from tests.compiler.resolve.local_hub import COMMIT, LocalHub, serve
from tests.end_to_end.process import environment

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
FORMATS = ("jsonl", "csv", "parquet")
SHARDS, ROWS = 3, 300
#: What a bundle of the three formats reads of all shards, a chunk to a line.
READ = """
import json, sys
import stream
from functools import partial
kind, seeds, names, settings, commit = json.loads(sys.argv[1])
for name, value in settings.items():
    setattr(stream, name, value)
read = {
    "csv": partial(stream.read_csv, encoding="utf-8", delimiter=","),
    "jsonl": partial(stream.read_jsonl, encoding="utf-8"),
    "parquet": partial(stream.read_parquet, columns={"text", "label"}),
}[kind]
files = [stream.File("owner/" + kind, commit, name) for name in names]
for seed in seeds:
    for chunk in stream.take(files, seed, read):
        rows = chunk.to_pylist() if kind == "parquet" else chunk
        print(seed, json.dumps([json.loads(r) if isinstance(r, str) else r for r in rows]))
    files = [stream.File("owner/" + kind, commit, name) for name in names]
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


def streamed(kind: str, **more: Any) -> dict[str, Any]:
    """Return the facts of a source that is streamed."""
    return {
        "source": f"owner/{kind}",
        "origin": "hub",
        "path": None,
        "revision": COMMIT,
        "files": [f"train-0.{kind}"],
        "format": kind,
        "streamed_rows": 90_000,
        **more,
    }


def render(build_known: BuildKnown, folder: Path, edits: Mapping[str, Any]) -> Path:
    """Write the bundle of some facts."""
    spec, facts = build_known(edits)
    parts = facts.data.sources
    source = BundleSource(
        spec=spec,
        written={},
        facts=facts,
        plan=make_plan(spec, facts),
        data_path=facts.data.path,
        data_paths=tuple(part.path for part in parts),
        model_path=None,
        chat_template=None,
    )
    for file in render_bundle(source):
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return folder


def mix(*parts: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """Return the edits that make a mixture of some facts; what is streamed has a limit."""
    sources = [
        {"source": part["source"], "streaming": True, "max_rows": 400}
        if "streamed_rows" in part
        else part["source"]
        for part in parts
    ]
    return {
        "/spec/data/source": None,
        "/spec/data/sources": sources,
        "/facts/data/sources": list(parts),
        **{f"/spec/data/{name}": value for name, value in spec.items()},
    }


def alone(kind: str, **spec: Any) -> dict[str, Any]:
    """Return the edits that make one streamed source."""
    said = {"streaming": True, "max_rows": 400, **spec}
    return {
        **{f"/facts/data/{name}": value for name, value in streamed(kind).items()},
        **{f"/spec/data/{name}": value for name, value in said.items()},
    }


OWN = {"source": "own.csv", "path": "own.csv", "format": "csv"}
FETCHED = {name: value for name, value in streamed("csv").items() if name != "streamed_rows"}
LINTED = {
    **{kind: alone(kind) for kind in FORMATS},
    "all": mix(*map(streamed, FORMATS)),
    "file": mix(OWN, streamed("jsonl")),
    "downloaded": mix(FETCHED, streamed("parquet")),
    "both": mix(OWN, FETCHED, streamed("csv"), max_rows=300),
    "copies": mix(streamed("csv"), **{"cleaning/drop_duplicates": False}),
    "all-copies": alone("csv", **{"cleaning/drop_duplicates": False}),
}


@pytest.fixture(scope="module")
def bundle(build_known: BuildKnown, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Render a mixture of all formats."""
    return render(build_known, tmp_path_factory.mktemp("streamed"), LINTED["all"])


def read(
    bundle: Path,
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
        cwd=bundle,
        env=environment(online),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", FORMATS)
def test_every_row_comes_once_in_the_order_of_the_seed(
    bundle: Path, online: Mapping[str, str], kind: str
) -> None:
    """Wherever the spans and the parts of files end; another seed gives another order."""
    small = {"SPAN_BYTES": 4999, "READ_BYTES": 2048, "CHUNK_ROWS": 30, "TURN_CHUNKS": 2}
    ended = read(bundle, online, kind, seeds=[1, 1, 2], AT_ONCE=2, **small)

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


def test_a_line_that_goes_dead_is_asked_again(
    bundle: Path, online: Mapping[str, str], hub: LocalHub
) -> None:
    """Some times; then one sentence says what to do, and so does a refusal at once."""
    calm = read(bundle, online, "jsonl", WAITS_SECONDS=[0, 0])
    hub.dropping = 2
    dropped = read(bundle, online, "jsonl", WAITS_SECONDS=[0, 0])
    assert dropped.stdout == calm.stdout
    assert hub.dropping == 0

    hub.failing = 503
    dead = read(bundle, online, "parquet", WAITS_SECONDS=[0, 0])
    hub.failing = 403
    refused = read(bundle, online, "csv", WAITS_SECONDS=[60])
    hub.failing = 0
    offline = read(bundle, {**online, "HF_HUB_OFFLINE": "1"}, "csv", WAITS_SECONDS=[60])
    for ended, said in (
        (dead, "(status 503): start again"),
        (refused, "(status 403): is HF_TOKEN"),
        (offline, "HF_HUB_OFFLINE is set"),
    ):
        assert ended.returncode == 1
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("name", LINTED)
def test_what_is_rendered_is_linted(build_known: BuildKnown, tmp_path: Path, name: str) -> None:
    """However rows come: nothing is imported or named that this bundle does not use."""
    bundle = render(build_known, tmp_path, LINTED[name])
    rules = ["--select", "E,F,W,I,B,UP", "--line-length", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rules, "."],
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )
    text = (bundle / "prepare.py").read_text(encoding="utf-8")

    assert done.returncode == 0, done.stdout
    assert ("CHUNK_ROWS" in text) == (name in {"file", "downloaded", "both"})
    assert ("hf_hub_download" in text) == (name in {"downloaded", "both"})
