"""LoRA on top of a full fine-tune, on real customer messages, improves on what it started from.

Of banking77 (10,003 real messages, 77 intents) the 30 most common intents: a fresh small model is
fine-tuned on a quarter of their messages, then a LoRA adapter on the others.
"""

import csv
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import QUICKSTART, Ended, compile_spec, read_json, run, run_together

pytestmark = pytest.mark.prove

INTENTS = 30
FIRST_ROWS = 40  # of each intent, for the full fine-tune; the rest is for the adapter
TRAINING = {"global_batch": 16, "learning_rate": 0.002, "evaluation": {"every_steps": 80}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """The two bundles after their runs, and what the second's test rows say of the first."""

    lora: Path
    ended: Ended
    started_from: float


def write_table(path: Path, rows: list[tuple[str, str]]) -> None:
    """Write messages and their intents as CSV."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("message", "intent"), *rows])


def write_tables(shared: Path, folder: Path) -> None:
    """Write all rows of the most common intents, and the two disjoint parts."""
    with (shared / "data/banking77_train.csv").open(encoding="utf-8", newline="") as file:
        rows = dict.fromkeys((row["text"], row["category"]) for row in csv.DictReader(file))
    by_intent: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        by_intent.setdefault(row[1], []).append(row)
    common = sorted(by_intent.values(), key=lambda part: (-len(part), part[0][1]))[:INTENTS]
    write_table(folder / "tickets.csv", [row for part in common for row in part])
    write_table(folder / "first.csv", [row for part in common for row in part[:FIRST_ROWS]])
    write_table(folder / "second.csv", [row for part in common for row in part[FIRST_ROWS:]])


def build_model(folder: Path) -> None:
    """Build the quickstart's model with a tokenizer trained on these messages."""
    script = Path(shutil.copy(QUICKSTART / "make_model.py", folder))
    built = run(sys.executable, script, cwd=folder)
    assert built.code == 0, built.said


def run_stage(folder: Path, spec: dict[str, Any], sdist: Path) -> tuple[Path, Ended]:
    """Compile a spec and run its bundle to the end."""
    bundle = compile_spec(folder, {**spec, "hardware": "cpu"}, name=f"{spec['name']}.json")
    ended = run_together(bundle, sdist=sdist)
    assert ended.code == 0, ended.said
    return bundle, ended


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory, shared: Path, sdist: Path) -> Stages:
    """Run the full fine-tune, then LoRA on its merged model."""
    folder = tmp_path_factory.mktemp("lora")
    write_tables(shared, folder)
    build_model(folder)
    first, _ = run_stage(
        folder,
        {
            "name": "first",
            "model": "./model",
            "data": "first.csv",
            "method": "full",
            "training": {**TRAINING, "max_steps": 160},
        },
        sdist,
    )
    lora, ended = run_stage(
        folder,
        {
            "name": "second",
            "model": "first/run/merged",
            "data": "second.csv",
            "method": {"type": "lora", "rank": 32, "targets": "all-linear"},
            "training": {**TRAINING, "max_steps": 240},
            "export": ["Q8_0"],
        },
        sdist,
    )
    judged = run(sys.executable, "evaluate.py", "--model", first / "run/merged", cwd=lora)
    found = re.search(r"accuracy\s+([\d.]+)", judged.out)
    assert found is not None, judged.said
    return Stages(lora=lora, ended=ended, started_from=float(found[1]))


def test_the_adapter_is_small_and_merged(stages: Stages) -> None:
    """What was trained is an adapter; what is merged is a whole model."""
    adapter = read_json(stages.lora / "run/train/model/adapter_config.json")

    assert adapter["r"] == 32
    assert not (stages.lora / "run/train/model/model.safetensors").exists()
    assert (stages.lora / "run/merged/model.safetensors").is_file()


def test_lora_is_far_above_chance(stages: Stages) -> None:
    """More than ten times as often right as by guessing, and as by the most common intent."""
    report = read_json(stages.lora / "run/evaluate/report.json")

    assert report["labels"] >= INTENTS
    assert report["rows"] > 300
    assert report["accuracy"] > 10 * report["chance"]
    assert report["accuracy"] > 3 * report["majority_class"]


def test_lora_improves_on_what_it_started_from(stages: Stages) -> None:
    """On the same test rows, which neither stage trained on, it is right more often."""
    report = read_json(stages.lora / "run/evaluate/report.json")

    assert stages.started_from > 3 * report["chance"]
    assert report["accuracy"] > stages.started_from + 0.03


def test_the_gguf_is_as_good(stages: Stages) -> None:
    """The exported file is right within 5 points as often as the merged model."""
    (entry,) = read_json(stages.lora / "run/quantize/quality.json")["files"]

    assert entry["type"] == "Q8_0"
    assert abs(entry["accuracy"] - entry["trained_accuracy"]) <= 0.05
    rows = read_json(stages.lora / "run/evaluate/report.json")["rows"]
    assert f"all {rows:,} rows are the same tokens" in stages.ended.err
