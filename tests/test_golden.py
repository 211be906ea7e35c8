"""Goldens: each example compiles, from the facts in its lock, to the committed bundle."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.compiler.pipeline import compile_bundle, drift, write

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
EXAMPLES = {
    "quickstart": "examples/quickstart/spec.json",
    "lora-24gb": "examples/lora-24gb/spec.json",
    "qlora-24gb": "examples/qlora-24gb/spec.json",
    "full-zero3": "examples/full-zero3/spec.json",
    "full-nvme": "examples/full-nvme/spec.json",
    "fsdp": "examples/fsdp/spec.json",
    "chat": "examples/chat/spec.yaml",
    "dpo": "examples/dpo/spec.json",
    "kto": "examples/kto/spec.json",
    "orpo": "examples/orpo/spec.json",
    "freeze": "examples/freeze/spec.json",
    "pissa": "examples/pissa/spec.json",
    "classification": "examples/classification/spec.json",
    "reward": "examples/reward/spec.json",
    "grpo": "examples/grpo/spec.json",
    "text": "examples/text/spec.json",
    "tools": "examples/tools/spec.json",
    "slurm": "examples/slurm/spec.json",
    "kubernetes": "examples/kubernetes/spec.json",
    "skypilot": "examples/skypilot/spec.json",
    "mixture": "examples/mixture/spec.json",
}
SCRIPTS = sorted(GOLDEN.glob("*/*.py"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_compiles_to_its_golden(
    name: str, *, update_golden: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bundle on disk is what the spec and the locked facts give, to the byte."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    spec, golden = str(ROOT / EXAMPLES[name]), GOLDEN / name
    if update_golden:
        write(compile_bundle(spec, output=golden, update=True), force=True)

    outcome, drifts = drift(spec, output=golden)

    assert not outcome.failed, outcome.findings
    assert [found.diff for found in drifts] == []


def test_every_example_has_a_golden() -> None:
    """No spec under examples/ is left unproven."""
    specs = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "examples").glob("*/spec.*")
        if path.suffix in {".json", ".yaml"}
    }

    assert specs == set(EXAMPLES.values())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_golden_script_is_python_of_bounded_length(script: Path) -> None:
    """Every script parses, and the two that are read as part of the product stay short."""
    text = script.read_text(encoding="utf-8")
    limits = {"train.py": 200, "guard.py": 250}

    assert ast.parse(text).body
    assert len(text.splitlines()) <= limits.get(script.name, 400)


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden_passes_ruff(name: str) -> None:
    """The linter that the field uses has nothing to say about generated scripts."""
    rules = ["--select", "E,F,W,I,B,UP", "--line-length", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rules, "."],
        cwd=GOLDEN / name,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_locks_hold_no_absolute_path_and_no_time() -> None:
    """What is committed is the same on every machine."""
    for lock in GOLDEN.glob("*/ftc.lock.json"):
        text = lock.read_text(encoding="utf-8")

        assert json.loads(text)["files"]
        assert str(ROOT) not in text
        assert not re.search(r'"/|"[A-Z]:\\', text)
