"""The table of cloud instances."""

import json
import re
from importlib.resources import files

import pytest

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.hardware.cloud_instances import find_instance

TABLE = json.loads((files("ftc.compiler.knowledge.hardware") / "cloud_instances.json").read_text())


@pytest.mark.parametrize("entry", TABLE["instances"], ids=lambda entry: entry["pattern"])
def test_an_entry_names_a_gpu_of_the_table(entry: dict[str, object]) -> None:
    """Each has a source, and a GPU that is written as in the table of accelerators."""
    match = find_accelerator(str(entry["gpu"]))
    assert match is not None
    assert match.accelerator.name == entry["gpu"]
    assert not match.ambiguous
    assert entry["source"]
    assert isinstance(entry["count"], int)


@pytest.mark.parametrize(
    "name", ["g5.12xlarge", "g5.24xlarge", "ml.p5en.48xlarge", "a2-megagpu-16g", "g2-standard-96"]
)
def test_a_name_has_one_entry(name: str) -> None:
    """No two patterns match a name, and that of its maker matches too."""
    bare = name.removeprefix("ml.")
    assert sum(bool(re.fullmatch(each["pattern"], bare)) for each in TABLE["instances"]) == 1
    found = find_instance(name)
    assert found is not None
    assert found.count > 0


@pytest.mark.parametrize("name", ["A100-80GB", "RTX-4090", "L4", "A10G", "H100 SXM5", "T4"])
def test_a_gpu_is_no_instance(name: str) -> None:
    """Names of GPUs are not taken for instances."""
    assert find_instance(name) is None
