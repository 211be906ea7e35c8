"""Keys of other tools in a spec: each leads to its field, or to the reason that it has none."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.spec.findings.finding import Finding
from ftc.spec.patch import apply_patch
from ftc.spec.tools.tables import WRITTEN, read_table
from ftc.spec.validate import judge

#: Keys of Axolotl, LLaMA-Factory, TRL and Unsloth by the section that people write them in: the
#: value, and the fields that the fix sets, or the reason to leave the key out.
CASES: Final[Mapping[str, Mapping[str, list[Any]]]] = json.loads(
    Path(__file__).with_name("foreign_keys.json").read_text(encoding="utf-8")
)
BASE: Final = {"name": "x", "model": "Qwen/Qwen2.5-0.5B-Instruct", "data": {"source": "t.jsonl"}}
TENTHS: Final = {"test": 0.1, "validation": 0.1}
KEYS: Final = [
    (section, key, *case) for section, keys in CASES.items() for key, case in keys.items()
]


def spec_with(section: str, key: str, value: Any) -> dict[str, Any]:
    """Return the base with a key in a section; "" is the top."""
    spec: dict[str, Any] = json.loads(json.dumps(BASE))
    if section == "model":
        spec["model"] = {"id": spec["model"]}
    inner = spec
    for name in section.split(".") if section else ():
        inner = inner.setdefault(name, {})
    inner[key] = value
    return spec


def read(data: Any, pointer: str) -> Any:
    """Return the value at a pointer, in the form in which it is written."""
    for name in pointer.split("/")[1:]:
        data = data[name]
    return data


def only(spec: Mapping[str, Any], key: str) -> Finding:
    """Return the finding about the key."""
    (found,) = [each for each in judge(spec) if each.pointer.endswith(f"/{key}")]
    return found


def test_there_are_many_keys() -> None:
    """All four tools are covered."""
    assert len(KEYS) > 220


@pytest.mark.parametrize("place", ["top", "section"])
@pytest.mark.parametrize(("section", "key", "value", "meant"), KEYS)
def test_a_key_leads_to_its_fields_or_to_a_reason(
    section: str, key: str, value: Any, meant: Mapping[str, Any] | str, place: str
) -> None:
    """It does so at the top of a spec and in its likeliest section."""
    spec = spec_with(section if place == "section" else "", key, value)
    finding = only(spec, key)
    assert finding.fix, finding.help
    fixed = apply_patch(spec, finding.fix)
    if isinstance(meant, str):
        assert finding.remedy.values["why"].key == f"left.{meant}"  # type: ignore[union-attr]
        assert [step["op"] for step in finding.fix] == ["remove"]
        return
    for pointer, expected in meant.items():
        assert read(fixed, pointer) == expected, finding.help
    codes = {each.code for each in judge(fixed)}
    assert codes <= {"FTC050"}  # an objective or method that reads the field may be still to come


def test_every_key_of_the_tables_is_known() -> None:
    """No key of a tool is answered with the list of all keys, or with a field of a similar name."""
    silent = []
    for name in read_table(WRITTEN).keys:
        if any(mark in name for mark in "*[]."):
            continue
        for finding in judge({**BASE, name: "x"}):
            about = finding.pointer == f"/{name}"
            if about and finding.code == "FTC032" and finding.remedy.key == "FTC032.help":
                silent.append(name)
    assert silent == []


@pytest.mark.parametrize(
    ("spec", "fixed"),
    [
        ({"training": {"warmup_steps": 100, "max_steps": 1000}}, ("/training/warmup", 0.1)),
        ({"warmup_steps": 50, "max_steps": 1000}, ("/training/warmup", 0.05)),
        ({"stage": "dpo", "objective": {"beta": 0.2}}, ("/objective/type", "dpo")),
    ],
)
def test_other_keys_of_the_spec_are_read_too(
    spec: Mapping[str, Any], fixed: tuple[str, Any]
) -> None:
    """A number of steps is a share of all steps; a field that the objective reads is no finding."""
    data: Any = {**BASE, **spec}
    for _ in range(3):
        found = judge(data)
        assert all(each.code == "FTC032" and each.fix for each in found), found
        if found:
            data = apply_patch(data, found[0].fix)
    assert judge(data) == []
    assert read(data, fixed[0]) == fixed[1]


@pytest.mark.parametrize(
    ("splits", "meant", "safety"),
    [
        ({"train": 0.8}, {}, "safe"),
        ({"train": 0.9}, {}, "unsafe"),
        ({"train": 0.8, "test": 0.1}, TENTHS, "safe"),
        ({"train": 0.7, "validation": 0.1}, {"validation": 0.1, "test": 0.2}, "safe"),
        ({"train": 0.8, **TENTHS}, TENTHS, "safe"),
        ({"train": 0.9, **TENTHS}, TENTHS, "unsafe"),
        ({"train": "most"}, {}, "unsafe"),
        ({"train": "80%", **TENTHS}, TENTHS, "safe"),
        (
            {"train": 160, "test": 20, "validation": 20},
            {"test": 0.1, "validation": 0.1},
            "unsafe",
        ),
    ],
)
def test_the_training_split_is_what_the_others_leave(
    splits: Mapping[str, Any], meant: Mapping[str, Any], safety: str
) -> None:
    """The fix sets the split that is not given, if there is one."""
    spec = {**BASE, "data": {"source": "t.jsonl", "splits": splits}}
    finding = only(spec, "train")
    assert apply_patch(spec, finding.fix)["data"]["splits"] == meant
    assert finding.fix_safety == safety
    assert "stratify" not in finding.help


@pytest.mark.parametrize(
    ("training", "reason", "safety"),
    [
        ({"push_to_hub": True}, "upload", "unsafe"),
        ({"push_to_hub": True, "hub_model_id": "me/x"}, "hub", "safe"),
        ({"push_to_hub": False}, "off", "safe"),
    ],
)
def test_an_upload_is_dropped_only_where_its_repository_is_named(
    training: Mapping[str, Any], reason: str, safety: str
) -> None:
    """Details of an upload can be dropped; the upload itself is an output and cannot."""
    spec = {**BASE, "training": {**training, "hub_strategy": "every_save"}}
    finding = only(spec, "push_to_hub")
    assert finding.remedy.values["why"].key == f"left.{reason}"  # type: ignore[union-attr]
    assert finding.fix_safety == safety
    assert only(spec, "hub_strategy").fix_safety == "safe"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("max_samples", "50%", "`data.max_rows`? it takes a whole number"),
        ("val_set_size", 0.7, "`data.splits.validation`? it takes a number from 0 to 0.5"),
    ],
)
def test_a_value_that_its_field_refuses_leads_to_what_that_takes(
    key: str, value: Any, said: str
) -> None:
    """A key that means several things leads to the field for this value."""
    finding = only({**BASE, key: value}, key)
    assert said in finding.help
    assert finding.fix == ()


def test_the_project_of_a_tracker_is_kept() -> None:
    """It was left out as a setting of the tracker."""
    spec = {**BASE, "tracking": {"type": "wandb", "project_name": "p"}}
    fixed = apply_patch(spec, only(spec, "project_name").fix)
    assert fixed["tracking"] == {"type": "wandb", "project": "p"}


def test_numbers_of_other_tools_may_be_texts() -> None:
    """The factors of a batch, and a number of steps with its unit."""
    training = {"micro_batch": "4", "gradient_accumulation_steps": "8"}
    spec = {**BASE, "hardware": "2x H100", "training": training}
    fixed = apply_patch(spec, only(spec, "gradient_accumulation_steps").fix)
    assert fixed["training"]["global_batch"] == 64
    spec = {**BASE, "training": {"warmup_steps": "100 steps", "max_steps": 1000}}
    assert apply_patch(spec, only(spec, "warmup_steps").fix)["training"]["warmup"] == 0.1


def test_a_misspelling_of_a_field_is_no_key_of_a_tool() -> None:
    """A similar name still leads to its field, and its value is repaired."""
    spec = {**BASE, "training": {"weight_decoy": "0.1"}}
    fixed = apply_patch(spec, only(spec, "weight_decoy").fix)
    assert fixed["training"] == {"weight_decay": 0.1}


def test_what_is_inside_a_moved_section_is_reported_and_fixed_with_it() -> None:
    """The fix of the section has the fixes of its keys; a key without a fix is reported too."""
    spec = {**BASE, "lora": {"r": 16, "alpha": 32, "load_in_4bit": True}}
    found = {each.pointer: each for each in judge(spec)}
    assert set(found) == {"/lora", "/lora/r", "/lora/load_in_4bit"}
    fixed = apply_patch(spec, found["/lora"].fix)
    assert fixed["method"] == {"rank": 16, "alpha": 32, "type": "qlora"}
    assert judge(fixed) == []
    unknown = judge({**BASE, "lora": {"alpha": 32, "nonsense": 1}})
    assert [each.pointer for each in unknown] == ["/lora", "/lora/nonsense"]


@pytest.mark.parametrize(
    ("objective", "code", "moved"),
    [
        ({"type": "gkd", "teacher": "a/b", "lambda": 0.9}, "FTC040", ()),
        ({"type": "orpo", "lambda": 0.2}, "FTC032", ("/objective/beta",)),
        ({"type": "dpo", "gamma": 0.5}, "FTC032", ()),
        ({"type": "simpo", "gamma": 0.5}, "FTC032", ("/objective/margin",)),
        ({"type": "dpo", "group_size": 64}, "FTC032", ()),
        (
            {"type": "grpo", "rewards": [], "group_size": 8},
            "FTC032",
            ("/objective/num_generations",),
        ),
    ],
)
def test_a_name_with_several_meanings_is_renamed_only_where_one_is_meant(
    objective: Mapping[str, Any], code: str, moved: tuple[str, ...]
) -> None:
    """The lambda of GKD is no beta, and a gamma without SimPO no margin."""
    spec = {**BASE, "objective": objective}
    found = only(spec, list(objective)[-1])
    assert found.code == code
    assert tuple(step["path"] for step in found.fix if step["op"] == "move") == moved


@pytest.mark.parametrize(
    ("training", "floor"),
    [({"min_lr": 1e-5, "learning_rate": 1e-4}, 0.1), ({"min_lr": 1e-5}, None)],
)
def test_a_lowest_learning_rate_is_a_fraction_of_the_highest(
    training: Mapping[str, Any], floor: float | None
) -> None:
    """Without the highest one, the sentence says which fraction to write."""
    spec = {**BASE, "training": training}
    found = only(spec, "min_lr")
    assert "learning_rate_floor" in found.help
    if floor is not None:
        assert apply_patch(spec, found.fix)["training"]["learning_rate_floor"] == floor
    else:
        assert found.fix_safety == "unsafe"


def test_a_guess_that_nothing_would_read_is_no_fix() -> None:
    """`decay` has no effect beside the cosine, so `--fix` would leave it out next."""
    assert only({**BASE, "training": {"lr_decay": 0.1}}, "lr_decay").fix == ()


@pytest.mark.parametrize(
    ("bits", "becomes"), [(4, "qlora"), (8, "qlora"), (3, None), ("hqq", None)]
)
def test_only_4_and_8_bits_are_a_qlora(bits: Any, becomes: str | None) -> None:
    """Other numbers of bits are those of other formats."""
    spec = {**BASE, "quant_bits": bits}
    method = apply_patch(spec, only(spec, "quant_bits").fix).get("method", {})
    assert method.get("type") == becomes


@pytest.mark.parametrize(("time", "moved"), [("36:00:00", True), ("36h", True), (90, False)])
def test_a_time_limit_without_a_unit_is_not_taken_for_hours(time: Any, moved: bool) -> None:
    """Slurm reads a bare number as minutes."""
    launch = {"type": "slurm", "time_limit": time}
    assert bool(only({**BASE, "launch": launch}, "time_limit").fix) == moved


@pytest.mark.parametrize("section", ["objective", "data", "method"])
def test_accumulation_steps_may_be_in_any_section(section: str) -> None:
    """The steps are read where they are written."""
    key = "gradient_accumulation_steps"
    assert only(spec_with(section, key, 4), key).code == "FTC032"


def test_an_ambiguous_value_leads_to_the_field_that_it_may_be_a_value_of() -> None:
    """`deepspeed` may be three strategies; the key is that of one field all the same."""
    found = only({**BASE, "training": {"strategy": "deepspeed"}}, "strategy")
    assert "`distribution.strategy`" in found.help
