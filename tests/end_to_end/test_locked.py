"""The lock of a bundle, held by pip itself: every file comes, with its hash and nothing besides."""

import json
import sys
from pathlib import Path

import pytest

from tests.end_to_end.process import run

SPEC = {
    "name": "locked",
    "model": "Qwen/Qwen2.5-0.5B-Instruct",
    "data": "rows.csv",
    "hardware": "RTX 4090",
    "method": "lora",
}
PUBLIC = {"PIP_CONFIG_FILE": "/dev/null", "PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": ""}


@pytest.mark.prove_all
def test_pip_finds_every_locked_file(tmp_path: Path) -> None:
    """`--require-hashes` gets all packages of a bundle from the index, several GB of them."""
    rows = [f"where is order {n}?,{n % 3}" for n in range(40)]
    (tmp_path / "rows.csv").write_text("\n".join(["prompt,completion", *rows]) + "\n")
    (tmp_path / "spec.json").write_text(json.dumps(SPEC), encoding="utf-8")
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
    assert len(names) > 60
    said = done.out.replace("_", "-").lower()
    assert not [name for name in names if f" {name}-" not in said]
