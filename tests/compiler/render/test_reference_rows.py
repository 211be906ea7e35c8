"""Rows whose reference is computed before training: only those that the steps read."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import render

torch = pytest.importorskip("torch")

ROWS = 8000
STEPS = {"/spec/training/max_steps": 3, "/facts/data/usable_rows": ROWS}
SHORT = "# MAX_STEPS end within the first epoch"


class Rows(list[int]):
    """Row numbers, selected as from a data set."""

    def select(self, numbers: Any) -> "Rows":
        """Return the rows of these numbers."""
        return Rows(self[number] for number in numbers)


def cut(build_known: BuildKnown, objective: str) -> tuple[list[int], int]:
    """Run the lines of train.py that choose the rows; return these, and how many steps read."""
    script = render(build_known, {**STEPS, "/spec/objective/type": objective})["train.py"].text
    begin = script.index(SHORT)
    lines = script[
        begin : script.index("\n", script.index("train_rows = train_rows.select", begin))
    ]
    names = {
        "torch": torch,
        "train_rows": Rows(range(ROWS)),
        "config": SimpleNamespace(world_size=2),
        "session": SimpleNamespace(micro_batch=4, accumulation=2),
        "MAX_STEPS": 3,
        "SEED": 42,
    }
    exec(lines, names)  # noqa: S102 - the bundle's own lines
    return names["train_rows"], 3 * 4 * 2 * 2


def test_kto_reads_its_rows_in_order(build_known: BuildKnown) -> None:
    """The first ones are those that its sequential sampler would have read."""
    rows, read = cut(build_known, "kto")
    assert rows == list(range(read))


def test_dpo_draws_its_rows(build_known: BuildKnown) -> None:
    """From all of them, each at most once, and the same ones after a resume."""
    rows, read = cut(build_known, "dpo")
    assert len(set(rows)) == len(rows) == read
    assert max(rows) > read
    assert rows == cut(build_known, "dpo")[0]


@pytest.mark.parametrize("objective", ["dpo", "kto"])
def test_a_whole_epoch_reads_all_rows(build_known: BuildKnown, objective: str) -> None:
    """Nothing is left out where the steps reach the end of the data."""
    edits = {**STEPS, "/spec/objective/type": objective, "/spec/training/max_steps": ROWS}
    assert SHORT not in render(build_known, edits)["train.py"].text


def test_a_reference_that_is_asked_at_each_step_sees_what_is_read(build_known: BuildKnown) -> None:
    """Nothing is computed before training, so nothing is left out."""
    edits = {
        **STEPS,
        "/spec/objective/type": "dpo",
        "/spec/objective/reference": "adapter_off",
    }
    assert SHORT not in render(build_known, edits)["train.py"].text
