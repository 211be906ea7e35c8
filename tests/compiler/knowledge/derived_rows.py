"""The recorded cases of the derived table, and the file of bases that its generator reads."""

import json
from pathlib import Path
from typing import Any

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.shape import Shape

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (HERE / "derived_cases.json").read_text(encoding="utf-8")
)
BASES = json.loads((ROOT / ".ci/architecture_bases.json").read_text(encoding="utf-8"))


def shape_of(config: dict[str, Any]) -> Shape:
    """Read a configuration that the table must know."""
    shape = read_shape(config)
    assert shape is not None
    return shape
