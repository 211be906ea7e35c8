"""Files on request: they stay until they are declined; the workflow goes to the repository."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

SOURCE = "https://git.example/us/ftc@0123abc"
IMAGE = ("Dockerfile", ".dockerignore", ".devcontainer/devcontainer.json")

Call = Callable[..., Any]


def edit(spec_file: Path, **changes: Any) -> None:
    """Change keys of a spec."""
    data = {**json.loads(spec_file.read_text(encoding="utf-8")), **changes}
    spec_file.write_text(json.dumps(data), encoding="utf-8")


def test_what_was_asked_for_stays(call: Call, spec_file: Path) -> None:
    """A later compile keeps it, the drift check knows it, and declining removes it."""
    bundle = spec_file.parent / "triage"
    assert call("compile", spec_file, "--notebook", "--container").code == 0
    assert all((bundle / name).is_file() for name in ("notebook.ipynb", *IMAGE))
    assert call("compile", spec_file, "--check").code == 0
    assert call("compile", spec_file).code == 0
    assert (bundle / "notebook.ipynb").is_file()
    assert call("compile", spec_file, "--no-container").code == 0
    assert not any((bundle / name).exists() for name in IMAGE)
    assert (bundle / "notebook.ipynb").is_file()
    assert call("compile", spec_file, "--no-notebook").code == 0
    assert not (bundle / "notebook.ipynb").exists()


def test_a_readme_in_another_language(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On request, under any locale the same bytes, with every decision and every command."""
    bundle = spec_file.parent / "triage"
    assert call("compile", spec_file, "--readme", "ca", "--readme", "es").code == 0
    written = {path.name: path.read_bytes() for path in bundle.glob("*.md")}
    assert set(written) == {"README.md", "README.ca.md", "README.es.md"}
    english = written["README.md"].decode()
    for name, word in (("README.ca.md", "Cada decisió"), ("README.es.md", "Cada decisión")):
        text = written[name].decode()
        assert f"## {word}\n" in text
        assert text.count("\n| ") > 30
        block = english.split("```\n")[1].split("./run.sh")[0]
        assert block in text
        assert "../tickets.csv" in text  # as the bundle sees it
        assert str(bundle) not in text
    monkeypatch.setenv("LC_ALL", "es_ES.UTF-8")
    assert call("compile", spec_file, "--check").code == 0
    assert call("compile", spec_file).code == 0
    assert {path.name: path.read_bytes() for path in bundle.glob("*.md")} == written
    assert call("compile", spec_file, "--readme", "none", "--readme", "ca").code == 2
    assert call("compile", spec_file, "--readme", "none").code == 0
    assert {path.name for path in bundle.glob("*.md")} == {"README.md"}


def test_nothing_of_a_spec_is_code_of_a_notebook(call: Call, spec_file: Path) -> None:
    """Two specs with other names, data and models have the same code cells."""
    code = []
    for name in ("triage", "other-name"):
        edit(spec_file, name=name)
        assert call("compile", spec_file, "--notebook").code == 0
        notebook = json.loads((spec_file.parent / name / "notebook.ipynb").read_text())
        code.append([c["source"] for c in notebook["cells"] if c["cell_type"] == "code"])
        assert notebook["metadata"]["accelerator"] == "GPU"
        assert name.replace("-", "\\-") in str(notebook["cells"][0]["source"]) or name in str(
            notebook["cells"][0]["source"]
        )
    assert code[0] == code[1]


def test_no_notebook_for_a_cluster(call: Call, spec_file: Path) -> None:
    """A notebook runs on one machine; the sentence says what to change."""
    edit(spec_file, launch="slurm")
    result = call("compile", spec_file, "--notebook")
    assert result.code == 3
    assert "one machine" in result.err
    assert not (spec_file.parent / "triage").exists()


def test_the_image_of_a_gpu(call: Call, spec_file: Path) -> None:
    """It starts from CUDA's image of torch's release, and mounts the folder with the data."""
    assert call("compile", spec_file, "--container").code == 0
    text = (spec_file.parent / "triage/Dockerfile").read_text(encoding="utf-8")
    assert "FROM nvidia/cuda:13.0.1-devel-ubuntu24.04" in text
    assert "--require-hashes -r requirements.lock" in text
    assert "top=$(realpath ..)" in text


def test_the_workflow(call: Call, spec_file: Path) -> None:
    """It is written at the top of the repository, once, and its commands run there."""
    top = spec_file.parent
    subprocess.run(["git", "init", "-q", str(top)], check=True)
    result = call("compile", spec_file, "--workflow", SOURCE)
    assert result.code == 0, result.err
    path = top / ".github/workflows/ftc-triage.yml"
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert found["on"]["push"]["paths"] == ["spec.json", "triage/**"]
    install, compare = found["jobs"]["check"]["steps"][2:]
    assert install["env"] == {"FTC": SOURCE}
    done = subprocess.run(
        ["bash", "-euc", compare["run"]],
        cwd=top,
        env={
            **os.environ,
            **compare["env"],
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert call("compile", spec_file, "--workflow", SOURCE).code == 0
    path.write_text("mine\n", encoding="utf-8")
    refused = call("compile", spec_file, "--workflow", SOURCE)
    assert (refused.code, "another content" in refused.err) == (3, True)
    assert path.read_text(encoding="utf-8") == "mine\n"


@pytest.mark.parametrize("source", ["", "https://git.example/us/ftc", "git@host:us/ftc@abcdef0; x"])
def test_a_source_that_is_no_address(call: Call, spec_file: Path, source: str) -> None:
    """What is no git address with a commit is refused with the form that it has."""
    result = call("compile", spec_file, "--workflow", source)
    assert result.code == 2
    assert "https://HOST/OWNER/ftc@COMMIT" in result.err
    assert not (spec_file.parent / "triage").exists()


def test_no_workflow_without_a_repository(call: Call, spec_file: Path) -> None:
    """The sentence says how to make one, and no bundle is written before."""
    result = call("compile", spec_file, "--workflow", SOURCE)
    assert (result.code, "git init" in result.err) == (3, True)
    assert not (spec_file.parent / "triage").exists()
