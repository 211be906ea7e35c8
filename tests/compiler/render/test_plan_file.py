"""plan.json: the plan that the report of a run shows."""

import json
from typing import Any

import pytest

from tests.golden_bundles import compile_golden


def read_report(name: str) -> dict[str, Any]:
    """Return what the plan of an example says to the report."""
    (text,) = (file.text for file in compile_golden(name).files if file.name == "plan.json")
    found: dict[str, Any] = json.loads(text)["report"]
    return found


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("quickstart", "full: all weights"),
        ("freeze", "some layers, the others frozen"),
        ("chat", "LoRA"),
        ("qlora-24gb", "QLoRA: LoRA on a base in 4 bits"),
    ],
)
def test_the_method_is_in_words(name: str, method: str) -> None:
    """Each method has its own."""
    assert read_report(name)["settings"]["method"] == method


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("quickstart", "loss per token (nats)"),
        ("dpo", "loss per row"),
        ("kto", "loss per row"),
        ("classification", "loss per row"),
    ],
)
def test_the_loss_has_its_unit(name: str, unit: str) -> None:
    """Objectives that compare answers or give a row a number have a loss per row."""
    assert read_report(name)["loss"] == unit


def test_hashes_are_those_of_the_lock() -> None:
    """One data set has one name, and each source of a mixture its own; what is unknown is out."""
    lock = compile_golden("quickstart").lock
    assert lock is not None
    found = read_report("quickstart")["hashes"]
    assert found == {
        "the spec": lock.spec_sha256,
        "config.json of the base": lock.facts["model"]["config_sha256"],
        "the data": lock.facts["data"]["sha256"],
    }
    mixed = read_report("mixture")
    names = [name for name in mixed["hashes"] if name.startswith("the data of source")]
    assert len(names) == len(mixed["settings"]["data"].split(", ")) > 1
