"""Five configs of each tool, value by value, with specs that were checked by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.importing.importer import import_file
from ftc.compiler.importing.source import read_foreign
from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.spec.admission import admits
from ftc.spec.document import Document
from ftc.spec.sections import Spec
from ftc.spec.tools.entry import Entry
from ftc.spec.tools.rows import PAIRED
from ftc.spec.tools.translation import translate
from ftc.spec.validate import validate

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
        assert bool(each.fields) != bool(each.reason), each
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
