"""When the kept weights count as worse than the model before training."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ftc.runtime.run import Run
from ftc.runtime.train.best import find_reordered, find_roundoff
from ftc.runtime.train.verdict import end_if_worse


def write_curve(folder: Path, before: float, shipped: float, noise: float, *, higher: bool) -> None:
    """Write what training notes."""
    curve = {"metric": "macro_f1" if higher else "loss", "before": before, "shipped": shipped}
    (folder / "run/train").mkdir(parents=True, exist_ok=True)
    (folder / "spec.json").write_text('{"training": "auto"}')
    text = json.dumps({**curve, "noise": noise, "higher": higher})
    (folder / "run/train/curve.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "case",
    [(2.0, 1.5, 0.0, False), (2.0, 2.0, 0.0, False), (2.0, 2.007, 0.008, False), (0, 0, 0, True)],
)
def test_as_good_as_before_is_not_worse(
    tmp_path: Path, case: tuple[float, float, float, bool]
) -> None:
    """Better, equal, and within what the number is known by: nothing is said."""
    before, shipped, noise, higher = case
    write_curve(tmp_path, before, shipped, noise, higher=higher)
    end_if_worse(Run(tmp_path, stage="train"))
    assert not (tmp_path / "run/train/exit_code.json").exists()


@pytest.mark.parametrize(
    "case", [(2.0, 2.1, 0.008, False), (0.75, 0.73, 0.0, True), (0.5, 0.3, 0.19, True)]
)
def test_worse_ends_with_a_code_of_its_own(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: tuple[float, float, float, bool],
) -> None:
    """One sentence with both numbers, and the code where run.sh looks for it."""
    before, shipped, noise, higher = case
    write_curve(tmp_path, before, shipped, noise, higher=higher)
    with pytest.raises(SystemExit) as ended:
        end_if_worse(Run(tmp_path, stage="train"))

    assert ended.value.code == 79
    assert (tmp_path / "run/train/exit_code.json").read_text() == "79\n"
    said = capsys.readouterr().err
    assert f"was {before:.4f} before training, and is {shipped:.4f} at best" in said
    assert said.count("\n") == 1


def test_what_is_allowed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line, and the run goes on."""
    write_curve(tmp_path, 2.0, 3.0, 0.0, higher=False)
    allowed = {"training": {"evaluation": {"allow_worse": True}}}
    (tmp_path / "spec.json").write_text(json.dumps(allowed))
    end_if_worse(Run(tmp_path, stage="train"))
    said = capsys.readouterr().out
    assert said.startswith("training made the model worse: the validation loss was 2.0000")


@pytest.mark.parametrize(
    ("bf16", "fp16", "bits"), [(True, False, 8), (False, True, 11), (False, False, 24)]
)
def test_a_loss_is_known_as_closely_as_it_is_computed(bf16: bool, fp16: bool, bits: int) -> None:
    """Up to the round-off of the precision; float32 sums in another order differ by more."""
    args = SimpleNamespace(bf16=bf16, fp16=fp16)

    assert find_roundoff(args) == 2**-bits
    assert find_reordered(args) == (2**-bits if bits < 24 else 2**-16)
