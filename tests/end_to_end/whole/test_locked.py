"""The lock of a bundle and the package index: pip finds every file, and no other attention."""

import importlib.metadata
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.end_to_end.process import run

SPEC = {
    "name": "locked",
    "model": "Qwen/Qwen2.5-0.5B-Instruct",
    "data": "rows.csv",
    "hardware": "RTX 4090",
    "method": "lora",
}
SAMPLED = {
    **SPEC,
    "data": "sums.csv",
    "objective": {"type": "grpo", "rewards": ["numeric"], "vllm": "colocate"},
}
PUBLIC = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}


@pytest.mark.prove_all
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("spec", "packages"), [(SPEC, 60), (SAMPLED, 150)])
def test_pip_finds_every_locked_file(
    tmp_path: Path, spec: Mapping[str, Any], packages: int
) -> None:
    """`--require-hashes` gets all packages of a bundle from the index, several GB of them.

    pip also refuses a lock that lacks what one of its packages requires.
    """
    rows = [f"where is order {n}?,{n % 3}" for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["prompt,completion", *rows]) + "\n")
    sums = [f"what is {n} + {n}?,{2 * n}" for n in range(40)]
    (tmp_path / "sums.csv").write_text("\n".join(["prompt,completion", *sums]) + "\n")
    (tmp_path / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    compiled = run("ftc", "compile", "spec.json", cwd=tmp_path)
    assert compiled.code == 0, compiled.said
    lock = tmp_path / "locked" / "requirements.lock"
    started = (sys.executable, "-m", "venv", "--upgrade-deps", tmp_path / "venv")
    assert run(*started, cwd=tmp_path).code == 0

    command: list[str | Path] = [tmp_path / "venv/bin/python"]
    command += ["-m", "pip", "install", "--dry-run", "--no-cache-dir"]
    command += ["--ignore-installed"]
    done = run(*command, "--require-hashes", "-r", lock, cwd=tmp_path, extra=PUBLIC)

    if "No matching distribution" in done.err or "Connection" in done.err:
        pytest.skip("the package index does not answer")
    assert done.code == 0, done.said
    names = [line.split("==")[0] for line in lock.read_text().splitlines() if "==" in line]
    assert len(names) > packages
    said = done.out.replace("_", "-").lower()
    assert not [name for name in names if f" {name}-" not in said]


@pytest.mark.prove_all
@pytest.mark.parametrize("package", ["flash-attn", "flash-attn-3", "kernels"])
def test_the_index_has_no_other_attention(tmp_path: Path, package: str) -> None:
    """No wheel that the pinned transformers accepts; when there is one, revise FTC326."""
    asked = [Requirement(line) for line in importlib.metadata.requires("transformers") or ()]
    accepted = {each.name: str(each.specifier) for each in asked}.get(package, "")
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps"]
    command += ["--ignore-installed", "--only-binary=:all:", f"{package}{accepted}"]
    ended = run(*command, cwd=tmp_path, extra=PUBLIC)
    if "Connection" in ended.err:
        pytest.skip("the package index does not answer")
    assert ended.code != 0, ended.said
    assert "No matching distribution" in ended.err
