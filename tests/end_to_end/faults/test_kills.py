"""Rounds of kills for each way to train: one a stage, at random moments; 64 in all."""

from pathlib import Path

import pytest

from tests.end_to_end.faults.kills import SPECS, STAGES, finish, make_bundle, play_round


@pytest.fixture
def folder(tmp_path: Path, sdist: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder whose bundles find the source of the converter."""
    monkeypatch.setenv("FTC_LLAMA_CPP_SDIST", str(sdist))
    return tmp_path


@pytest.mark.prove_all
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("method", SPECS)
def test_killed_in_every_stage(folder: Path, model: Path, method: str, seed: int) -> None:
    """Whatever was killed, trained tensors, merged weights and GGUF files have the same bits."""
    bundle = make_bundle(folder, method, model, ["Q8_0"])
    wanted = finish(bundle)

    kills = play_round(bundle, wanted, STAGES, seed=seed)

    assert len(kills) >= len(STAGES) // 2
    assert {"prepare.py", "train.py"} <= {kill.struck for kill in kills}
