"""Objectives that compare answers, as whole bundles in miniature: DPO, KTO, ORPO, CPO, SimPO.

One process runs the stages of all bundles: most of what a stage takes are its imports.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.process import ROOT, compile_spec, run

pytestmark = pytest.mark.prove

ROWS = 120
TRAINING = {
    "max_steps": 24,
    "global_batch": 8,
    "micro_batch": 8,
    "learning_rate": 0.002,
    "evaluation": {"every_steps": 12},
}
RUNS: Mapping[str, Mapping[str, Any]] = {
    "precomputed": {"data": "pairs.jsonl", "objective": "dpo", "method": "lora"},
    "switched-off": {
        "data": "pairs.jsonl",
        "objective": {"type": "dpo", "reference": "adapter_off"},
        "method": "lora",
    },
    "copied": {
        "data": "pairs.jsonl",
        "objective": {"type": "dpo", "reference": "copy", "loss": "ipo"},
        "method": "full",
    },
    "verdicts": {
        "data": "verdicts.jsonl",
        "objective": "kto",
        "method": "lora",
        "training": {**TRAINING, "evaluation": {"every_steps": 12, "best_by": "metric"}},
    },
    "odds": {"data": "pairs.jsonl", "objective": "orpo", "method": "full"},
    "contrasted": {
        "data": "pairs.jsonl",
        "objective": {"type": "cpo", "beta": 1},
        "method": "full",
    },
    "margin": {"data": "pairs.jsonl", "objective": "simpo", "method": "lora"},
    "chained": {
        "model": "./written",
        "data": "pairs.jsonl",
        "objective": "dpo",
        "method": "lora",
        "allow": ["FTC562"],
    },
}
WRITTEN: Mapping[str, Any] = {"data": "verdicts.jsonl", "objective": "sft", "method": "lora"}


def write_data(folder: Path) -> None:
    """Write pairs of a good and a bad answer, and the same answers one by one with a verdict."""
    pairs, verdicts = [], []
    for n in range(ROWS):
        asked, good, bad = f"Where is order {n}?", f"Order {n} left today.", f"No idea about {n}."
        pairs.append({"prompt": asked, "chosen": good, "rejected": bad})
        verdicts.append({"prompt": asked, "completion": good if n % 3 else bad, "label": n % 3 > 0})
    for name, rows in (("pairs", pairs), ("verdicts", verdicts)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, model: Path) -> dict[str, dict[str, Any]]:
    """Return what became of each bundle, by its name."""
    folder = tmp_path_factory.mktemp("preferences")
    (folder / "model").symlink_to(model)
    write_data(folder)
    bundles = [
        compile_spec(
            folder,
            {"name": name, "model": "./model", "hardware": "cpu", "training": TRAINING, **parts},
        )
        for name, parts in {"written": WRITTEN, **RUNS}.items()
    ]
    script = ("-m", "tests.end_to_end.objectives.compare_answers")
    ended = run(sys.executable, *script, *bundles, cwd=ROOT, extra={"OMP_NUM_THREADS": "1"})
    assert ended.code == 0, ended.said
    return {told["name"]: told for told in map(json.loads, ended.out.splitlines())}


@pytest.mark.parametrize("name", RUNS)
def test_the_better_answer_is_learned(found: dict[str, dict[str, Any]], name: str) -> None:
    """The loss falls, held-out pairs are told apart, and what must stay frozen did to the bit."""
    told = found[name]
    assert told["validation"][-1] < 0.5 * told["losses"][0]
    assert told["reward_accuracy"] > 0.9
    assert told["reward_margin"] > 0.1
    assert told["frozen"]


def test_a_reference_is_the_same_wherever_it_comes_from(found: dict[str, dict[str, Any]]) -> None:
    """Computed beforehand or by switching the adapter off, it gives the same losses."""
    one, other = found["precomputed"]["losses"], found["switched-off"]["losses"]
    assert one[0] == pytest.approx(0.6931, abs=1e-4)  # log 2: nothing has moved yet
    assert one == pytest.approx(other, rel=1e-4)


def test_a_chained_run_starts_from_the_result_of_the_first(
    found: dict[str, dict[str, Any]],
) -> None:
    """DPO on what supervised fine-tuning made: it finds the answers likelier than DPO alone."""
    assert Path(found["chained"]["source"]).parts[-3:] == ("written", "run", "merged")
    assert found["chained"]["losses"][0] == pytest.approx(0.6931, abs=1e-4)
    assert found["chained"]["loss"] < found["precomputed"]["loss"]


def test_the_steps_are_those_of_the_plan(found: dict[str, dict[str, Any]]) -> None:
    """Each run trained as many steps as its spec says, and was judged before them and twice."""
    for told in found.values():
        assert (len(told["losses"]), len(told["validation"])) == (24, 3)
