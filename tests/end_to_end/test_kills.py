"""A round of kills for each way to train: one a stage, at the moments of one seed."""

from pathlib import Path

import pytest

from tests.end_to_end.kills import SPECS, STAGES, finish, make_bundle, play_round


@pytest.mark.prove_all
@pytest.mark.parametrize("method", SPECS)
def test_killed_in_every_stage(
    tmp_path: Path, model: Path, sdist: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was killed, trained tensors, merged weights and GGUF files have the same bits."""
    monkeypatch.setenv("FTC_LLAMA_CPP_SDIST", str(sdist))
    bundle = make_bundle(tmp_path, method, model, ["Q8_0"])
    wanted = finish(bundle)

    kills = play_round(bundle, wanted, STAGES, seed=1)

    assert len(kills) >= len(STAGES) // 2
    assert {"prepare.py", "train.py"} <= {kill.struck for kill in kills}
