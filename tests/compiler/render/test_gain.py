"""When a result counts as worse than what training began with, by the bundle's own module."""

import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.stage_folders import apart
from tests.compiler.render.test_bundle import CPU, FULL, render

NAMES = ("guard", "journal", "survival", "gain")
ALLOWED = {"/spec/training/evaluation/allow_worse": True}
NO_ROWS = {"/facts/data/usable_rows": 2}

Load = Callable[[dict[str, Any]], ModuleType]


@pytest.fixture
def load(
    build_known: BuildKnown, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Load]:
    """Return what imports the module of a bundle, from the bundle's folder."""

    def load(edits: dict[str, Any]) -> ModuleType:
        files = render(build_known, {**FULL, **CPU, **edits})
        for name in NAMES:
            (tmp_path / f"{name}.py").write_text(files[f"{name}.py"].text, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        return importlib.import_module("gain")

    with apart(*NAMES):
        yield load


def write_curve(folder: Path, before: float, best: float, noise: float, *, higher: bool) -> None:
    """Write what training notes."""
    curve = {"metric": "macro_f1" if higher else "loss", "before": before, "best": best}
    (folder / "run/train").mkdir(parents=True, exist_ok=True)
    text = json.dumps({**curve, "noise": noise, "higher": higher})
    (folder / "run/train/curve.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "case",
    [(2.0, 1.5, 0.0, False), (2.0, 2.0, 0.0, False), (2.0, 2.007, 0.008, False), (0, 0, 0, True)],
)
def test_as_good_as_before_is_not_worse(
    load: Load, tmp_path: Path, case: tuple[float, float, float, bool]
) -> None:
    """Better, equal, and within what the number is known by: nothing is said."""
    before, best, noise, higher = case
    gain = load({})
    write_curve(tmp_path, before, best, noise, higher=higher)
    gain.judge()
    assert not (tmp_path / "run/train/exit_code.json").exists()


@pytest.mark.parametrize(
    "case", [(2.0, 2.1, 0.008, False), (0.75, 0.73, 0.0, True), (0.5, 0.3, 0.19, True)]
)
def test_worse_ends_with_a_code_of_its_own(
    load: Load,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: tuple[float, float, float, bool],
) -> None:
    """One sentence with both numbers, and the code where run.sh looks for it."""
    before, best, noise, higher = case
    gain = load({})
    write_curve(tmp_path, before, best, noise, higher=higher)
    with pytest.raises(SystemExit) as ended:
        gain.judge()

    assert ended.value.code == 79
    assert (tmp_path / "run/train/exit_code.json").read_text() == "79\n"
    said = capsys.readouterr().err
    assert f"was {before:.4f} before, and {best:.4f} is its best" in said
    assert said.count("\n") == 1


def test_what_is_allowed_is_said(
    load: Load, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line, and the run goes on."""
    gain = load(ALLOWED)
    write_curve(tmp_path, 2.0, 3.0, 0.0, higher=False)
    gain.judge()
    said = capsys.readouterr().out
    assert said.startswith("training made the model worse: the loss on validation was 2.0000")


def test_a_loss_is_known_as_closely_as_it_is_computed(build_known: BuildKnown) -> None:
    """The tolerance is the roundoff of the precision; labels that are counted have none."""
    scored = {"/spec/training/evaluation/best_by": "metric"}
    assert "ROUNDOFF = 2**-24 " in render(build_known, {**FULL, **CPU})["gain.py"].text
    assert "ROUNDOFF = 2**-8 " in render(build_known, {})["gain.py"].text
    counted = render(build_known, scored)["gain.py"].text
    assert "ROUNDOFF" not in counted
    assert "noise = 0.0" in counted


def test_nothing_is_compared_where_nothing_is_held_out(build_known: BuildKnown) -> None:
    """No module, and no evaluation before the first step."""
    files = render(build_known, NO_ROWS)
    assert "gain.py" not in files
    assert "eval_on_start" not in files["train.py"].text


def test_allowing_it_trains_nothing_anew(build_known: BuildKnown) -> None:
    """What a training is known by, its script, is the same with and without."""
    with_it = render(build_known, ALLOWED)["train.py"].text
    assert with_it == render(build_known, {})["train.py"].text
