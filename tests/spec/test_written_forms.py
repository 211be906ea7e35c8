"""Keys and values as people write them: codes of rules, GPUs as keys, initials, number formats."""

from typing import Any

import pytest

from ftc.spec.patch import apply_patch
from ftc.spec.violations import find_violations
from tests.spec.validating import FULL


@pytest.mark.parametrize(
    "written", ["tight-fit", "ftc421", "FTC-421", "421", 421, "warning[FTC421]", "FTC421 tight-fit"]
)
def test_a_rule_is_allowed_as_people_write_it(written: str | int) -> None:
    """By its name, its number, or in the line that a finding has."""
    (finding,) = find_violations({**FULL, "allow": [written]})
    assert finding.fix == ({"op": "replace", "path": "/allow/0", "value": "FTC421"},)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"A100": 2}, {"gpu": "A100", "count": 2}),
        ({"RTX 4090": "2"}, {"gpu": "RTX 4090", "count": 2}),
        ({"L4": None}, {"gpu": "L4"}),
        ({"H100": "80GB"}, {"gpu": "H100-80GB"}),
        ({"gpu": {"A100": 2}}, {"gpu": "A100", "count": 2}),
    ],
)
def test_a_gpu_as_a_key_is_the_gpu(written: dict[str, Any], meant: dict[str, Any]) -> None:
    """Its value is how many there are, or the memory of each."""
    document = {**FULL, "hardware": written}
    (finding,) = [each for each in find_violations(document) if each.fix]
    assert apply_patch(document, finding.fix)["hardware"] == meant


@pytest.mark.parametrize("key", ["bs", "mbs"])
def test_initials_are_a_guess_at_a_field(key: str) -> None:
    """`bs` is the batch size; only `--unsafe` writes it."""
    document = {**FULL, "training": {key: 8}}
    (finding,) = find_violations(document)
    assert finding.fix


def test_the_number_format_of_the_model_is_that_of_training() -> None:
    """`model.dtype` moves to `training.precision`, whose words it has."""
    document = {**FULL, "model": {"id": "m", "dtype": "bf16"}}
    (finding,) = find_violations(document)
    assert finding.fix_safety == "safe"
    assert apply_patch(document, finding.fix)["training"]["precision"] == "bf16"
