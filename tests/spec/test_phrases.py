"""Phrases as values: a text that says more than one thing, and which field a value means."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.salvage import salvage
from ftc.spec.validate import judge as judge_data
from ftc.spec.validate import validate
from tests.spec.validating import document_of


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        (
            {"distribution": "zero3 with CPU offload"},
            {"distribution": {"strategy": "zero3", "offload": "optimizer"}},
        ),
        (
            {"distribution": {"strategy": "zero3, offload params"}},
            {"distribution": {"strategy": "zero3", "offload": "parameters"}},
        ),
        (
            {"distribution": "ZeRO stage 2 without offload"},
            {"distribution": {"strategy": "zero2", "offload": "none"}},
        ),
        (
            {"distribution": {"strategy": "zero3 with offload", "offload": "none"}},
            {"distribution": {"strategy": "zero3", "offload": "none"}},
        ),
        ({"distribution": "ddp on cpu"}, {"distribution": "ddp"}),
        (
            {"deepspeed": "zero2_offload"},
            {"distribution": {"strategy": "zero2", "offload": "optimizer"}},
        ),
        ({"method": "LoRA (r=8)"}, {"method": {"type": "lora", "rank": 8}}),
        (
            {"method": "qlora with rank 64, alpha = 128"},
            {"method": {"type": "qlora", "rank": 64, "alpha": 128}},
        ),
        ({"method": "lora + dora"}, {"method": {"type": "lora", "dora": True}}),
        (
            {"training": {"schedule": "cosine with 3% warmup"}},
            {"training": {"schedule": "cosine", "warmup": 0.03}},
        ),
        (
            {"training": {"optimizer": "adamw (lr=2e-4)"}},
            {"training": {"optimizer": "adamw", "learning_rate": 2e-4}},
        ),
        ({"training": {"schedule": "cosine, min lr 1e-5"}}, {"training": {"schedule": "cosine"}}),
        ({"launch": "slurm, 24h time limit"}, {"launch": {"type": "slurm", "hours": 24}}),
        ({"objective": "dpo, beta 0.2"}, {"objective": {"type": "dpo", "beta": 0.2}}),
        ({"hardware": ["T4", "T4"]}, {"hardware": {"gpu": "T4", "count": 2}}),
        ({"hardware": {"gpu": ["T4"] * 4}}, {"hardware": {"gpu": "T4", "count": 4}}),
        ({"hardware": {"count": "gpu:t4:2"}}, {"hardware": {"gpu": "t4", "count": 2}}),
    ],
)
def test_a_value_that_says_more_than_one_thing(part: dict[str, Any], fixed: dict[str, Any]) -> None:
    """What it says of other fields of the section is set too, unless the spec sets them."""
    spec = {"name": "x", "model": "m", "data": "d.csv"}
    (finding,) = judge_data({**spec, **part})
    assert apply_patch({**spec, **part}, finding.fix) == {**spec, **fixed}


@pytest.mark.parametrize(
    ("part", "fixed"),
    [
        ({"qlora": {"rank": 8}}, {"method": {"type": "qlora", "rank": 8}}),
        ({"dpo": {"beta": 0.2}}, {"objective": {"type": "dpo", "beta": 0.2}}),
        ({"objective": {"dpo": {"beta": 0.2}}}, {"objective": {"type": "dpo", "beta": 0.2}}),
        (
            {"method": {"rank": 4, "qlora": {"alpha": 8}}},
            {"method": {"rank": 4, "type": "qlora", "alpha": 8}},
        ),
        (
            {"zero3": {"offload": "none"}},
            {"distribution": {"strategy": "zero3", "offload": "none"}},
        ),
        ({"launch": {"slurm": {"hours": 24}}}, {"launch": {"type": "slurm", "hours": 24}}),
        ({"wandb": {"project": "x"}}, {"tracking": {"type": "wandb", "project": "x"}}),
        ({"quantization": "4bit"}, {"method": {"type": "qlora", "quantization": "nf4"}}),
        ({"hardware": "T4", "gpus": 2}, {"hardware": {"gpu": "T4", "count": 2}}),
        ({"hardware": {"gpus": ["T4", "T4"]}}, {"hardware": {"gpu": "T4", "count": 2}}),
        ({"task": "chat"}, {"objective": "sft"}),
        ({"objective": "summarization"}, {"objective": "sft"}),
        ({"export": False}, {}),
        ({"export": "none"}, {}),
        ({"training": {"precision": "16-mixed"}}, {"training": {"precision": "fp16"}}),
        ({"config": {"model": "m", "method": "qlora"}}, {"method": "qlora"}),
    ],
)
def test_a_value_decides_which_field_is_meant(part: dict[str, Any], fixed: dict[str, Any]) -> None:
    """A key with several meanings is the field that takes its value; a kind is kept."""
    spec = {"name": "x", "model": "m", "data": "d.csv"}
    (finding,) = judge_data({**spec, **part})
    assert finding.fix_safety == "safe"
    assert apply_patch({**spec, **part}, finding.fix) == {**spec, **fixed}


def test_what_may_mean_several_things_has_no_fix() -> None:
    """One of two trackers, an object for a text, and a spec that another one is inside of."""
    spec = {"name": "x", "model": "m", "data": "d.csv"}
    for part in (
        {"tracking": "tensorboard,wandb"},
        {"config": {"anything": "y"}},
        {"config": {"model": "other", "data": "d.csv"}},
        {"method": "lora", "qlora": {"type": "lora"}},
    ):
        (finding,) = judge_data({**spec, **part})
        assert finding.fix == (), finding


def test_a_key_of_a_section_that_moves_is_reported_once() -> None:
    """What is left of a repaired spec does not say it again."""
    part = {"hyperparameters": {"lr": 1e-4, "batch_size": 8}}
    document = document_of({"name": "x", "model": "m", "data": "d.csv", **part})
    findings = validate(document)
    assert isinstance(findings, tuple)
    left = salvage(document, findings)
    assert left is not None
    said = [each.message for each in (*findings, *left.findings)]
    assert len(said) == len(set(said))


def test_a_text_that_names_a_field_twice_has_no_fix() -> None:
    """Which of the two is meant is not known."""
    for method in ("lora, rank 8, rank 16", "qlora with int8 or nf4"):
        (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", "method": method})
        assert finding.fix == ()


def test_gpus_of_several_kinds_are_not_counted() -> None:
    """Each of them may be meant."""
    part = {"hardware": {"gpu": ["A100-80GB", "H100"]}}
    (finding,) = judge_data({"name": "x", "model": "m", "data": "d.csv", **part})
    assert (finding.code, finding.fix) == ("FTC034", ())
