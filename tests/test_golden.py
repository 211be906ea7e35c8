"""Goldens: each example compiles, from its committed facts, to the committed files.

The six examples that differ most have all of their own files; the others have train.py and the plan
as `ftc plan` prints it. No golden has the modules of `runtime/`, which have tests of their own, or
what follows from tables alone.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from ftc.compiler.pipeline import Outcome
from ftc.compiler.write.lock import LOCK_NAME
from ftc.report.plan import report_plan
from tests.golden_bundles import (
    EXAMPLES,
    GOLDEN,
    ROOT,
    compile_golden,
    dump_facts,
    resolve_golden,
    write_bundle,
)

WHOLE = ("quickstart", "slurm", "dpo", "classification", "grpo", "mixture")
#: Files that follow from tables of ftc, and are the same in many bundles.
DERIVED = ("requirements.lock", "plan.svg", ".gitignore")
PLAN = "plan.txt"
#: Bundles without a special wish, and the most lines of all their scripts and modules.
PLAIN = {"quickstart": 8111, "text": 7687, "pissa": 8105}


def list_golden(name: str, outcome: Outcome) -> Mapping[str, str]:
    """Return the files that a golden holds, by name."""
    assert outcome.plan is not None
    assert outcome.spec is not None
    texts = {file.name: file.text for file in outcome.files if "/" not in file.name}
    own = [file for file in texts if file not in DERIVED] if name in WHOLE else ["train.py"]
    plan = report_plan(outcome.spec.name, outcome.plan, plain=True)
    return {file: texts[file] for file in own} | {PLAN: f"{plan}\n"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_compiles_to_its_golden(name: str, *, update_golden: bool) -> None:
    """The files on disk are what the spec and the committed facts give, to the byte."""
    golden = GOLDEN / name
    if update_golden:
        update(name)

    files = list_golden(name, compile_golden(name))

    held = {path.name: path.read_text(encoding="utf-8") for path in golden.iterdir()}
    assert held.pop(LOCK_NAME)
    for file, text in files.items():
        assert held.get(file) == text, f"{file}: run with --update-golden if this is intended"
    assert set(held) == set(files)


@contextmanager
def make_model(example: Path) -> Iterator[None]:
    """Keep the model of an example for a moment, if it has a script that makes one."""
    script, model = example / "make_model.py", example / "model"
    if not script.is_file() or model.exists():
        yield
        return
    subprocess.run([sys.executable, script], check=True)
    try:
        yield
    finally:
        shutil.rmtree(model)


def update(name: str) -> None:
    """Resolve the facts of an example again, and write its golden."""
    golden = GOLDEN / name
    golden.mkdir(exist_ok=True)
    with make_model(ROOT / "examples" / name):
        outcome = resolve_golden(name)
    assert outcome.lock is not None
    (golden / LOCK_NAME).write_text(dump_facts(outcome.lock), encoding="utf-8")
    compile_golden.cache_clear()
    files = list_golden(name, compile_golden(name))
    for path in golden.iterdir():
        if path.name not in {LOCK_NAME, *files}:
            path.unlink()
    for file, text in files.items():
        (golden / file).write_text(text, encoding="utf-8")


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print plans for a terminal of 80 columns, wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "80")


def test_every_example_has_a_golden() -> None:
    """No spec under examples/ is left unproven."""
    assert set(EXAMPLES) == {path.name for path in GOLDEN.iterdir()}


def test_goldens_stay_small() -> None:
    """A change to a template can be read as a diff of the goldens."""
    files = [path for path in GOLDEN.rglob("*") if path.is_file()]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= 15_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_scripts_are_python_of_bounded_length(name: str) -> None:
    """Every script parses, and train.py stays short."""
    for file in compile_golden(name).files:
        if file.language == "python":
            assert ast.parse(file.text).body
            limit = 200 if file.name == "train.py" else 400
            assert len(file.text.splitlines()) <= limit, file.name


@pytest.mark.parametrize(("name", "lines"), PLAIN.items())
def test_a_plain_bundle_has_bounded_lines(name: str, lines: int) -> None:
    """Its scripts and the modules that they need can be read."""
    languages = ("python", "shell", "runtime")
    files = [file for file in compile_golden(name).files if file.language in languages]
    assert {"train.py", "run.sh", "runtime/run.py"} <= {file.name for file in files}
    assert sum(len(file.text.splitlines()) for file in files) <= lines


@pytest.mark.parametrize("name", EXAMPLES)
def test_scripts_pass_ruff(name: str, tmp_path: Path) -> None:
    """The linter that the field uses has nothing to say about generated scripts."""
    bundle = write_bundle(name, tmp_path)
    rules = ["--select", "E,F,W,I,B,UP", "--line-length", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", *rules, *bundle.glob("*.py")],
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", EXAMPLES)
def test_scripts_are_as_formatted(name: str, tmp_path: Path) -> None:
    """The formatter that the field uses would change nothing in generated scripts."""
    bundle = write_bundle(name, tmp_path)
    options = ["--check", "--diff", "--isolated", "--line-length", "100"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", *options, *bundle.glob("*.py")],
        cwd=bundle,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_locks_hold_no_absolute_path(tmp_path: Path) -> None:
    """What is committed is the same on every machine."""
    for name in EXAMPLES:
        text = (GOLDEN / name / LOCK_NAME).read_text(encoding="utf-8")
        text += (write_bundle(name, tmp_path / name) / LOCK_NAME).read_text(encoding="utf-8")

        assert str(ROOT) not in text
        assert re.search(r'(?<!\\)"/', text) is None  # of a schema in text, quotes are escaped
