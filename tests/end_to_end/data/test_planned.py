"""`prepare.py` holds the data to the plan, and the held-out rows to those of earlier runs.

Each run of the script is a fork of this process, which has imported what the script imports.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import compile_bundle, write
from tests.end_to_end.process import Ended, read_rows, run, write_json
from tests.end_to_end.stages import run_stage
from tests.tiny_models import write_model, write_rows

pytestmark = pytest.mark.prove


@pytest.fixture(autouse=True)
def _imported() -> None:
    """Import once what every fork would import."""
    for name in ("transformers.models.auto", "pyarrow.json", "sentencepiece"):
        pytest.importorskip(name)


def compile_spec(folder: Path, **spec: Any) -> Path:
    """Compile a spec in this process, on the CPU; return its bundle."""
    write_json(folder / "spec.json", {"hardware": "cpu", **spec})
    outcome = compile_bundle(str(folder / "spec.json"))
    assert not outcome.failed, outcome.findings
    write(outcome)
    return folder / str(spec["name"])


def compile_here(folder: Path, **sections: Any) -> Path:
    """Compile a spec on a small model's tokenizer and 300 rows."""
    write_model(folder / "model")
    write_rows(folder)
    return compile_spec(
        folder, **{"name": "held", "model": "./model", "data": "tickets.csv", **sections}
    )


def prepare(bundle: Path, *arguments: str | Path) -> Ended:
    """Run the stage; what it prints comes by both streams as one."""
    said = bundle / "said.txt"
    child = os.fork()
    if child == 0:
        with said.open("w", encoding="utf-8", buffering=1) as sys.stderr:
            code: Any = 70
            try:
                run_stage(bundle, "prepare.py", *map(str, arguments))
                code = 0
            except SystemExit as leave:
                code = leave.code
                sys.stderr.write(f"{code}\n")
            finally:
                os._exit(code if isinstance(code, int) else 1)
    _, status = os.waitpid(child, 0)
    text = said.read_text(encoding="utf-8")
    return Ended(code=os.waitstatus_to_exitcode(status), out=text, err=text)


def keep(path: Path, rows: int) -> None:
    """Leave only the first rows of a table."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[: rows + 1]), encoding="utf-8")


def test_a_row_less_is_a_warning_and_half_of_them_an_end(tmp_path: Path) -> None:
    """Unless the data are meant: by a flag, or since the command line names them."""
    bundle, data = compile_here(tmp_path), tmp_path / "tickets.csv"
    as_planned = prepare(bundle)
    assert (as_planned.code, "warning" in as_planned.out) == (0, False), as_planned.said

    keep(data, 299)
    less = prepare(bundle)
    assert less.code == 0, less.said
    assert "warning: tickets.csv is not the file that the plan was made with" in less.out
    assert "299 usable rows, 300 planned" in less.out

    keep(data, 150)
    halved = prepare(bundle)
    assert halved.code == 1
    assert (
        "planned for 300 rows, now 150: compile again with `ftc compile SPEC --update`"
        in halved.err
    )
    assert json.loads((bundle / "run/data/report.json").read_text())["rows_read"] == 299
    for arguments in (("--changed-data",), ("--data", data)):
        (bundle / "run/done/prepare.json").unlink()
        meant = prepare(bundle, *arguments)
        assert (meant.code, "warning: tickets.csv is not" in meant.out) == (0, True), meant.said
    assert json.loads((bundle / "run/data/report.json").read_text())["rows_read"] == 150


def test_longer_rows_are_other_data(tmp_path: Path) -> None:
    """As many rows, three times as long, need other memory than was planned."""
    bundle = compile_here(tmp_path, data={"source": "tickets.csv", "max_length": 512})
    write_rows(tmp_path, words=60)
    longer = prepare(bundle)
    assert longer.code == 1
    assert "95% of the rows have at most" in longer.err


def test_a_source_of_a_mixture(tmp_path: Path) -> None:
    """The file that changed is named, with its own rows."""
    write_rows(tmp_path)
    (tmp_path / "tickets.csv").rename(tmp_path / "more.csv")
    keep(tmp_path / "more.csv", 100)
    (tmp_path / "more.csv").write_text((tmp_path / "more.csv").read_text().replace("order", "box"))
    bundle = compile_here(tmp_path, data={"sources": ["tickets.csv", "more.csv"]})
    keep(tmp_path / "more.csv", 40)
    halved = prepare(bundle)
    assert halved.code == 1
    assert "more.csv is not the file" in halved.err
    assert "planned for 100 rows, now 40" in halved.err
    assert "tickets.csv" not in halved.err


@pytest.mark.parametrize("argument", ["--changed-data", "--data"])
def test_run_sh_hands_it_on(tmp_path: Path, argument: str) -> None:
    """The whole run takes the same arguments as its first stage."""
    bundle = compile_here(tmp_path)
    (bundle / "prepare.py").write_text(
        "import sys\nsys.exit(f'{sys.argv[1:]}')\n", encoding="utf-8"
    )
    given = [argument, "../tickets.csv"][: 1 + (argument == "--data")]
    assert f"['{argument}'" in run("bash", "run.sh", *given, cwd=bundle).err


def test_prompts_that_earlier_runs_trained_on(tmp_path: Path) -> None:
    """The held-out rows are compared with those of every run before, as both are on the disk."""
    first = compile_here(tmp_path, data={"source": "tickets.csv", "splits": {"stratify": False}})
    assert prepare(first).code == 0
    shutil.copytree(tmp_path / "model", first / "run/merged")
    (first / "run/done/merge.json").write_text("{}", encoding="utf-8")
    prompts = [
        line.split(",")[0] for line in (tmp_path / "tickets.csv").read_text().splitlines()[1:]
    ]
    counts = []
    for name, ordered in (("alike", prompts), ("mixed", sorted(prompts))):
        pairs = ({"prompt": one, "chosen": "yes", "rejected": "no"} for one in ordered)
        text = "".join(f"{json.dumps(pair)}\n" for pair in pairs)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
        spec: dict[str, Any] = {"name": name, "hardware": "cpu", "objective": "dpo"}
        spec |= {"model": "./held", "data": f"{name}.jsonl"}
        ended = prepare(compile_spec(tmp_path, **spec))
        assert ended.code == 0, ended.said
        counts.append(ended.out.count("have a prompt that the bundle `held` trained on"))
    assert counts == [0, 2]
    trained, tested = (
        {row["messages"][0]["content"] for row in read_rows(path)}
        for path in (first / "run/data/train.jsonl", tmp_path / "mixed/run/data/test.jsonl")
    )
    assert f"warning: {len(trained & tested)} of {len(tested)} rows in test have" in ended.out
