"""What llama.cpp cannot represent of an adapter is named before anything is converted."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.runtime.compare.same_tokens import JudgedRows
from ftc.runtime.run import Run

safetensors: Any = pytest.importorskip("safetensors.numpy")
np = pytest.importorskip("numpy")
pytest.importorskip("llama_cpp")
from ftc.runtime.compare import conversations, fidelity, reference  # noqa: E402 - they need llama.cpp
from ftc.runtime.export.adapter_export import (  # noqa: E402 - it needs llama.cpp
    UNCONVERTIBLE,
    Job,
    check_adapter,
    write_adapter,
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a stage whose bundle has trained an adapter."""
    found = Run(tmp_path, stage="adapter", script="export.py")
    folder = found.folder / "train" / "model"
    folder.mkdir(parents=True)
    (folder / "adapter_config.json").write_text(json.dumps(dict.fromkeys(UNCONVERTIBLE)))
    weights = {"q_proj.lora_B.weight": np.ones((4, 2), np.float32)}
    safetensors.save_file(weights, folder / "adapter_model.safetensors")
    return found


def test_a_plain_adapter_is_accepted(run: Run) -> None:
    """Nothing is said."""
    check_adapter(run)


@pytest.mark.parametrize("key", UNCONVERTIBLE)
def test_what_cannot_be_converted_is_named(run: Run, key: str) -> None:
    """The converter would drop it silently, or stop."""
    path = run.folder / "train/model/adapter_config.json"
    path.write_text(json.dumps({key: True}), encoding="utf-8")

    with pytest.raises(SystemExit, match=f"cannot represent {key} of this adapter"):
        check_adapter(run)


def test_an_adapter_that_is_cut_off(run: Run) -> None:
    """And one that is not there."""
    weights = run.folder / "train/model/adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(SystemExit, match="is cut off: run train"):
        check_adapter(run)
    weights.unlink()
    with pytest.raises(SystemExit, match="has no adapter: run train"):
        check_adapter(run)


def test_no_row_is_a_failure(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a row to compare its tokens by, no file is left in run/quantize."""
    base, rows = tmp_path / "base", tmp_path / "run/data/test.jsonl"
    for folder in (base, run.folder / "merged", rows.parent):
        folder.mkdir(parents=True)
    rows.touch()
    monkeypatch.setattr(fidelity, "note_reference", lambda *_: None)
    monkeypatch.setattr(fidelity, "judge", lambda *_, **__: {"divergence": 0.0})
    monkeypatch.setattr(reference, "read_response", lambda *_: ({}, 0.001))

    def convert(*_: object, into: Path) -> None:
        into.write_bytes(b"GGUF")

    converter: Any = SimpleNamespace(convert=convert)
    unused: Any = None
    job = Job(
        run=run,
        name="triage",
        base=base,
        converter=converter,
        judged=JudgedRows(path=rows, is_same=conversations.is_same),
        fidelity=unused,
    )
    (tmp_path / "export.py").touch()

    with pytest.raises(SystemExit, match=r"test\.jsonl has no row to compare"):
        write_adapter(job, run.identify())

    assert not list((run.folder / "quantize").iterdir())
