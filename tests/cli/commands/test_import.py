"""`ftc import`: the spec on standard output or in a file, and what became of each key."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

Call = Callable[..., Any]
CONFIG = """base_model: Qwen/Qwen3-8B
datasets: [{path: rows.jsonl, type: chat_template}]
sequence_len: 4096
micro_batch_size: 2
learning_rate: 2e-5
tf32: true
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a config of axolotl."""
    path = tmp_path / "My Config.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def test_the_spec_is_the_product(call: Call, config: Path) -> None:
    """The table goes to stderr, so that the spec can be piped."""
    result = call("import", config)
    assert result.code == 0, result.err
    spec = json.loads(result.out)
    assert spec["name"] == "my-config"
    assert spec["training"]["learning_rate"] == 2e-5
    assert "tf32: true" in result.err


def test_a_file_is_written_once(call: Call, config: Path, tmp_path: Path) -> None:
    """A spec that is there stays."""
    target = tmp_path / "my spec.json"
    written = call("import", config, "-o", target)
    assert written.code == 0
    assert f"next: ftc check '{target}'" in written.out
    before = target.read_bytes()
    again = call("import", config, "-o", target, "--name", "other")
    assert again.code == 3
    assert "exists" in again.err
    assert target.read_bytes() == before
    assert call("import", config, "-o", tmp_path / "no" / "spec.json").code == 3


def test_what_the_options_replace(call: Call, config: Path) -> None:
    """Name, model, data and hardware."""
    result = call(
        *("import", config, "--name", "x", "--model", "a/b", "--data", "c.csv"),
        *("--hardware", "2x H100-80GB"),
    )
    spec = json.loads(result.out)
    assert (spec["name"], spec["model"], spec["data"]["source"]) == ("x", "a/b", "c.csv")
    assert spec["hardware"] == "2x H100-80GB"


@pytest.mark.parametrize("more", ["", "rl: gdpo\n", "processor_type: AutoProcessor\n"])
def test_json_is_as_promised(call: Call, config: Path, more: str) -> None:
    """With a spec, and without one."""
    config.write_text(CONFIG + more, encoding="utf-8")
    result = call("import", config, "--format", "json")
    data = json.loads(result.out)
    schema = json.loads((files("ftc") / "import.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(data)
    assert (data["spec"] is None) == bool(more)
    assert result.code == (1 if more else 0)
    written = {each["key"] for each in data["keys"] if not each["key"].startswith("(")}
    assert {"base_model", "datasets[0].path", "datasets[0].type", "tf32"} <= written


def test_the_tool_of_a_script_is_one_of_the_schema(call: Call, tmp_path: Path) -> None:
    """A script of TRL is read with a table of its own, and is named as TRL."""
    script = tmp_path / "train.py"
    code = "t = SFTTrainer(model='a/b', train_dataset=load_dataset('c/d'))\n"
    script.write_text(f"from trl import SFTTrainer\n{code}", encoding="utf-8")
    data = json.loads(call("import", script, "--format", "json").out)
    schema = json.loads((files("ftc") / "import.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(data)
    assert data["tool"] == "trl"


@pytest.mark.parametrize("command", ["check", "plan", "compile"])
def test_check_names_the_import(call: Call, config: Path, command: str) -> None:
    """One finding, in place of one for each key."""
    result = call(command, config)
    assert result.code == 1
    said = result.out + result.err
    assert said.count("FTC") == 2
    assert "FTC090" in said
    assert "ftc import" in said


def test_a_wrong_spec_is_no_foreign_config(call: Call, tmp_path: Path) -> None:
    """A spec with another tool's keys in it is still a spec."""
    path = tmp_path / "spec.yaml"
    path.write_text(
        "name: x\nmodel: a/b\ndata: c.csv\nlearning_rate: 1\nlora_r: 8\nmax_length: 9\n"
    )
    assert "FTC090" not in call("check", path).out


def test_a_file_that_is_not_there(call: Call) -> None:
    """Nothing is said of specs."""
    result = call("import", "nofile.yml")
    assert "there is no file `nofile.yml`\nhelp: check the name and the folder\n" in result.err


def test_a_misspelled_key_is_told_from_an_unknown_one(call: Call, config: Path) -> None:
    """With the key that was meant."""
    config.write_text(f"{CONFIG}learning_rat: 1e-4\nzzz: 1\n", encoding="utf-8")
    said = call("import", config).err
    assert "ftc does not know this key: did you mean `learning_rate`?" in said
    assert "ftc does not know this key: look up what it does" in said


def test_names_of_a_list_that_is_not_there(call: Call, config: Path) -> None:
    """The missing file is named beside what became of the names."""
    text = "model_name_or_path: a/b\nstage: sft\nfinetuning_type: lora\ndataset: identity,other\n"
    config.write_text(text, encoding="utf-8")
    said = call("import", config).err
    assert "; a name of this is not in `dataset_info.json`, which is looked for in" in said
