"""`ftc watch`."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import read_schema
from tests.tui.watch.folder import BEGAN, Bundle, begin

Call = Callable[..., Any]
FTC = (sys.executable, "-m", "ftc", "watch")


def test_json_keeps_its_promise(call: Call, tmp_path: Path) -> None:
    """Runs in every state, held against the schema."""
    waiting, failed = Bundle(tmp_path / "waiting"), begin(tmp_path / "failed")
    failed.train_to(30)
    failed.note("train", "failed", 61, code=1, sentence="x is finite")
    result = call("watch", "--format", "json", waiting.folder, failed.folder)

    assert (result.code, result.err) == (0, "")
    data = json.loads(result.out)
    jsonschema.validate(data, read_schema("watch.schema.json"))
    first, second = data["runs"]
    assert (first["state"], first["stage"], first["curves"]) == ("waiting", None, {})
    assert (second["state"], second["stage"], second["step"]) == ("failed", "train", 30)
    assert (first["advice"], first["gpus"], first["output"]) == (None, [], [])
    assert second["advice"].startswith("Correct the cause")
    assert second["stages"][1] == {
        "name": "train",
        "status": "failed",
        "began": BEGAN - 10,
        "seconds": 71.0,
        "code": 1,
        "sentence": "x is finite",
    }
    assert second["curves"]["eval_loss"] == [[10, 2.0], [20, pytest.approx(1.9)], [30, 1.8]]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "more": 1}, read_schema("watch.schema.json"))


def test_lines_say_what_the_screen_says(call: Call, tmp_path: Path) -> None:
    """State, stages, numbers, curve; two runs one below the other."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(30)
    bundle.note("train", "stopped", 61, code=75, sentence="told to stop")
    (bundle.folder / "run/stages.log").write_bytes(b"a line \xff\nthe last line\n")
    result = call("watch", "--once", bundle.folder, Bundle(tmp_path / "other", name="next").folder)

    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == "triage: train was stopped with exit code 75: told to stop"
    assert "  memory         13.0 GiB (planned 14.0 GiB)" in lines
    assert sum("⠤" in line or "⠒" in line for line in lines) > 2
    assert "  Start ./run.sh again: it resumes from the last checkpoint." in lines
    assert lines[lines.index("  output") + 1 :][:2] == ["    a line \ufffd", "    the last line"]
    assert "next: not started: ./run.sh starts it" in lines


def test_a_folder_that_is_no_bundle(call: Call, tmp_path: Path) -> None:
    """One sentence, and the exit code of the environment."""
    for arguments in ((), ("--once",), ("--format", "json")):
        result = call("watch", tmp_path, *arguments)
        assert result.code == 3
        assert "is not a bundle" in result.err
        assert "Traceback" not in result.err


@pytest.mark.timeout(60)
def test_a_pipe_is_told_what_happens_until_the_run_ends(tmp_path: Path) -> None:
    """No escape is written; news come as lines, and the end of the run ends the watching."""
    bundle = begin(tmp_path / "b")
    bundle.note("train", "began", time.time() - BEGAN, pid=os.getpid())
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with subprocess.Popen(
        [*FTC, str(bundle.folder)], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        bundle.log(10, 1, loss=1.5)
        bundle.note("train", "failed", time.time() - BEGAN, code=1, sentence="no space")
        rest = process.stdout.read()

    assert process.returncode == 0
    assert first == "triage: train, step 0 of 100 (0%)\n"
    assert "step 1 of 100: training loss 1.5000\n" in rest
    assert rest.endswith(
        "triage: train failed with exit code 1: no space\n"
        "Correct the cause, then start ./run.sh again: finished stages are skipped.\n"
    )
    assert (first + rest).isascii()
    assert "\x1b" not in rest


def test_watching_imports_nothing_that_trains_or_draws(tmp_path: Path) -> None:
    """For lines neither Textual nor torch, nor what compiles."""
    bundle = Bundle(tmp_path / "b")
    said = (
        "import sys\n"
        "from ftc.__main__ import run\n"
        f"run(['watch', '--once', {str(bundle.folder)!r}])\n"
        "heavy = {'torch', 'textual', 'jinja2', 'jsonschema', 'tokenizers'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
