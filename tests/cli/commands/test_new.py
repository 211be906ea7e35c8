"""`ftc new`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def test_a_starter_spec(call: Call, spec_file: Path, tmp_path: Path) -> None:
    """The flags become a spec that checks, and the plan's first line is printed."""
    folder = tmp_path / "My Triage"
    result = call(
        *("new", folder, "--model", "Qwen/Qwen2.5-0.5B-Instruct"),
        *("--data", spec_file.parent / "tickets.csv"),
        *("--hardware", "RTX 4090", "--method", "full"),
        *("--export", "Q8_0", "--export", "Q4_K_M"),
    )
    assert result.code == 0, result.err
    spec = json.loads((folder / "spec.json").read_text())
    assert spec["name"] == "my-triage"
    assert spec["method"] == "full"
    assert spec["export"] == ["Q8_0", "Q4_K_M"]
    assert result.out.splitlines()[0] == f"wrote {folder.as_posix()}/spec.json"
    assert result.out.splitlines()[-1] == f"next: ftc compile '{folder.as_posix()}/spec.json'"


def test_the_plan_is_printed(call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths are read from where one is, and written as seen from the spec."""
    (spec_file.parent / "tickets.csv").write_text(
        "prompt,completion\n" + "".join(f"question {n},answer {n}\n" for n in range(100))
    )
    folder = spec_file.parent / "deep" / "run-1"
    monkeypatch.chdir(spec_file.parent)
    result = call(
        *("new", "deep/run-1", "--data", "tickets.csv", "--hardware", "RTX 4090"),
        *("--model", "Qwen/Qwen2.5-0.5B-Instruct"),
    )
    assert result.code == 0, result.err
    assert json.loads((folder / "spec.json").read_text())["data"] == "../../tickets.csv"
    assert result.out.splitlines()[1].startswith("run-1 fits: peak ")


def test_nothing_is_overwritten(call: Call, spec_file: Path) -> None:
    """A spec that is there stays, exit code 3."""
    before = spec_file.read_bytes()
    result = call("new", spec_file.parent)
    assert result.code == 3
    assert "is there already" in result.err
    assert spec_file.read_bytes() == before


def test_a_wrong_flag_writes_nothing(call: Call, tmp_path: Path) -> None:
    """What the schema refuses is a finding, and no file is left."""
    result = call("new", tmp_path / "x", "--method", "lroa")
    assert result.code == 1
    assert "lora" in result.err
    assert not (tmp_path / "x").exists()


def test_a_file_where_the_folder_should_be(call: Call, tmp_path: Path) -> None:
    """It is said as it is, and an empty flag is no path either."""
    (tmp_path / "x").write_text("mine")
    result = call("new", tmp_path / "x")
    assert (result.code, "is a file" in result.err) == (3, True), result.err
    assert "FTC037" in call("new", tmp_path / "y", "--model", "").err


def test_a_spec_with_errors_is_not_written(call: Call, tmp_path: Path) -> None:
    """The findings name a file that is not there afterwards, which the last line says."""
    result = call("new", tmp_path / "x", "--export", "q4_k_m")
    assert (result.code, "did you mean `Q4_K_M`" in result.err) == (1, True), result.err
    assert result.err.strip().endswith("spec.json was not written: correct the options")
    assert not (tmp_path / "x").exists()


def test_vscode_completes_a_spec(call: Call, spec_file: Path) -> None:
    """The settings name a schema that is there, and a user's own settings are left alone."""
    folder = spec_file.parent / "triage"
    flags = ("--data", spec_file.parent / "tickets.csv", "--model", "Qwen/Qwen2.5-0.5B-Instruct")

    assert call("new", folder, *flags, "--vscode").code == 0

    settings = json.loads((folder / ".vscode/settings.json").read_text(encoding="utf-8"))
    (named,) = settings["json.schemas"]
    assert "spec.json" in named["fileMatch"]
    schema = json.loads((folder / named["url"]).read_text(encoding="utf-8"))
    assert schema == json.loads(call("schema").out)
    assert schema["properties"]["model"]["description"]  # what an editor shows

    (folder / ".vscode/settings.json").write_text("{} // mine")
    (folder / "spec.json").unlink()
    again = call("new", folder, *flags, "--vscode")
    assert again.code == 0, again.err
    assert "was left alone; add to it:" in again.out
    assert '"json.schemas"' in again.out
    assert (folder / ".vscode/settings.json").read_text() == "{} // mine"
