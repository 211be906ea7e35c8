"""`ftc compile`."""

import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from ftc.compiler.pipeline import STAGES
from ftc.compiler.write.bundle import RECORD_NAME, STAGING_NAME
from ftc.compiler.write.lock import hash_text

Call = Callable[..., Any]


@pytest.fixture
def bundle(call: Call, spec_file: Path) -> Path:
    """Return the folder of a compiled bundle."""
    result = call("compile", spec_file)
    assert result.code == 0, result.err
    return spec_file.parent / "triage"


def read_files(bundle: Path) -> dict[str, str]:
    """Return the text of every file of a bundle, by its name."""
    files = (path for path in bundle.rglob("*") if path.is_file())
    return {path.relative_to(bundle).as_posix(): path.read_text() for path in files}


@pytest.mark.parametrize("launch", ["local", "slurm", "kubernetes", "skypilot"])
def test_what_comes_next_can_be_pasted(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch, launch: str
) -> None:
    """A folder of two words is one word of a shell, and one with a dash is no option."""
    monkeypatch.chdir(spec_file.parent)
    more: dict[str, object] = {"launch": launch}
    if launch == "kubernetes":
        more["launch"] = {"type": launch, "image": "train:1", "volume": "work"}
    spec_file.write_text(json.dumps(json.loads(spec_file.read_text()) | more))
    result = call("compile", "spec.json", "-o", "-two words")
    assert result.code == 0, result.err
    said = result.out.partition("next:\n")[2].splitlines()
    for line in (each for each in said if each.startswith("  ")):
        (path,) = (word for word in shlex.split(line) if "two words" in word)
        assert path.startswith("./-two words/"), line


def test_the_copy_on_another_machine_has_all_that_it_reads(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One command takes the bundle and the files outside of it, at the same places."""
    monkeypatch.chdir(spec_file.parent)
    result = call("compile", "spec.json")
    command, arrow, there = result.out.splitlines()[-1].strip().partition(" | ssh HOST ")
    assert arrow, result.out
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(  # noqa: S602 - the command that is printed
        f"{command} | {there} -C {shlex.quote(str(elsewhere))}", shell=True, check=True
    )
    (bundle,) = (path.parent for path in elsewhere.rglob("ftc.lock.json"))
    readme = (bundle / "README.md").read_text()
    outside = re.findall(r"^\| outside of this folder \| (\S+) \|$", readme, re.MULTILINE)
    assert outside
    assert all((bundle / path.replace("\\", "")).exists() for path in outside)
    assert "| ftc.lock.json |" in readme


def test_what_it_prints(call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per changed file, one for all of runtime/, and the next two commands."""
    monkeypatch.chdir(spec_file.parent)
    result = call("compile", "spec.json")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("triage/ ")
    assert "  + train.py" in lines
    at = lines.index("next:")
    assert lines[at + 1 : at + 3] == ["  pip install -r triage/requirements.txt", "  triage/run.sh"]
    folder = spec_file.parent / "triage"
    files = (path for path in folder.rglob("*") if path.is_file())
    on_disk = {path.relative_to(folder).as_posix() for path in files}
    told = [line.removeprefix("  + ") for line in lines if line.startswith("  + ")]
    inside = {name for name in on_disk if name.startswith("runtime/")}
    assert set(told) == (on_disk - inside) | {f"runtime/  {len(inside)} files"}
    assert len(told) == len(set(told))
    again = call("compile", "spec.json").out.splitlines()
    assert again[0].startswith("triage/  0 of ")
    assert not [line for line in again if "train.py" in line]


def test_what_builds_llama_cpp_is_told(call: Call, spec_file: Path) -> None:
    """The command that comes next is that of the bundle's README."""
    bundle = spec_file.parent / "triage"
    spec_file.write_text(spec_file.read_text().replace('"lora"', '"lora", "export": ["Q4_K_M"]'))
    result = call("compile", spec_file)
    assert result.code == 0, result.err
    (command,) = [line for line in result.out.splitlines() if "pip install" in line]
    assert command.startswith('  CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install -r ')
    said = 'CMAKE_ARGS="-DGGML_NATIVE=OFF" pip install -r requirements.txt'
    assert said in (bundle / "README.md").read_text().splitlines()


def test_a_second_compile_changes_nothing(call: Call, spec_file: Path, bundle: Path) -> None:
    """Bytes are equal, and the report says so."""
    before = {path: path.read_bytes() for path in bundle.rglob("*") if path.is_file()}
    result = call("compile", spec_file, "--format", "json")
    data = json.loads(result.out)
    assert (data["files"]["created"], data["files"]["replaced"]) == ([], [])
    assert {path: path.read_bytes() for path in before} == before


def test_output(call: Call, spec_file: Path, tmp_path: Path) -> None:
    """`-o` names the folder."""
    assert call("compile", spec_file, "-o", tmp_path / "deep" / "er").code == 0
    assert (tmp_path / "deep" / "er" / "train.py").is_file()


def test_check_finds_nothing(call: Call, spec_file: Path, bundle: Path) -> None:
    """A fresh bundle is what its spec compiles to; without data it still is."""
    (spec_file.parent / "tickets.csv").unlink()
    result = call("compile", spec_file, "--check")
    assert result.code == 0, result.out + result.err
    assert bundle.name in result.out


def test_check_shows_an_edit(call: Call, spec_file: Path, bundle: Path) -> None:
    """An edited file is shown as a diff and named; exit code 1, and nothing is written."""
    edited = bundle / "train.py"
    edited.write_text(edited.read_text() + "# mine\n")
    result = call("compile", spec_file, "--check")
    assert result.code == 1
    assert "-# mine" in result.out
    assert "FTC910" in result.err
    assert edited.read_text().endswith("# mine\n")
    data = json.loads(call("compile", spec_file, "--check", "--format", "json").out)
    assert [(one["name"], one["kind"]) for one in data["drift"]] == [("train.py", "edited")]


def test_check_shows_a_changed_spec(call: Call, spec_file: Path, bundle: Path) -> None:
    """A spec that moved on since the compile is drift too."""
    data = json.loads(spec_file.read_text())
    spec_file.write_text(json.dumps(data | {"training": {"seed": 7}}))
    result = call("compile", spec_file, "--check")
    assert result.code == 1
    assert "train.py" in result.out
    assert bundle.is_dir()


def test_an_edit_is_not_overwritten(
    call: Call, spec_file: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a finding that names the file and the commands to merge; `--force` gives it up."""
    edited = bundle / "train.py"
    edited.write_text("mine\n")
    monkeypatch.chdir(spec_file.parent)
    result = call("compile", "spec.json")
    assert (result.code, result.out) == (1, "nothing was written\n")
    assert "error[FTC910] edited-file: `train.py` was edited" in result.err
    data = json.loads(call("compile", "spec.json", "--format", "json").out)
    assert (data["files"], data["folder"]) == (None, "triage")
    (finding,) = (one for one in data["findings"] if one["code"] == "FTC910")
    assert edited.read_text() == "mine\n"
    beside, compare = re.findall("`(-o .*?|diff .*?)`", finding["help"])
    assert call("compile", "spec.json", *beside.split()).code == 0
    shown = subprocess.run(compare.split(), capture_output=True, text=True, check=False).stdout
    assert "-mine\n" in shown
    assert "+import argparse\n" in shown
    assert call("compile", spec_file, "--force").code == 0
    assert edited.read_text() != "mine\n"


def test_an_edit_is_named_from_inside_the_bundle(
    call: Call, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is then `.`, and the one to compile into beside it still has a name."""
    (bundle / "train.py").write_text("mine\n")
    monkeypatch.chdir(bundle)
    for output in ((), ("-o", ".")):
        result = call("compile", "spec.json", *output, "--format", "json")
        assert result.code == 1, result.err
        (finding,) = (one for one in json.loads(result.out)["findings"] if one["code"] == "FTC910")
        assert f"-o {bundle}.new`" in finding["help"]
        assert f"`diff -u ./train.py {bundle}.new/train.py`" in finding["help"]


def test_errors_write_nothing(call: Call, spec_file: Path) -> None:
    """Findings go to stderr, the product says what was not done."""
    (spec_file.parent / "tickets.csv").write_text("a,b\n1,2\n")
    result = call("compile", spec_file)
    assert result.code == 1
    assert result.out == "nothing was written\n"
    assert "error[FTC2" in result.err
    assert not (spec_file.parent / "triage").exists()


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_stopping_early_writes_nothing(call: Call, spec_file: Path, stage: str) -> None:
    """Only the last stage touches the disk."""
    result = call("compile", spec_file, "--stop-after", stage)
    assert result.code == 0, result.err
    assert not (spec_file.parent / "triage").exists()
    assert ("train.py" in result.out) == (stage in {"render", "verify"})


def test_locked_without_a_lock(call: Call, spec_file: Path) -> None:
    """It fails instead of looking anything up."""
    result = call("compile", spec_file, "--locked")
    assert result.code == 3
    assert "lock" in result.err


def test_update_says_what_moved(call: Call, spec_file: Path, bundle: Path) -> None:
    """New rows are seen by `--update` alone, and it says which facts changed."""
    data = spec_file.parent / "tickets.csv"
    data.write_text(data.read_text() + "a new message,refund\n")
    before = (bundle / "ftc.lock.json").read_bytes()
    assert call("compile", spec_file).code == 0
    assert (bundle / "ftc.lock.json").read_bytes() == before
    result = call("compile", spec_file, "--update")
    assert result.code == 0, result.err
    assert "changed: `data.rows` was 200 and is 201" in result.err


def test_only_a_compile_finishes_an_interrupted_write(
    call: Call, spec_file: Path, bundle: Path
) -> None:
    """Every other command leaves it as it lies; `--force` gives up an edit made since."""
    staging, record = bundle / STAGING_NAME, bundle / RECORD_NAME
    staging.mkdir()
    (staging / "0").write_text("new\n")
    record.write_text(json.dumps({"train.py": [hash_text("new\n")]}))
    train = bundle / "train.py"
    train.write_text("mine\n")
    for command in (("check",), ("plan",), ("compile", "--stop-after", "verify")):
        result = call(command[0], spec_file, *command[1:])
        assert result.code == 0, result.err
    checked = call("compile", spec_file, "--check")
    assert (checked.code, "interrupted" in checked.err) == (3, True)
    blocked = call("compile", spec_file)
    assert (blocked.code, "`train.py` was edited" in blocked.err) == (1, True), blocked.err
    assert (record.exists(), train.read_text()) == (True, "mine\n")
    train.write_text("new\n")
    assert call("compile", spec_file, "--stop-after", "write").code == 0
    assert not record.exists()
    record.write_text(json.dumps({"train.py": [hash_text("new\n")]}))
    train.write_text("mine\n")
    assert call("compile", spec_file, "--force").code == 0
    assert not record.exists()
    assert not staging.exists()
    assert call("compile", spec_file, "--check").code == 0


def test_a_changed_data_file_can_be_allowed(call: Call, spec_file: Path, bundle: Path) -> None:
    """The warning of the lock is silenced by its code, like any rule's."""
    data = spec_file.parent / "tickets.csv"
    data.write_text(data.read_text() + "a new message,refund\n")
    assert "FTC917" in call("compile", spec_file).err
    spec = json.loads(spec_file.read_text())
    spec_file.write_text(json.dumps({**spec, "allow": ["FTC917"]}))
    result = call("compile", spec_file)
    assert (result.code, "FTC917" in result.err) == (0, False), result.err
    assert bundle.is_dir()
    spec_file.write_text(json.dumps({**spec, "allow": ["FTC300"]}))
    refused = call("check", spec_file)
    assert (refused.code, "FTC071" in refused.out) == (1, True), refused.out


def test_the_spec_of_a_bundle_compiles_to_it(
    call: Call, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No bundle is put into a bundle, and a change of its own spec is no edit to be given up."""
    monkeypatch.chdir(bundle)
    carried = json.loads((bundle / "spec.json").read_text())
    (bundle / "spec.json").write_text(json.dumps({**carried, "training": {"seed": 7}}))
    result = call("compile", "spec.json")
    assert result.code == 0, result.err
    assert not (bundle / "triage").exists()
    assert json.loads((bundle / "spec.json").read_text())["training"] == {"seed": 7}
    assert call("compile", "spec.json", "--check").code == 0


def test_a_bundle_behind_a_link(call: Call, spec_file: Path, tmp_path: Path) -> None:
    """The path to the data holds from where the bundle really lies."""
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "near").symlink_to(tmp_path / "far" / "away")
    assert call("compile", spec_file, "-o", tmp_path / "near" / "b").code == 0
    carried = json.loads((tmp_path / "near" / "b" / "spec.json").read_text())
    assert (tmp_path / "near" / "b" / carried["data"]["source"]).is_file()


def test_a_name_that_no_disk_takes(call: Call, spec_file: Path) -> None:
    """It is the world that fails, in a sentence."""
    result = call("compile", spec_file, "-o", "n" * 300)
    assert (result.code, "too long" in result.err) == (3, True), result.err


@pytest.mark.parametrize("hardware", ["cpu", "auto"])
def test_free_disk_space_is_in_no_file(
    call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch, hardware: str
) -> None:
    """Space that comes and goes changes the findings of this machine, and no byte of the bundle."""
    spec_file.write_text(json.dumps(json.loads(spec_file.read_text()) | {"hardware": hardware}))
    free = psutil.disk_usage("/")
    monkeypatch.setattr("ftc.compiler.resolve.hardware.read_gpus", tuple)
    for name, size in (("a", 900 * 2**30), ("b", 500 * 2**30 + 7)):
        here = free._replace(free=size)
        monkeypatch.setattr(psutil, "disk_usage", lambda _, here=here: here)
        assert call("compile", spec_file, "-o", spec_file.parent / name).code == 0
    assert _read_all(spec_file.parent / "a") == _read_all(spec_file.parent / "b")
    monkeypatch.setattr(psutil, "disk_usage", lambda _: free._replace(free=1))
    again = call("compile", spec_file, "-o", spec_file.parent / "a")
    assert (again.code, "FTC423" in again.err) == (1, True), again.err
    assert call("compile", spec_file, "-o", spec_file.parent / "a", "--check").code == 0


def _read_all(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_calibration_stays_in_the_lock(call: Call, spec_file: Path, bundle: Path) -> None:
    """Two compiles write the same bytes, without the file too; `--update` drops what it said."""
    facts = json.loads((bundle / "ftc.lock.json").read_text())["facts"]["hardware"]
    planned = {
        "memory_bytes": 11,
        "margin_bytes": 1,
        "step_seconds": 1.0,
        "calibration": {"memory": 1.0, "time": 1.0},
    }
    pilot = {
        "version": 1,
        "machine": {"kind": "gpu", "device": facts["name"], "count": 1, "nodes": 1},
        "planned": planned,
        "measured": {"memory_bytes": 9, "step_seconds": 2.0},
    }
    path = spec_file.parent / "pilot.json"
    path.write_text(json.dumps(pilot))
    before = read_files(bundle)

    result = call("compile", spec_file, "--calibrate", path)
    assert result.code == 0, result.err
    assert "changed: `calibration` is new" in result.err
    after = read_files(bundle)
    assert after["train.py"] != before["train.py"]
    lock = json.loads(after["ftc.lock.json"])
    assert lock["facts"]["hardware"]["calibration"] == {
        "memory": 0.9,
        "time": 2.0,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    assert call("compile", spec_file, "--calibrate", path).code == 0
    assert read_files(bundle) == after
    path.unlink()
    assert call("compile", spec_file).code == 0
    assert read_files(bundle) == after
    assert call("compile", spec_file, "--check").code == 0

    refused = call("compile", spec_file, "--calibrate", path)
    assert (refused.code, refused.out) == (1, "nothing was written\n")
    assert "FTC308" in refused.err
    assert call("compile", spec_file, "--locked", "--calibrate", path).code == 2
    assert call("compile", spec_file, "--update").code == 0
    assert read_files(bundle) == before
