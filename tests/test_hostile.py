"""Inputs that broke a reader or could: each is rejected within limits of time and memory."""

import time
from pathlib import Path

import pytest

from benchmarks.fuzz.seeds import HOSTILE, make_folder
from benchmarks.fuzz.targets import TARGETS, run_target

CASES = sorted(path.relative_to(HOSTILE).as_posix() for path in HOSTILE.glob("*/*"))
SECONDS = 15.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with a whole model, where every target finds its own file."""
    made = tmp_path_factory.mktemp("hostile")
    make_folder(made)
    return made


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_input_is_no_more_than_refused(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No error that the reader's caller does not expect, and no wait."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    began = time.monotonic()

    run_target(case.partition("/")[0], (HOSTILE / case).read_bytes(), folder)

    assert time.monotonic() - began < SECONDS


def test_every_folder_has_a_target() -> None:
    """No input lies where nothing reads it."""
    assert {case.partition("/")[0] for case in CASES} <= TARGETS.keys()
