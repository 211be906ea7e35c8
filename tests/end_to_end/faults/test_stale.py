"""A finished run whose files or sources change: only stale stages are run again."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import WholeRun, write_table
from tests.end_to_end.process import Ended, compile_spec, read_json, run, train

STAGES = ("prepare", "train", "merge", "evaluate", "quantize")
GGUF = "run/quantize/triage-Q8_0.gguf"
WEIGHTS = "run/merged/model.safetensors"


@pytest.fixture
def finished(whole_run: WholeRun) -> Path:
    """Return a copy of the run beside it, where the paths in its scripts lead to the same files."""
    folder = whole_run.bundle.with_name("copied")
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(whole_run.bundle, folder))


def start(bundle: Path, sdist: Path) -> Ended:
    """Run every stage that is not done."""
    ended = run("./run.sh", cwd=bundle, extra={"FTC_LLAMA_CPP_SDIST": str(sdist)})
    assert ended.code == 0, ended.said
    return ended


def repeated(ended: Ended) -> list[str]:
    """Return the stages that a run did not find done already."""
    ran = re.findall(r"^(\w+): done in ", ended.out, re.MULTILINE)
    return [stage for stage in STAGES if stage in ran]


def flip(path: Path, count: int) -> None:
    """Invert so many bytes in the middle of a file."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        flipped = bytes(255 - byte for byte in file.read(count))
        file.seek(-len(flipped), 1)
        file.write(flipped)


@pytest.mark.prove
def test_flipped_bytes_in_a_gguf(finished: Path, sdist: Path) -> None:
    """It has its size and is not what was verified: it is neither asked nor left as it is."""
    before = (finished / GGUF).read_bytes()
    flip(finished / GGUF, 300_000)

    asked = run(sys.executable, "ask.py", "cancel my order", "--type", "Q8_0", cwd=finished)
    again = start(finished, sdist)

    assert asked.code == 1, asked.said
    assert asked.err == (
        f"ask.py: {GGUF} has changed since stage `quantize` wrote it: ./run.sh makes it again\n"
    )
    assert f"quantize: runs again, because {GGUF} has changed" in again.out
    assert repeated(again) == ["quantize"]
    assert (finished / GGUF).read_bytes() == before


@pytest.mark.prove_all
def test_the_base_in_the_place_of_the_merged_model(
    finished: Path, model: Path, sdist: Path
) -> None:
    """evaluate.py refuses it; export.py merges again, and everything else is as it was."""
    before = (finished / WEIGHTS).read_bytes()
    shutil.rmtree(finished / "run/merged")
    shutil.copytree(model, finished / "run/merged")

    alone = run(sys.executable, "evaluate.py", cwd=finished)
    again = start(finished, sdist)

    assert alone.code == 1, alone.said
    assert "since stage `merge` wrote it: ./run.sh makes it again" in alone.err
    assert "Traceback" not in alone.err
    assert repeated(again) == ["merge"]
    assert (finished / WEIGHTS).read_bytes() == before


@pytest.mark.prove_all
def test_what_was_made_of_an_earlier_training(finished: Path, sdist: Path) -> None:
    """Trained again, even to the same bits, it is merged, judged and quantized again."""
    before = read_json(finished / "run/done/merge.json")["trainings"]
    (finished / "run/done/train.json").unlink()

    again = start(finished, sdist)

    assert repeated(again) == ["train", "merge", "evaluate", "quantize"]
    assert read_json(finished / "run/done/merge.json")["trainings"] != before


@pytest.mark.prove_all
def test_another_weight_of_labels_trains_again(
    tmp_path: Path, model: Path, tickets: list[list[str]]
) -> None:
    """Labels that count differently make the training stale, and its weights are not kept."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    spec: dict[str, Any] = {
        "name": "labels",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "objective": {"type": "classification", "class_weights": "balanced"},
        "method": "full",
        "training": {
            "max_steps": 2,
            "global_batch": 8,
            "evaluation": {"every_steps": 2, "allow_worse": True},
        },
    }
    bundle = compile_spec(tmp_path, spec)
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    first = train(bundle)
    before = read_json(bundle / "run/done/train.json")

    compile_spec(tmp_path, {**spec, "objective": {**spec["objective"], "class_weights": "none"}})
    again = train(bundle)

    assert first.code == again.code == 0, again.said
    assert "train: runs again, because train.py has changed" in again.out
    assert "the earlier training is in train-1" in again.out
    after = read_json(bundle / "run/done/train.json")
    assert after["trainings"] != before["trainings"]
    assert after["outputs"] != before["outputs"]
