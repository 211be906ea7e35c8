"""The rendered train.py: the order of rows, the validation loss and the choice of the best."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import CPU, FULL, render

ALONE = {**FULL, **CPU}
TWO = {**ALONE, "/facts/hardware/count": 2, "/spec/distribution/strategy": "ddp"}


def find_calls(build_known: BuildKnown, edits: Mapping[str, Any]) -> list[str]:
    """Return the calls of train.py that order rows and average the loss of the validation."""
    text = render(build_known, edits)["train.py"].text
    return re.findall(
        r"^((?:order_rows|sort_rows|average_loss|share_loss)\(.*\))  # .", text, re.MULTILINE
    )


@pytest.mark.parametrize("packing", ["none", "best-fit"])
def test_one_process_arranges_as_two_do(build_known: BuildKnown, packing: str) -> None:
    """Rows are never left to the trainer, which groups by what one process sees."""
    edits = {"/spec/data/packing": packing}
    alone = find_calls(build_known, {**ALONE, **edits})

    order = "sort_rows" if packing == "none" else "order_rows"
    assert alone[0].startswith(f"{order}(trainer")
    assert alone[1:] == ["average_loss(trainer)"]
    both = find_calls(build_known, {**TWO, **edits})
    assert both == [alone[0], "share_loss(trainer, by_token=True)"]


@pytest.mark.parametrize("objective", ["dpo", "kto"])
def test_pairs_and_verdicts_are_averaged_over_rows(build_known: BuildKnown, objective: str) -> None:
    """Several processes would count some rows twice; one process has the mean over rows already."""
    edits = {"/spec/objective/type": objective}

    assert find_calls(build_known, {**TWO, **edits})[-1] == "share_loss(trainer, by_token=False)"
    assert len(find_calls(build_known, {**ALONE, **edits})) == 1


#: Each objective, and what chooses its best checkpoint.
CHOICES = {
    "sft": "BestCheckpoint(session)",
    "dpo": "BestCheckpoint(session)",
    "classification": "BestByMetric(session, rows=len(validation_rows))",
    "grpo": "BestByReward(session)",
    "rloo": "BestByReward(session)",
}


@pytest.mark.parametrize("objective", CHOICES)
def test_the_best_checkpoint_is_saved_confirmed_and_judged(
    build_known: BuildKnown, objective: str
) -> None:
    """Every objective has the callback, evaluates what it kept again, and has a verdict on it."""
    text = render(build_known, {**ALONE, "/spec/objective/type": objective})["train.py"].text
    (callbacks,) = re.findall(r"callbacks=\[(.*)\]", text)
    trained = text.index("trainer.train(")

    assert f"best = {CHOICES[objective]}" in text
    assert callbacks == "session, best" + (
        ", FlatRewards(session)" * (objective in ("grpo", "rloo"))
    )
    confirmed = text.index("gained = best.confirm(trainer)", trained)
    assert confirmed < text.index("trainer.save_model(") < text.index("**gained")
    assert text.splitlines()[-1].startswith("end_if_worse(run)  # ")
