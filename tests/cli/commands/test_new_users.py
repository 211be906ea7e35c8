"""`ftc check` on typical specs of new users: one finding per cause, and the next step."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]


def check(call: Call, spec_file: Path, **changed: Any) -> dict[str, Any]:
    """Return the findings on the fixture's spec with other sections, by code."""
    spec = json.loads(spec_file.read_text()) | changed
    spec_file.write_text(json.dumps(spec))
    found = json.loads(call("check", spec_file, "--format", "json").out)["findings"]
    return {finding["code"]: finding for finding in found}


def test_one_usable_row_is_one_warning(call: Call, spec_file: Path) -> None:
    """What follows from it, empty splits and few steps, is not said again."""
    (spec_file.parent / "tickets.csv").write_text("message,intent\nwhere is it?,delivery\n")
    found = check(call, spec_file)
    assert {"FTC225", "FTC226", "FTC523"} & found.keys() == {"FTC225"}
    assert "none to measure" in found["FTC225"]["message"]


def test_a_broken_row_is_named(call: Call, spec_file: Path) -> None:
    """The first one has its number, and the advice is about its format."""
    with (spec_file.parent / "tickets.csv").open("a") as file:
        file.write("a comma, here,delivery\nand, here,refund\n")
    found = check(call, spec_file)["FTC231"]
    assert "(the first is row 201)" in found["message"]
    assert "double quotes" in found["help"]


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ({"strategy": "ddp", "offload": "parameters"}, "FTC425"),
        ({"strategy": "zero2", "offload": "parameters"}, "FTC426"),
        ({"strategy": "zero3", "offload": "parameters"}, "FTC593"),
        ({"strategy": "zero3"}, "FTC593"),
    ],
)
def test_sampling_is_offered_no_divided_weights(
    call: Call, spec_file: Path, written: dict[str, str], code: str
) -> None:
    """Nobody is sent from one refusal to another: the fix ends all of them."""
    objective = {"type": "grpo", "rewards": [{"match": "exact"}]}
    hardware = "2x A100-80GB"
    found = check(call, spec_file, objective=objective, hardware=hardware, distribution=written)
    assert code in found
    call("check", spec_file, "--fix", "--unsafe")
    codes = check(call, spec_file).keys()
    assert not codes & {"FTC425", "FTC426", "FTC593"}


def test_a_spec_without_hardware(call: Call, spec_file: Path) -> None:
    """It is told that the plan is for this machine, and how to name another."""
    spec = json.loads(spec_file.read_text())
    del spec["hardware"]
    spec_file.write_text(json.dumps(spec))
    found = check(call, spec_file, model="Qwen/Qwen2.5-72B-Instruct")["FTC420"]
    if "no GPU" in found["message"]:  # not on a machine that has one
        assert '"hardware": ' in found["help"]
