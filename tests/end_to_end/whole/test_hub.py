"""Model and data from the Hub, played by a local server that speaks the Hub's protocol."""

import csv
import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.compiler.resolve.local_hub import COMMIT, LocalHub, serve
from tests.end_to_end.process import (
    QUICKSTART,
    environment,
    read_json,
    read_rows,
    run,
    train,
    write_json,
)

pytest.importorskip("trl")

#: What makes a shard large and is no part of a row's text.
PAD = "x" * 1200


@pytest.mark.prove
def test_a_bundle_trains_from_the_hub(tmp_path: Path, model: Path, sdist: Path) -> None:
    """Compile and run all stages with nothing local; both revisions are pinned to their commits."""
    spec = {
        "name": "from-hub",
        "model": "acme/tiny",
        "data": "acme/tickets",
        "hardware": "cpu",
        "method": {"type": "lora", "rank": 8},
        "training": {"max_steps": 3, "global_batch": 8},
        "export": ["Q8_0"],
    }
    write_json(tmp_path / "spec.json", spec)
    with serve() as hub:
        hub.add("models/acme/tiny", {path.name: path.read_bytes() for path in model.iterdir()})
        tickets = (QUICKSTART / "tickets.csv").read_bytes()
        hub.add("datasets/acme/tickets", {"train.csv": tickets, "README.md": b"# tickets"})
        online = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_TOKEN": "hf_planted",
            "FTC_LLAMA_CPP_SDIST": str(sdist),
        }
        compiled = run("ftc", "compile", "spec.json", cwd=tmp_path, extra=online)
        ended = run("./run.sh", cwd=tmp_path / "from-hub", extra=online)

    assert compiled.code == 0, compiled.said
    assert ended.code == 0, ended.said
    bundle = tmp_path / "from-hub"
    facts = read_json(bundle / "ftc.lock.json")["facts"]
    assert (facts["model"]["revision"], facts["data"]["revision"]) == (COMMIT, COMMIT)
    report = read_json(bundle / "run" / "data" / "report.json")
    assert report["rows_used"] == facts["data"]["usable_rows"]
    assert (bundle / "run" / "quantize" / "from-hub-Q8_0.gguf").is_file()
    scripts = [path for path in bundle.iterdir() if path.is_file()]
    assert not [path.name for path in scripts if b"hf_planted" in path.read_bytes()]
    weights = f"GET acme/tiny/resolve/{COMMIT}/model.safetensors"
    assert weights in hub.requests
    assert hub.requests.index(weights) > hub.requests.index(
        f"GET datasets/acme/tickets/resolve/{COMMIT}/train.csv"
    )


@pytest.mark.prove
def test_a_streamed_data_set_is_trained_on(tmp_path: Path, model: Path) -> None:
    """A part is read, a kill changes no byte, and training goes on as from any data."""
    spec = {
        "name": "streamed",
        "model": str(model),
        "data": {"source": "acme/tickets", "streaming": True, "max_rows": 500},
        "hardware": "cpu",
        "method": "lora",
        "training": {"max_steps": 2, "global_batch": 8},
    }
    write_json(tmp_path / "spec.json", spec)
    with (QUICKSTART / "tickets.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shards = {f"train-{n}.jsonl": _lines(rows, n) for n in range(5)}
    whole = sum(map(len, shards.values()))
    with serve() as hub:
        hub.add("datasets/acme/tickets", shards)
        online = {
            "HF_ENDPOINT": hub.endpoint,
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_OFFLINE": "0",
        }
        compiled = run("ftc", "compile", "spec.json", cwd=tmp_path, extra=online)
        looked = hub.served_bytes
        bundle = tmp_path / "streamed"
        killed = shutil.copytree(bundle, tmp_path / "killed")
        ended = run("python", "prepare.py", cwd=bundle, extra=online)
        read = hub.served_bytes - looked
        _kill_when_rows_come(killed, hub, online)
        half = (killed / "run/done/prepare.json").exists()
        again = run("python", "prepare.py", cwd=killed, extra=online)
    trained = train(bundle)  # the hub is gone: what is trained on is here

    assert compiled.code == 0, compiled.said
    assert ended.code == 0, ended.said
    assert looked < 3 * 2**20 < whole / 4
    assert read < 5 * 2**20 < whole / 4
    assert not half
    assert again.code == 0, again.said
    splits = [f"run/data/{name}.jsonl" for name in ("train", "validation", "test")]
    assert [(bundle / one).read_bytes() for one in splits] == [
        (killed / one).read_bytes() for one in splits
    ]
    report = read_json(bundle / "run/data/report.json")
    assert sum(len(read_rows(bundle / one)) for one in splits) == report["rows_used"]
    assert report["rows_used"] + report["changes"].get("overlong", 0) == 500
    assert not [path for path in (tmp_path / "home").rglob("*") if path.stat().st_size > 2**20]
    assert trained.code == 0, trained.said


def _lines(rows: list[dict[str, str]], shard: int) -> bytes:
    """Return a shard of some megabytes, whose rows are its own."""
    held = (
        {"prompt": f"{row['message']} ({shard}-{turn})", "completion": row["intent"], "pad": PAD}
        for turn in range(2)
        for row in rows
    )
    return "".join(json.dumps(row) + "\n" for row in held).encode()


def _kill_when_rows_come(bundle: Path, hub: LocalHub, online: Mapping[str, str]) -> None:
    """Start to prepare, and kill it once the first rows have come."""
    before = hub.served_bytes
    with subprocess.Popen(
        ["python", "prepare.py"],
        cwd=bundle,
        env=environment(online),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        while hub.served_bytes < before + 2**19 and started.poll() is None:
            time.sleep(0.005)
        started.kill()
