"""Repairs of what other notations write: keys that stand for fields, switches, and commas."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.validate import judge as judge_data


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        (
            {"training": {"batch": {"global": 32, "micro": 2}}},
            {"global_batch": 32, "micro_batch": 2},
        ),
        ({"training": {"checkpoints": {"keep": "3"}}}, {"keep_checkpoints": 3}),
        ({"training": {"batch": {"global": "32 rows"}}}, {"global_batch": 32}),
        ({"training": {"learning": {"rate": 1e-4}}}, {"learning_rate": 1e-4}),
    ],
)
def test_a_key_and_those_inside_it_name_fields(part: dict[str, Any], fixed: Any) -> None:
    """There is one finding, and its fix writes the fields."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    assert (finding.code, finding.fix_safety) == ("FTC032", "safe")
    assert apply_patch(spec, finding.fix)["training"] == fixed


@pytest.mark.parametrize("batch", [{"global": 32, "other": 4}, {"global": "many"}, {"global": {}}])
def test_a_key_with_others_inside_it_is_not_renamed(batch: dict[str, Any]) -> None:
    """A part of it would be left without a meaning, and its place would be another mistake."""
    spec = {"name": "x", "model": "m", "data": "d.csv", "training": {"batch": batch}}
    (finding,) = judge_data(spec)
    assert (finding.code, finding.fix) == ("FTC032", ())
    assert "training.global_batch" in finding.help


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("ep", 3, "training.epochs"),
        ("seqlen", 2048, "data.max_length"),
        ("warm", 0.1, "training.warmup"),
        ("gradacc", 4, None),  # another quantity than the global batch
        ("ep", "many", None),
        ("e", 3, None),
        ("ctx", 2048, None),
    ],
)
def test_a_name_of_shortened_words(key: str, value: Any, field: str | None) -> None:
    """It may mean the only field whose words begin so; a guess."""
    spec = {"name": "x", "model": "m", "data": "d.csv", key: value}
    (finding,) = judge_data(spec)
    if field is None:
        assert finding.help.startswith("the keys here are")
        return
    assert finding.help == f"did you mean `{field}`?"
    assert finding.fix_safety == "unsafe"
    assert judge_data(apply_patch(spec, finding.fix)) == []


def test_a_key_without_a_space_behind_its_colon() -> None:
    """In braces YAML reads `count:2` as a key without a value."""
    spec = {"name": "x", "model": "m", "data": "d", "hardware": {"gpu": "T4", "count:2": None}}
    (finding,) = judge_data(spec)
    assert apply_patch(spec, finding.fix)["hardware"] == {"gpu": "T4", "count": 2}


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        ({"training": [{"epochs": 3}, {"seed": 4}]}, {"epochs": 3, "seed": 4}),
        ({"training": {"epochs": "3,", "learning_rate": "1e-4,"}}, None),
        ({"training": {"liger": "true,"}}, {"liger": True}),
    ],
)
def test_what_is_left_of_another_notation(part: dict[str, Any], fixed: Any) -> None:
    """A dash before each key makes a list of objects; a comma ends a line of JSON."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    for finding in judge_data(spec):
        assert finding.fix_safety == "safe"
        spec = apply_patch(spec, finding.fix)
    assert judge_data(spec) == []
    assert spec["training"] == (fixed or {"epochs": 3, "learning_rate": 1e-4})


def test_a_list_of_objects_with_a_key_in_common() -> None:
    """Nothing says which is meant; the help shows no object in another notation."""
    spec = {"name": "x", "model": "m", "data": "d", "training": [{"epochs": 3}, {"epochs": 4}]}
    (finding,) = judge_data(spec)
    assert not finding.fix
    assert "'" not in finding.help


def test_the_batches_of_a_deepspeed_config() -> None:
    """The micro-batch, the accumulation steps and the number of GPUs give the global batch."""
    keys = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 8}
    spec = {"name": "x", "model": "m", "data": "d", "hardware": "2x T4", **keys}
    while findings := judge_data(spec):  # the product is known once both are in their place
        fix = next(each.fix for each in findings if each.fix and each.fix_safety == "safe")
        spec = apply_patch(spec, fix)
    assert spec["training"] == {"micro_batch": 4, "global_batch": 64}


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        ({"data": {"source": "d", "packing": "on"}}, {"source": "d", "packing": "best-fit"}),
        ({"data": {"source": "d", "packing": "No"}}, {"source": "d", "packing": "none"}),
        ({"training": {"gradient_checkpointing": "off"}}, {"gradient_checkpointing": False}),
        ({"training": {"evaluation": {"metric": "off"}}}, {"evaluation": {"metric": "none"}}),
        ({"tracking": "off"}, "none"),
        ({"tracking": False}, "none"),
        ({"tracking": "on"}, None),
        ({"data": {"source": "d", "format": "on"}}, None),
        ({"objective": {"type": "dpo", "beta": "off"}}, None),
    ],
)
def test_a_switch_is_not_a_misspelt_word(part: dict[str, Any], fixed: Any) -> None:
    """`on` is not `none`, nor `off` `offload`: it is what true or false means, or open."""
    spec = {"name": "x", "model": "m", "data": "d.csv", **part}
    (finding,) = judge_data(spec)
    (section,) = part
    assert bool(finding.fix) is (fixed is not None)
    if fixed is not None:
        assert finding.fix_safety == "safe"
        assert apply_patch(spec, finding.fix)[section] == fixed
