"""Packed rows in the generated train.py itself: they do not see each other, and it learns."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.end_to_end.conftest import write_table
from tests.end_to_end.process import ROOT, compile_spec, read_json, read_rows, run

pytestmark = pytest.mark.prove

LOOK: Final = Path(__file__).with_name("packed_rows.py")
ROUNDING: Final = 1e-4  # of logits in fp32
HANDBOOK: Final = ROOT / "examples" / "text" / "handbook.jsonl"
SPLITS: Final = ("train", "validation", "test")


def look(bundle: Path) -> dict[str, Any]:
    """Prepare a bundle, train it, and return what `packed_rows.py` saw on the way."""
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    ended = run("python", LOOK, bundle, cwd=bundle.parent)
    assert ended.code == 0, ended.said
    seen: dict[str, Any] = json.loads(ended.out.rpartition("packed: ")[2])
    assert seen["spread"] > 100 * ROUNDING
    assert seen["alone"] < ROUNDING
    assert seen["neighbour"] < ROUNDING < seen["replaced"]
    assert seen["loss"] < ROUNDING
    return seen


def test_packed_rows_do_not_see_each_other(
    tmp_path: Path, model: Path, tickets: list[list[str]]
) -> None:
    """Each row's logits and labels are those it has alone; another row's change moves none."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets)
    training: dict[str, Any] = {"max_steps": 20, "learning_rate": 0.003}
    data = {"source": "tickets.csv", "packing": "best-fit"}  # which few rows are not by themselves
    spec = {"name": "packed", "model": "./model", "data": data, "hardware": "cpu"}
    bundle = compile_spec(tmp_path, {**spec, "method": "lora", "training": training})
    decisions = read_json(bundle / "ftc.lock.json")["decisions"]
    assert decisions["packing"]["value"] == "best-fit"

    seen = look(bundle)

    planned = decisions["packed_rows"]["value"]
    assert seen["packed"] == pytest.approx(planned, rel=0.08)
    assert seen["packed"] < seen["rows"] / 2
    assert seen["fullest"] <= decisions["packed_length"]["value"]
    losses = seen["losses"]
    assert sum(losses[-3:]) < 0.8 * sum(losses[:3])


def test_long_texts_are_split_and_nothing_of_them_is_lost(tmp_path: Path, model: Path) -> None:
    """Pieces of a text join to all of it, its end is learned once, and packing keeps them apart."""
    (tmp_path / "model").symlink_to(model)
    data = {"source": str(HANDBOOK), "max_length": 96, "max_rows": 60}
    spec = {"name": "text", "model": "./model", "data": data, "objective": "cpt"}
    training = {"max_steps": 15, "learning_rate": 0.003}
    rest = {"hardware": "cpu", "method": "full", "training": training}
    bundle = compile_spec(tmp_path, {**spec, **rest})
    decisions = read_json(bundle / "ftc.lock.json")["decisions"]
    assert decisions["packing"]["value"] == "best-fit"

    seen = look(bundle)

    rows = [row for split in SPLITS for row in read_rows(bundle / f"run/data/{split}.jsonl")]
    assert max(len(row["input_ids"]) for row in rows) == 96
    assert all(row["labels"] == row["input_ids"] for row in rows)
    texts: list[list[int]] = []
    for row in rows:
        if row["prompt"]:
            texts.append([])
        texts[-1] += row["input_ids"]
    end = texts[0][-1]
    assert len(texts) == 60 < len(rows) / 2
    assert all(text.count(end) == 1 == text[-1:].count(end) for text in texts)
    written = {json.loads(line)["text"] for line in HANDBOOK.read_text("utf-8").splitlines()}
    assert {row["prompt"] for row in rows if row["prompt"]} <= written
    planned = decisions["packed_rows"]["value"]
    assert seen["packed"] == pytest.approx(planned, rel=0.08)
    assert seen["losses"][-1] < 0.8 * seen["losses"][0]
