"""Repairs of keys, lists and numbers of a spec, and of values that belong to another field."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.validate import judge as judge_data
from ftc.spec.violations import find_violations
from tests.spec.validating import FULL, refuse


@pytest.mark.parametrize(
    ("hardware", "gres", "fixed", "help_"),
    [
        ("1x RTX-4090", "gpu:a100:1", None, "name different things"),
        ("1x A100", "gpu:a100:1", "1x A100", "says the same"),
        ("1x RTX-4090", "gpu:1", "1x RTX-4090", "says the same"),
        ({"count": 1}, "gpu:a100:1", {"count": 1, "gpu": "a100"}, "did you mean"),
        ("2x A100", "gpu:1", None, "another value is set there"),
    ],
)
def test_a_resource_beside_the_hardware_is_not_lost(
    hardware: Any, gres: str, fixed: Any, help_: str
) -> None:
    """Slurm's count and GPU are left out where they are known, and never where they differ."""
    launch = {"type": "slurm", "gres": gres}
    spec = {"name": "x", "model": "m", "data": "d.csv", "hardware": hardware, "launch": launch}
    (finding,) = judge_data(spec)
    assert help_ in finding.help
    assert bool(finding.fix) == (fixed is not None)
    if finding.fix:
        assert apply_patch(spec, finding.fix)["hardware"] == fixed


def test_a_word_that_only_resembles_an_unsupported_one_is_not_taken_for_it() -> None:
    """`sft` shares letters with `oft`, which ftc does not have."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "method": "sft"})
    assert finding.code == "FTC035"


def test_a_list_of_files_is_several_sources() -> None:
    """The fix is the section that was meant; a list that it cannot hold has no fix."""
    document = {**FULL, "data": ["a.csv", "b.csv"]}
    (finding,) = [each for each in find_violations(document) if each.pointer == "/data"]
    value = {"sources": ["a.csv", "b.csv"]}
    assert finding.fix == ({"op": "replace", "path": "/data", "value": value},)
    assert "sources" in finding.help
    (finding,) = [
        each for each in find_violations({**FULL, "data": [1]}) if each.pointer == "/data"
    ]
    assert finding.fix == ()


def test_a_number_in_place_of_a_text_gets_quotes() -> None:
    """A whole number is a sound name; nothing else is one."""
    (finding,) = find_violations({**FULL, "name": 123})
    assert finding.fix == ({"op": "replace", "path": "/name", "value": "123"},)
    assert finding.help == 'write it in quotes: `"123"`'
    for other in (True, 1.5, -3):
        (finding,) = find_violations({**FULL, "name": other})
        assert finding.fix == ()


@pytest.mark.parametrize(
    ("pointer", "written", "meant"),
    [
        ("/data/max_length", "4k", 4096),
        ("/objective/answer_tokens", "32K tokens", 32768),
        ("/objective/answer_tokens", "2k", 2048),
        ("/data/max_rows", "4k", 4000),
    ],
)
def test_a_kilo_is_that_of_the_field(pointer: str, written: str, meant: int | None) -> None:
    """Lengths in tokens are counted in powers of two, rows are not."""
    section, name = pointer[1:].split("/")
    base = {"data": {"source": "a.jsonl"}, "objective": {"type": "grpo"}}[section]
    findings = refuse({**FULL, section: {**base, name: written}})
    fixes = [step["value"] for each in findings if each.pointer == pointer for step in each.fix]
    assert fixes == ([] if meant is None else [meant])


@pytest.mark.parametrize("section", ["", "training"])
def test_a_batch_beside_steps_is_that_of_one_pass(section: str) -> None:
    """By itself `batch_size` may be the whole batch; steps of accumulation multiply it."""
    keys = {"batch_size": 4, "gradient_accumulation_steps": 2}
    spec = {**FULL, "hardware": "2x L4", **({section: keys} if section else keys)}
    rows, steps = refuse(spec)
    assert "micro_batch`" in rows.help
    assert rows.fix_safety == "unsafe"
    assert "4 rows \u00d7 2 steps \u00d7 2 GPUs" in steps.help
    (alone,) = refuse({**FULL, "hardware": "L4", "training": {"batch_size": 4}})
    assert "global_batch`" in alone.help
    assert [step["path"] for step in alone.fix] == ["/training/global_batch"]
    assert alone.fix_safety == "unsafe"


def test_a_key_that_contradicts_a_field_says_what_it_asks_for() -> None:
    """Without the value it would be unclear what the two disagree about."""
    (finding,) = refuse({**FULL, "method": "full", "load_in_4bit": True})
    assert finding.fix == ()
    assert "`method.type` with the value `qlora`" in finding.help


def test_an_empty_section_is_left_out() -> None:
    """YAML reads `training:` above keys that are not indented as null; a needed section stays."""
    for section in ("training", "objective", "export"):
        (finding,) = refuse({**FULL, section: None})
        assert finding.fix == ({"op": "remove", "path": f"/{section}"},)
    findings = refuse({**FULL, "data": None})
    assert all(not finding.fix for finding in findings)


def test_a_small_number_is_no_gpu() -> None:
    """It counts GPUs: in quotes it would be another mistake. A model number is quoted."""
    (finding,) = refuse({**FULL, "hardware": 8})
    assert (finding.code, finding.fix) == ("FTC034", ())
    (finding,) = refuse({**FULL, "hardware": 4090})
    assert finding.fix[0]["value"] == "4090"


def test_the_advice_on_a_malformed_item_has_an_example() -> None:
    """The example is an item of the list's own."""
    launch = {"type": "slurm", "modules": ["cuda/12.4", "$(whoami)"]}
    (finding,) = find_violations({**FULL, "launch": launch})
    assert (finding.pointer, finding.help) == (
        "/launch/modules/1",
        'write text such as `"cuda/12.4"`',
    )


def test_the_keys_of_a_moved_section_are_reported_with_it() -> None:
    """A section with another tool's name moves as a whole; its keys keep that tool's names."""
    train = {"num_train_epochs": "3", "learningRate": 2e-4}
    data = {name: value for name, value in FULL.items() if name != "training"} | {"train": train}
    found = refuse(data)
    assert isinstance(found, tuple)
    assert [each.pointer for each in found] == [
        "/train",
        "/train/num_train_epochs",
        "/train/learningRate",
    ]
    repaired = apply_patch(data, found[0].fix)
    assert repaired["training"] == {"epochs": 3, "learning_rate": 2e-4}


@pytest.mark.parametrize(
    "export",
    [["Q4_K_M", "Q4_K_M"], ["q4_k_m", "Q4_K_M"], ["Q4_K_M", "Q8_0", "q4_k_m", "Q8_0"]],
)
def test_a_repaired_list_holds_no_item_twice(export: list[str]) -> None:
    """Duplicates are removed, also those that only a repair turns into duplicates."""
    data: Any = {**FULL, "export": export}
    for _ in range(3):
        found = [finding for finding in find_violations(data) if finding.fix]
        if not found:
            break
        data = apply_patch(data, found[0].fix)
    assert sorted(data["export"]) == sorted(set(data["export"]))
    assert not list(find_violations(data))


def test_a_list_of_one_word_is_the_word() -> None:
    """A field that takes no list gets its item; a list of two has no such repair."""
    (finding,) = find_violations({**FULL, "method": ["lora"]})
    assert finding.fix == ({"op": "replace", "path": "/method", "value": "lora"},)
    (finding,) = find_violations({**FULL, "method": ["lora", "qlora"]})
    assert finding.fix == ()


def test_a_key_moves_into_a_section_that_is_a_list() -> None:
    """The list is the short form of the section, which becomes its object first."""
    spec = {"name": "x", "model": "m", "data": "d.csv", "export": ["Q8_0"]}
    (finding,) = judge_data({**spec, "publish": {"max_metric_drop": 0.1}})
    export = {"types": ["Q8_0"], "verify": {"max_metric_drop": 0.1}}
    fixed = apply_patch({**spec, "publish": {"max_metric_drop": 0.1}}, finding.fix)
    assert fixed["export"] == export


def test_a_repair_shows_no_control_character() -> None:
    """The value of a list of one is shown as other values are."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "$schema": ["\x1f"]})
    assert finding.help.isprintable()


@pytest.mark.parametrize(
    "part",
    [
        {"export": [{"type": "Q4_K_M"}]},
        {"allow": [{"name": "FTC225"}]},
        {"data": {"source": "d.csv", "splits": [0.8, None, {}]}},
        {"data": {"source": "d.csv", "splits": "1/2/3"}},
        {"data": {"source": "d.csv", "splits": [10, 10, 80]}},
    ],
)
def test_an_object_or_a_list_where_none_is_taken_has_no_fix(part: dict[str, Any]) -> None:
    """Nothing is moved out of a list."""
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert (finding.code, finding.fix) == ("FTC034", ())
    assert "ftc sweep" not in finding.help
