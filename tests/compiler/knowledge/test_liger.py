"""The models that Liger has kernels for, held against the pinned package."""

import ast
import importlib.util
import json
from pathlib import Path

import pytest

from ftc.compiler.knowledge.architectures.derived import derived_table
from ftc.compiler.knowledge.training.liger import has_liger_kernels


def test_the_table_is_the_package_s() -> None:
    """Of the architectures whose formulas are exact, those that the package replaces layers of."""
    found = importlib.util.find_spec("liger_kernel")
    if found is None or not found.submodule_search_locations:
        pytest.skip("liger-kernel is not installed")
    package = Path(next(iter(found.submodule_search_locations)))
    source = (package / "transformers" / "monkey_patch.py").read_text(encoding="utf-8")
    tables = [
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "MODEL_TYPE_TO_APPLY_LIGER_FN"
    ]
    assert isinstance(tables[0], ast.Dict)
    real = {key.value for key in tables[0].keys if isinstance(key, ast.Constant)}
    cases = json.loads((Path(__file__).parent / "architecture_cases.json").read_bytes())
    types = {derived_table()[name]["model_type"] for name in cases}

    assert {kind for kind in types if has_liger_kernels(kind)} == types & real
    assert not has_liger_kernels("none_such")
