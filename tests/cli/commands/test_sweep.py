"""`ftc sweep`: a bundle for each combination, scripts that run them, and the totals."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ftc.spec.findings.quote import shell_word
from ftc.sweeping import BadGridError, read_grid
from tests.cli.conftest import read_schema

Call = Callable[..., Any]


def following(text: str) -> list[str]:
    """Return the commands that come next."""
    return [line.strip() for line in text.partition("next:\n")[2].splitlines()]


def test_each_point_is_a_bundle(call: Call, spec_file: Path) -> None:
    """With its own values, name, spec and lock."""
    folder = spec_file.parent / "sweep"
    result = call(
        *("sweep", spec_file, "--set", "training.learning_rate=1e-4,2e-4"),
        *("--set", "method.rank=8,32"),
    )
    assert result.code == 0, result.err
    specs = [json.loads((folder / f"point-0{n}/spec.json").read_text()) for n in (1, 2, 3, 4)]
    assert [(each["training"]["learning_rate"], each["method"]["rank"]) for each in specs] == [
        (1e-4, 8), (1e-4, 32), (2e-4, 8), (2e-4, 32)
    ]  # fmt: skip
    assert len({each["name"] for each in specs}) == 4
    for number in (1, 2, 3, 4):
        point = folder / f"point-0{number}"
        assert json.loads((point / "ftc.lock.json").read_text())["decisions"]
    assert call("check", folder / "point-03/spec.json").code == 0
    assert os.access(folder / "run_all.sh", os.X_OK)
    install = f"pip install -r {folder}/point-01/requirements.txt"
    assert following(result.out) == [install, f"{folder}/run_all.sh"]
    assert "LORA_RANK = 32" in (folder / "point-02/train.py").read_text()


def test_the_totals_are_sums(call: Call, spec_file: Path) -> None:
    """Hours, disk, and the cost at the spec's price; the points download their model once."""
    spec = json.loads(spec_file.read_text())
    spec["hardware"] = {"gpu": "RTX 4090", "count": 1, "price_per_hour": 2.0}
    spec_file.write_text(json.dumps(spec))
    result = call("sweep", spec_file, "--set", "method.rank=8,16", "--format", "json")
    assert result.code == 0, result.err
    data = json.loads(result.out)
    Draft202012Validator(read_schema("sweep.schema.json")).validate(data)
    disk = [each["disk_bytes"] for each in data["points"]]
    assert max(disk) < data["total"]["disk_bytes"] < sum(disk)
    for name in ("seconds", "cost"):
        assert data["total"][name] == pytest.approx(sum(each[name] for each in data["points"]))
        assert data["total"][name] > 0
    assert data["points"][1]["values"] == {"method.rank": "16"}


def test_again_changes_nothing(call: Call, spec_file: Path) -> None:
    """The same sweep is written once, or goes on; another one needs another folder."""
    arguments = ("sweep", spec_file, "--set", "method.rank=8,16")
    folder = spec_file.parent / "sweep"
    assert call(*arguments).code == 0
    before = {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    shutil.rmtree(folder / "point-02")
    (folder / "run_all.sh").unlink()
    assert call(*arguments).code == 0
    assert before == {
        path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
    other = call("sweep", spec_file, "--set", "method.rank=8,32")
    assert other.code == 3
    assert "another sweep" in other.err
    assert call("sweep", spec_file, "--set", "method.rank=8,16", "-o", spec_file.parent).code == 3


def test_a_wrong_point_writes_nothing(call: Call, spec_file: Path) -> None:
    """Its values and its errors are shown."""
    result = call("sweep", spec_file, "--set", "method.rank=8,many")
    assert result.code == 1
    assert "point-02: method.rank=many" in result.err
    assert "FTC" in result.err
    assert not (spec_file.parent / "sweep").exists()


def test_what_all_points_share_is_told_once(call: Call, spec_file: Path) -> None:
    """A mistake of the spec is not one of each point."""
    spec_file.write_text(json.dumps(json.loads(spec_file.read_text()) | {"foo": 1}))
    result = call("sweep", spec_file, "--set", "method.rank=8,many")
    assert result.code == 1
    assert result.err.count("error[FTC032]") == 1
    assert "point-01" not in result.err
    assert "point-02: method.rank=many" in result.err
    nowhere = call("sweep", spec_file.with_name("none.json"), "--set", "method.rank=8,16,32")
    assert nowhere.err.count("error[FTC001]") == 1


def test_a_slurm_array(call: Call, spec_file: Path) -> None:
    """It has the options of the points' jobs, and starts the slurm.sh of its point."""
    spec = json.loads(spec_file.read_text()) | {"launch": {"type": "slurm", "partition": "gpu"}}
    spec_file.write_text(json.dumps(spec))
    result = call("sweep", spec_file, "--set", "method.rank=8,16")
    folder = spec_file.parent / "sweep"
    assert following(result.out)[1:] == [
        f"cd {folder} && sbatch slurm_array.sh",
        f"ftc compare {folder}/point-*/",
    ]
    script = (folder / "slurm_array.sh").read_text()
    assert "#SBATCH --array=1-2\n" in script
    assert "#SBATCH --partition=gpu\n" in script
    own = (folder / "point-01/slurm.sh").read_text()
    options = {line for line in own.splitlines() if line.startswith("#SBATCH")}
    shared = {line for line in options if not any(each in line for each in ("job-name", "output"))}
    assert shared <= set(script.splitlines())
    (folder / "point-02/slurm.sh").write_text('echo "$PWD $SLURM_SUBMIT_DIR $1"\n')
    done = subprocess.run(
        ["bash", "slurm_array.sh", "--pilot"],
        cwd=folder,
        env={**os.environ, "SLURM_SUBMIT_DIR": str(folder), "SLURM_ARRAY_TASK_ID": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{folder} {folder}/point-02 --pilot\n"


def test_a_conflict_is_json_too(call: Call, spec_file: Path) -> None:
    """A file of the user is in the way: the findings say so, and the points are listed."""
    arguments = ("sweep", spec_file, "--set", "method.rank=8,16", "--format", "json")
    schema = read_schema("sweep.schema.json")
    first = json.loads(call(*arguments).out)
    Draft202012Validator(schema).validate(first)
    assert first["findings"] == []
    (spec_file.parent / "sweep/point-01/train.py").write_text("mine\n")
    result = call(*arguments)
    data = json.loads(result.out)
    Draft202012Validator(schema).validate(data)
    assert result.code == 1
    assert data["files"] is None
    assert [each["severity"] for each in data["findings"]] == ["error"]


def test_what_comes_next_can_be_pasted(call: Call, spec_file: Path) -> None:
    """A path with a space is one word of a shell, and one with a dash is no option."""
    folder = spec_file.parent / "two words"
    result = call("sweep", spec_file, "--set", "method.rank=8,16", "-o", folder)
    install, start = map(shlex.split, following(result.out))
    assert install[-1] == f"{folder}/point-01/requirements.txt"
    assert start == [f"{folder}/run_all.sh"]
    assert shell_word("-o/run.sh") == "./-o/run.sh"


def test_run_all_runs_every_point(call: Call, spec_file: Path) -> None:
    """A point that fails does not keep the others from running, and the exit code says so."""
    spec = json.loads(spec_file.read_text()) | {"launch": "skypilot"}
    spec_file.write_text(json.dumps(spec))
    result = call("sweep", spec_file, "--set", "method.rank=8,16")
    folder = spec_file.parent / "sweep"
    start = f'for point in {folder}/point-*/; do (cd "$point" && sky jobs launch sky.yaml); done'
    assert following(result.out) == [start, f"ftc compare {folder}/point-*/"]
    for number, code in ((1, 3), (2, 0)):
        script = folder / f"point-0{number}/run.sh"
        script.write_text(f'#!/bin/sh\necho "ran {number} $1" >>"{folder}/log"\nexit {code}\n')
    path = f"{spec_file.parent}:/usr/bin:/bin"  # where there is no ftc
    done = subprocess.run(
        [folder / "run_all.sh", "--pilot"], env={"PATH": path}, check=False, capture_output=True
    )
    assert done.returncode == 1
    assert (folder / "log").read_text() == "ran 1 --pilot\nran 2 --pilot\n"


@pytest.mark.parametrize("script", ["run_all.sh", "slurm_array.sh"])
def test_paths_are_those_of_the_caller(
    script: str, call: Call, spec_file: Path, tmp_path: Path
) -> None:
    """A file that is named beside the caller reaches every point."""
    spec = json.loads(spec_file.read_text()) | {"launch": "slurm"}
    spec_file.write_text(json.dumps(spec))
    assert call("sweep", spec_file, "--set", "method.rank=8,16").code == 0
    folder = spec_file.parent / "sweep"
    caller = folder if script == "slurm_array.sh" else tmp_path / "else where"
    caller.mkdir(exist_ok=True)
    (caller / "other rows.csv").write_text("")
    report = f'#!/bin/bash\nrealpath -e -- "$2" >>"{tmp_path}/log"\n'
    (folder / "point-01/run.sh").write_text(report)
    (folder / "point-02/run.sh").write_text(report)
    environment = {
        "PATH": "/usr/bin:/bin",
        "SLURM_SUBMIT_DIR": str(folder),
        "SLURM_ARRAY_TASK_ID": "2",
    }
    done = subprocess.run(
        [folder / script, "--data", "other rows.csv"],
        cwd=caller, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "log").read_text().splitlines()) == {f"{caller}/other rows.csv"}


@pytest.mark.parametrize(
    ("setting", "values"),
    [
        ("a.b=1,2", ("1", "2")),
        ("a.b=[1,2],[3]", ("[1,2]", "[3]")),
        ('a="x,y","z"', ('"x,y"', '"z"')),
        ('a={"b":1,"c":2}, none', ('{"b":1,"c":2}', "none")),
    ],
)
def test_commas_divide_values(setting: str, values: tuple[str, ...]) -> None:
    """Outside of brackets and quotes."""
    assert tuple(read_grid([setting]).values()) == (values,)


@pytest.mark.parametrize(
    "settings",
    [["a"], ["=1,2"], ["a.=1,2"], ["a=1,,2"], ["a=1"], ["a=1,1"], ["a=1,2", "a=3,4"],
     ["name=x,y"], [f"a={','.join(map(str, range(101)))}"]],
    ids=repr,
)  # fmt: skip
def test_no_grid(settings: list[str], call: Call, spec_file: Path) -> None:
    """One sentence, exit code 2."""
    with pytest.raises(BadGridError):
        read_grid(settings)
    arguments = [part for setting in settings for part in ("--set", setting)]
    result = call("sweep", spec_file, *arguments)
    assert result.code == 2
    assert "--set" in result.err
