"""Packed rows in the generated train.py itself: they do not see each other, and it learns."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import compile_spec, read_json, run

pytestmark = pytest.mark.prove

LOOK: Final = Path(__file__).with_name("packed_rows.py")
ROUNDING: Final = 1e-4  # of logits in fp32


def test_packed_rows_do_not_see_each_other(
    tmp_path: Path, model: Path, tickets: list[list[str]]
) -> None:
    """Each row's logits and labels are those it has alone; another row's change moves none."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    training: dict[str, Any] = {"max_steps": 30, "learning_rate": 0.003}
    spec = {"name": "packed", "model": "./model", "data": "tickets.csv", "hardware": "cpu"}
    bundle = compile_spec(tmp_path, {**spec, "method": "lora", "training": training})
    decisions = read_json(bundle / "ftc.lock.json")["decisions"]
    assert decisions["packing"]["value"] == "best-fit"
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said

    ended = run("python", LOOK, bundle, cwd=tmp_path)

    assert ended.code == 0, ended.said
    seen = json.loads(ended.out.rpartition("packed: ")[2])
    assert seen["spread"] > 100 * ROUNDING
    assert seen["alone"] < ROUNDING
    assert seen["neighbour"] < ROUNDING < seen["replaced"]
    assert seen["loss"] < ROUNDING
    planned = decisions["packed_rows"]["value"]
    assert seen["packed"] == pytest.approx(planned, rel=0.08)
    assert seen["packed"] < seen["rows"] / 2
    assert seen["fullest"] <= decisions["packed_length"]["value"]
    losses = seen["losses"]
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])
