"""DPO with a copied reference on two processes that share the optimiser: ZeRO-2.

Pairs are judged one by one, so that one process and two of half the batch must give one curve.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.end_to_end.process import compile_spec, read_json, run, train
from tests.end_to_end.test_preferences import write_data

STEPS: Final = 12
TOLERANCE: Final = 1e-4  # of a loss, at every step and evaluation
SPEC: Final = {
    "model": "./model",
    "data": "pairs.jsonl",
    "objective": {"type": "dpo", "reference": "copy"},
    "method": "full",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 4,
        "learning_rate": 0.002,
        "evaluation": {"every_steps": 6},
    },
}


def curve(folder: Path, count: int) -> Mapping[str, list[list[float]]]:
    """Prepare and train on so many processes; return the curve as (step, loss) pairs."""
    sharded = {"distribution": {"strategy": "zero2"}} if count > 1 else {}
    spec = {"name": f"copied-{count}", "hardware": f"{count}x cpu", **SPEC, **sharded}
    bundle = compile_spec(folder, spec, name=f"{spec['name']}.json")
    prepared = run(sys.executable, "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    trained = train(bundle) if count > 1 else run(sys.executable, "train.py", cwd=bundle)
    assert trained.code == 0, trained.said
    assert f"x {count} processes" in trained.out
    found: Mapping[str, list[list[float]]] = read_json(bundle / "run/train/curve.json")
    return found


@pytest.mark.prove
def test_a_copied_reference_on_two_processes(tmp_path: Path, model: Path) -> None:
    """A second model, which DeepSpeed gets as well, and the losses are those of one process."""
    (tmp_path / "model").symlink_to(model)
    write_data(tmp_path)
    alone, together = curve(tmp_path, 1), curve(tmp_path, 2)

    assert alone["train"][-1][1] < 0.8 * alone["train"][0][1]
    for part, many in (("train", STEPS), ("validation", 2)):
        assert len(alone[part]) == many
        for (step, one), (other_step, other) in zip(alone[part], together[part], strict=True):
            assert step == other_step
            assert abs(one - other) < TOLERANCE, (part, step, one, other)
