"""A mixture is prepared as it was planned, twice alike, and trained on to the same bits."""

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.faults.test_interrupted import find_trainer, start, wait_for
from tests.end_to_end.process import ROOT, compile_spec, read_json, read_rows, run

pytestmark = pytest.mark.prove

STEPS, EVERY = 8, 4
WAIT_SECONDS = 120
WEIGHTS = "run/train/model/model.safetensors"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """Return a bundle on the files of examples/mixture, of three formats' and forms' sources."""
    folder = tmp_path_factory.mktemp("mixture")
    (folder / "model").symlink_to(model)
    written = read_json(ROOT / "examples" / "mixture" / "spec.json")
    for source in written["data"]["sources"]:
        place = (ROOT / "examples" / "mixture" / source["source"]).resolve()
        shutil.copy(place, folder)
        source["source"] = place.name
    spec = {
        "name": "whole",
        "model": "./model",
        "data": written["data"],
        "hardware": "cpu",
        "method": "full",
        "training": {
            "max_steps": STEPS,
            "global_batch": 8,
            "learning_rate": 0.002,
            "evaluation": {"every_steps": EVERY},
        },
    }
    bundle = compile_spec(folder, spec)
    ended = run("python", "prepare.py", cwd=bundle)
    assert ended.code == 0, ended.said
    return bundle


def texts(bundle: Path, split: str) -> list[str]:
    """Return what tells the rows of a split apart."""
    rows: list[dict[str, Any]] = read_rows(bundle / "run" / "data" / f"{split}.jsonl")
    return [str(row["input_ids"]) for row in rows]


def test_run_data_holds_what_was_planned(prepared: Path) -> None:
    """Rows of each source by its weight, none in two splits, none more often than it may be."""
    plan = read_json(prepared / "ftc.lock.json")["decisions"]
    report = read_json(prepared / "run" / "data" / "report.json")
    held = {source["source"]: source for source in report["sources"]}
    weights = {"conversations.jsonl": 4, "tickets.csv": 3, "products.csv": 1}
    trained, kept = texts(prepared, "train"), {*texts(prepared, "validation")}
    kept |= {*texts(prepared, "test")}
    size = sum(source["train"] for source in held.values())

    assert len(trained) == size
    assert size == pytest.approx(plan["train_rows"]["value"], rel=0.02)
    for name, weight in weights.items():
        assert held[name]["train"] == pytest.approx(size * weight / 8, abs=1)
        assert held[name]["train"] == pytest.approx(plan["mixture"]["value"][name], rel=0.02)
        assert held[name]["validation"] >= 1
        assert held[name]["test"] >= 1
    assert held["tickets.csv"]["used"] == 800
    assert kept.isdisjoint(trained)
    assert max(trained.count(text) for text in set(trained)) <= 5


def test_prepared_again_to_the_same_bytes(prepared: Path) -> None:
    """Another preparation in another folder, with the files in one place, writes the same."""
    bundle = prepared.with_name("again")
    shutil.copytree(prepared, bundle, ignore=shutil.ignore_patterns("run"))
    files = prepared.with_name("files")
    files.mkdir()
    for name in ("conversations.jsonl", "tickets.csv", "products.csv"):
        shutil.move(prepared.with_name(name), files / name)
    lost = run("python", "prepare.py", cwd=bundle)
    ended = run("python", "prepare.py", "--data", files, cwd=bundle)
    for name in ("conversations.jsonl", "tickets.csv", "products.csv"):
        shutil.move(files / name, prepared.with_name(name))

    assert lost.code == 1
    assert "give the folder of the files with --data" in lost.err
    assert ended.code == 0, ended.said
    for path in sorted((prepared / "run" / "data").iterdir()):
        assert (bundle / "run" / "data" / path.name).read_bytes() == path.read_bytes(), path.name


def test_killed_and_resumed(prepared: Path) -> None:
    """After SIGKILL the training ends in the same bits: what it reads lies in run/data."""
    whole = Path(shutil.copytree(prepared, prepared.with_name("undisturbed")))
    launch = ("accelerate", "launch", "--config_file", "accelerate.yaml", "train.py")
    trained = run(*launch, cwd=whole, cold=True)
    assert trained.code == 0, trained.said
    bundle = Path(shutil.copytree(prepared, prepared.with_name("killed")))
    started = start(bundle)
    wait_for(bundle, f"step {EVERY + 2} of")
    os.kill(find_trainer(bundle), signal.SIGKILL)
    code = started.wait(WAIT_SECONDS)

    again = run(*launch, cwd=bundle, cold=True)

    assert code == 1
    assert again.code == 0, again.said
    assert f"checkpoint-{EVERY}\n" in again.out
    assert (bundle / WEIGHTS).read_bytes() == (whole / WEIGHTS).read_bytes()
