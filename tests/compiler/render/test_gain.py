"""The parts of a bundle that depend on held-out rows and on what the spec allows."""

from ftc.runtime.stages import REPORTING
from tests.compiler.conftest import BuildKnown
from tests.compiler.render.test_bundle import render

ALLOWED = {"/spec/training/evaluation/allow_worse": True}
NO_ROWS = {"/facts/data/usable_rows": 2}


def test_without_validation_rows_nothing_is_compared(build_known: BuildKnown) -> None:
    """No module, and no evaluation before the first step."""
    files = render(build_known, NO_ROWS)
    assert not {"runtime/train/best.py", "runtime/train/verdict.py"} & files.keys()
    assert "eval_on_start" not in files["train.py"].text


def test_allowing_a_worse_result_does_not_train_again(build_known: BuildKnown) -> None:
    """Only spec.json differs, which the verdict reads, and no stage depends on the verdict."""
    with_it, without = render(build_known, ALLOWED), render(build_known, {})
    scripts = [name for name in without if name.endswith(".py")]
    assert [with_it[name].text for name in scripts] == [without[name].text for name in scripts]
    assert "verdict.py" in REPORTING
    assert "spec.json" not in without["train.py"].text
