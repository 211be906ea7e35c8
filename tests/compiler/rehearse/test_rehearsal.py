"""The rehearsal before its first script: one sentence per problem, and no files remain."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import ftc.compiler.rehearse.rehearsal as module
from ftc.compiler.rehearse.rehearsal import rehearse
from ftc.compiler.rehearse.stage import Stage, StageFailed
from ftc.runtime.files import write_rows
from ftc.spec.findings.finding import EnvironmentFailure

SpecMaker = Callable[..., Path]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files, and forbid the network."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return folder


def silent(_name: str, _stage: Stage | None) -> None:
    """Ignore progress."""


def test_a_spec_that_does_not_compile_stops_there(make_spec: SpecMaker, scratch: Path) -> None:
    """Its finding is the cause, and no files remain."""
    told: list[tuple[str, Stage | None]] = []
    path = make_spec(data={"source": "nowhere.csv"})
    found = rehearse(str(path), keep=None, tell=lambda *event: told.append(event))
    assert found.failure is not None
    assert found.failure.stage == "compile"
    assert found.failure.log is None
    assert "nowhere.csv" in found.failure.cause
    assert [name for name, _ in told] == ["compile", "compile"]
    assert not list(scratch.iterdir())


def test_a_model_of_the_table_alone_needs_its_files(make_spec: SpecMaker, scratch: Path) -> None:
    """One sentence names the files, and how to download them without the weights."""
    columns = {"prompt": "prompt", "completion": "completion"}
    path = make_spec(
        model="Qwen/Qwen2.5-0.5B-Instruct", data={"source": "tickets.csv", "columns": columns}
    )
    with pytest.raises(EnvironmentFailure) as failure:
        rehearse(str(path), keep=None, tell=silent)
    assert "tokenizer" in failure.value.message
    assert "hf download Qwen/Qwen2.5-0.5B-Instruct" in failure.value.help
    assert failure.value.exit_code == 3
    assert not list(scratch.iterdir())


def test_without_what_trains_it_says_so(
    make_spec: SpecMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its extra, ftc compiles but does not rehearse."""
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == "trl" else object())
    with pytest.raises(EnvironmentFailure, match="trl cannot be imported") as failure:
        rehearse(str(make_spec()), keep=None, tell=silent)
    assert "`make install`" in failure.value.help


def test_a_folder_in_use_is_not_taken(make_spec: SpecMaker, tmp_path: Path) -> None:
    """`--keep` writes into a new folder or an empty one."""
    with pytest.raises(EnvironmentFailure, match="is not an empty folder"):
        rehearse(str(make_spec()), keep=tmp_path, tell=silent)


def test_an_architecture_without_a_formula_stops_at_the_miniature(
    make_spec: SpecMaker, scratch: Path
) -> None:
    """The error comes before any file is written."""
    path = make_spec()
    config = path.parent / "model" / "config.json"
    named = {**json.loads(config.read_text()), "architectures": ["UnheardOfForCausalLM"]}
    (path.parent / "model" / "model.safetensors").write_bytes(_one_tensor())
    config.write_text(json.dumps(named))
    found = rehearse(str(path), keep=None, tell=silent)
    assert found.failure is not None
    assert (found.failure.stage, len(found.stages)) == ("miniature", 2)
    assert "UnheardOfForCausalLM" in found.failure.cause
    assert not list(scratch.iterdir())


def _one_tensor() -> bytes:
    header = json.dumps({"w": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    return len(header).to_bytes(8, "little") + header + bytes(8)


def test_rows_with_any_separator_are_read(tmp_path: Path) -> None:
    """A text may have a separator of lines; a file of something else ends the stage."""
    path = tmp_path / "data" / "test.jsonl"
    rows = [{"prompt": "a\u2028b", "answer": "c"}]
    write_rows(path, rows)
    assert module._read_rows(tmp_path) == rows
    path.write_text("{\n", encoding="utf-8")
    with pytest.raises(StageFailed, match="cannot be read"):
        module._read_rows(tmp_path)


def test_the_tokens_stage_says_what_was_compared(tmp_path: Path) -> None:
    """The number of rows, and of rows with tools; it fails if there are none."""
    path = tmp_path / "run" / "quantize" / "tokens.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"compared_rows": 12, "rows_with_tools": 9}))
    assert module._result("tokens", tmp_path) == (
        "12 of 12 rows have the same tokens, 9 of them with tools"
    )
    path.write_text(json.dumps({"compared_rows": 0}))
    with pytest.raises(StageFailed, match="no row was compared"):
        module._result("tokens", tmp_path)
