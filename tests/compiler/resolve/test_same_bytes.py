"""A spec compiles to the same bytes whether the Hub or its cache on this disk answers."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import compile_bundle, write
from tests.tiny_models import write_model, write_rows

COMMIT = "a" * 40
WEIGHTS = "model-00001-of-00001.safetensors"
PINNED = {"id": "owner/tiny", "revision": COMMIT}
PINNED_ROWS = {"source": "owner/rows", "revision": COMMIT}
STREAMED = {"source": "owner/rows", "streaming": True, "max_rows": 200}

Compile = Callable[..., Mapping[str, bytes]]


@pytest.fixture
def compile_into(tmp_path: Path) -> Compile:
    """Return a function that compiles a spec into a new folder and gives the bytes of its files."""

    def compile_spec(name: str, **sections: Any) -> Mapping[str, bytes]:
        spec = {"name": "x", "model": "./model", "hardware": "cpu", **sections}
        (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        outcome = compile_bundle(str(tmp_path / "spec.json"), output=tmp_path / name)
        write(outcome)
        files = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in files}

    return compile_spec


@pytest.fixture
def published(tmp_path: Path, hub: Any) -> Any:
    """Publish a model with its licence and weights, and a data set of two shards, on the hub."""
    folder = write_model(tmp_path / "model")
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    index = {"metadata": {"total_size": 4000}, "weight_map": {"a": WEIGHTS}}
    files |= {WEIGHTS: b"x" * 5000, "model.safetensors.index.json": json.dumps(index).encode()}
    hub.add("models/owner/tiny", files, cardData={"license": "mit"}, gated="auto")
    rows = write_rows(tmp_path).read_bytes()
    more = rows.replace(b"where is", b"who has")
    hub.add("datasets/owner/rows", {"train-0.csv": rows, "train-1.csv": more, "dev.csv": rows})
    return hub


@pytest.mark.parametrize(
    "sections",
    [
        {"model": PINNED, "data": PINNED_ROWS},
        {"model": "owner/tiny", "data": "owner/rows"},
        {"data": STREAMED},
        {"model": PINNED, "data": {"sources": ["tickets.csv", {**STREAMED, "revision": COMMIT}]}},
    ],
)
def test_hub_cache_and_offline_compile_to_the_same_bytes(
    sections: dict[str, Any],
    compile_into: Compile,
    published: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing cached, cached, without a server, and offline by wish."""
    first = compile_into("first", **sections)
    assert b'"revision": "' + COMMIT.encode() in first["ftc.lock.json"]

    assert compile_into("cached", **sections) == first
    published.failing = 503
    assert compile_into("unreachable", **sections) == first
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    count = len(published.requests)
    assert compile_into("offline", **sections) == first
    assert len(published.requests) == count
    if "model" in sections:
        assert b"mit" in first["README.md"]


def test_downloaded_weights_change_no_byte(
    compile_into: Compile, published: Any, tmp_path: Path
) -> None:
    """A run downloads the weights into the same cache; a compile after it looks at none of them."""
    sections = {"model": PINNED, "data": "tickets.csv"}
    first = compile_into("first", **sections)
    snapshot = tmp_path / f"hf/hub/models--owner--tiny/snapshots/{COMMIT}"
    (snapshot / WEIGHTS).write_bytes(published.files["models/owner/tiny"][WEIGHTS])

    assert compile_into("second", **sections) == first


def test_a_snapshot_that_another_tool_began_is_completed(
    compile_into: Compile, published: Any, tmp_path: Path
) -> None:
    """A part of the files at a pinned commit is no answer while the Hub can be asked."""
    sections = {"model": PINNED, "data": PINNED_ROWS}
    first = compile_into("first", **sections)
    cache = tmp_path / "hf/hub"
    shutil.rmtree(cache)
    for place, name, repository in (
        ("models--owner--tiny", "config.json", "models/owner/tiny"),
        ("datasets--owner--rows", "train-0.csv", "datasets/owner/rows"),
    ):
        snapshot = cache / place / "snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        (snapshot / name).write_bytes(published.files[repository][name])

    assert compile_into("second", **sections) == first


def test_a_shard_that_is_gone_is_not_passed_over_offline(
    compile_into: Compile,
    published: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kept description names every shard, so half of a data set is not taken for all of it."""
    compile_into("first", data=PINNED_ROWS)
    cached = tmp_path / f"hf/hub/datasets--owner--rows/snapshots/{COMMIT}/train-1.csv"
    cached.unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    outcome = compile_bundle(str(tmp_path / "spec.json"), output=tmp_path / "second")

    assert published.endpoint
    assert [finding.code for finding in outcome.findings if finding.severity == "error"] == [
        "FTC210"
    ]


@pytest.mark.parametrize("damage", [None, "{", "[]", '{"commit": 1}', '{"commit": "main"}'])
def test_without_a_description_the_cache_says_what_is_unknown(
    damage: str | None,
    compile_into: Compile,
    published: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Offline, a description that was never kept or is damaged leaves null, not a guess."""
    sections = {"model": PINNED, "data": PINNED_ROWS}
    compile_into("first", **sections)
    for kept in (tmp_path / "hf/hub").glob("*/ftc/*.json"):
        if damage is None:
            kept.unlink()
        else:
            kept.write_text(damage, encoding="utf-8")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    facts = json.loads(compile_into("second", **sections)["ftc.lock.json"])["facts"]

    assert published.endpoint
    said = [facts["model"].get(name) for name in ("origin", "licence", "gated", "pickled")]
    assert said == ["hub", None, None, None]
    assert facts["data"]["files"] == ["train-0.csv", "train-1.csv"]


def test_lengths_are_counted_with_the_template_of_the_commit(
    compile_into: Compile, published: Any, tmp_path: Path
) -> None:
    """Another commit in the cache shares `tokenizer.json`, and has a longer chat template."""
    sections = {"model": PINNED, "data": "tickets.csv"}
    first = compile_into("first", **sections)
    snapshots = tmp_path / "hf/hub/models--owner--tiny/snapshots"
    shutil.copytree(snapshots / COMMIT, snapshots / ("0" * 40))
    (snapshots / ("0" * 40) / "chat_template.jinja").write_text("a long opening " * 9)

    assert published.endpoint
    assert compile_into("second", **sections) == first
