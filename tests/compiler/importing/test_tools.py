"""Five configs of each tool, value by value, with specs that were checked by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.importing.importer import import_file
from ftc.compiler.importing.source import read_foreign
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.spec.sections import Spec
from ftc.spec.text.document import Document
from ftc.spec.tools.entry import Entry
from ftc.spec.tools.rows import PAIRED
from ftc.spec.tools.translation import translate
from ftc.spec.validate import validate
from ftc.spec.values.admission import admits

CASES = sorted(Path(__file__).parent.joinpath("cases").glob("*.*"))
SPECS: Mapping[str, Mapping[str, Any]] = json.loads(
    Path(__file__).with_name("specs.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_value_is_where_it_belongs(case: Path) -> None:
    """The spec is exactly the one that was written by hand, and it is valid."""
    result = import_file(str(case))
    assert result.findings == ()
    assert result.spec == SPECS[case.name]
    document = Document(name="", folder=Path(), text="", data=result.spec, positions={})
    assert isinstance(validate(document), Spec)


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_no_key_is_lost(case: Path) -> None:
    """Each key has fields that their schemas admit, or a reason."""
    imported = import_file(str(case)).imported
    assert imported is not None
    for each in imported.keys:
        assert bool(each.fields) != bool(each.reason) or each.reason == "unlisted", each
        assert each.reason != "unknown", each
    assert all(admits(pointer, value) for pointer, value in imported.fields.items())


def test_each_tool_has_five() -> None:
    """The names of the cases begin with their tools."""
    tools = [case.name.partition("-")[0] for case in CASES]
    assert {tool: tools.count(tool) for tool in tools} == dict.fromkeys(
        ("axolotl", "llamafactory", "torchtune", "trl", "unsloth"), 5
    )


@pytest.mark.parametrize(
    "wrong",
    [None, -1, float("inf"), float("nan"), "", "x y", [], [None], [1], {"a": [1]}],
    ids=repr,
)
@pytest.mark.parametrize("case", CASES[::5], ids=lambda path: path.name)
def test_a_value_of_another_kind(case: Path, wrong: object) -> None:
    """It is left with a reason: what is carried over is still a valid spec, and no key is lost."""
    config = read_foreign(case.read_text(encoding="utf-8"), case.name)
    for place in range(2):
        entries = [
            Entry(path=each.path, value=wrong) if number % 2 == place else each
            for number, each in enumerate(config.entries)
        ]
        imported = translate(config.tool, entries, gpus=8)
        assert {each.path for each in entries} <= {each.key for each in imported.keys}
        assert all(admits(pointer, value) for pointer, value in imported.fields.items())
        assert None not in imported.fields.values()


def test_the_objectives_of_preferences_are_those_of_the_table() -> None:
    """The tables of `spec/` cannot read the compiler's table of objectives."""
    paired = {name for name, each in OBJECTIVES.items() if each.forms == ("preference",)}
    assert paired == PAIRED


def test_what_the_class_does_not_take_is_left(tmp_path: Path) -> None:
    """A file of such a model is imported without what only its class prevents."""
    config = tmp_path / "config.yaml"
    text = (
        "base_model: tiiuae/falcon-7b\ndatasets: [{path: a/b, type: alpaca}]\nmicro_batch_size: 1\n"
    )
    config.write_text(f"{text}liger_fused_linear_cross_entropy: true\n", encoding="utf-8")
    imported = import_file(str(config)).imported
    assert imported is not None
    assert "/training/liger" not in imported.fields
    assert next(each for each in imported.keys if each.key.startswith("liger")).reason == "kernels"


def _import_text(folder: Path, text: str) -> Mapping[str, Any]:
    """Return what became of each key of a config of TRL, by key."""
    path = folder / "config.yaml"
    path.write_text(f"{_PEFT}{text}", encoding="utf-8")
    imported = import_file(str(path)).imported
    assert imported is not None
    return {each.key: each for each in imported.keys}


_PEFT = (
    "dataset_name: trl-lib/Capybara\nlearning_rate: 2.0e-4\nuse_peft: true\nlora_r: 32\n"
    "per_device_train_batch_size: 2\n"
)


@pytest.mark.parametrize(
    ("text", "targets", "reason"),
    [
        ("model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct", ["q_proj", "v_proj"], ""),
        ("model_name_or_path: microsoft/phi-2", ["q_proj", "v_proj", "fc1", "fc2"], ""),
        ("model_name_or_path: org/unknown", None, "peft_targets"),
    ],
)
def test_targets_that_peft_chooses_are_stated(
    text: str, targets: list[str] | None, reason: str, tmp_path: Path
) -> None:
    """They are those of the model's type; for an unknown model the report says that."""
    became = _import_text(tmp_path, text)["(PEFT) target_modules"]
    assert (became.kind, became.reason) == ("default", reason)
    assert became.fields == ({} if targets is None else {"/method/targets": targets})


def test_stated_targets_are_not_replaced(tmp_path: Path) -> None:
    """Neither are those of a run without an adapter."""
    stated = "model_name_or_path: Qwen/Qwen2.5-0.5B-Instruct\nlora_target_modules: all-linear"
    assert "(PEFT) target_modules" not in _import_text(tmp_path, stated)


@pytest.mark.parametrize("word", ["steps", "no"])
def test_a_run_that_evaluates_holds_rows_out(word: str, tmp_path: Path) -> None:
    """Its rows for that are a split that ftc does not read, so ftc holds out its own share."""
    text = f"model_name_or_path: a/b\neval_strategy: {word}\neval_steps: 100"
    became = _import_text(tmp_path, text)
    carried = {"/training/evaluation/every_steps": 100} if word == "steps" else {}
    assert became["eval_steps"].fields == carried
    held_out = became["(TRL) holdout"].fields
    assert held_out.get("/data/splits/validation") == (None if word == "steps" else 0)
    assert held_out["/data/splits/test"] == 0


AXOLOTL = "base_model: a/b\nadapter: lora\ndatasets:\n  - path: {path}\n    split: train\n"


def test_what_axolotl_does_by_itself_is_stated(tmp_path: Path) -> None:
    """It warms up for 3% of the steps, and cuts rows at 512 tokens."""
    became = _import_text(tmp_path, AXOLOTL.format(path="org/rows"))
    assert became["(axolotl) warmup_ratio"].fields == {"/training/warmup": 0.03}
    assert became["(axolotl) data/max_length"].fields == {"/data/max_length": 512}


@pytest.mark.parametrize(("path", "splits"), [("a/rows.jsonl", False), ("org/rows", True)])
def test_a_file_has_no_split(path: str, *, splits: bool, tmp_path: Path) -> None:
    """That of a data set of the Hub is carried over."""
    became = _import_text(tmp_path, AXOLOTL.format(path=path))["datasets[0].split"]
    assert bool(became.fields) == splits
    assert became.reason == ("" if splits else "default_alike")
