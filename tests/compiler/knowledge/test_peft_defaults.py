"""The modules that PEFT adapts by default are those of the pinned PEFT."""

import ast
import importlib.util
import json
from importlib.resources import files
from pathlib import Path

import pytest

from ftc.compiler.knowledge.training.peft_defaults import find_peft_targets

_NAME = "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING"


def test_the_table_is_that_of_the_pinned_peft(update_golden: bool) -> None:
    """It is read from PEFT's source, which is not imported."""
    spec = importlib.util.find_spec("peft")
    if spec is None or spec.origin is None:
        pytest.skip("PEFT is not installed")
    source = Path(spec.origin).with_name("utils") / "constants.py"
    (table,) = [
        ast.literal_eval(node.value)
        for node in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == _NAME
    ]
    path = files("ftc.compiler.knowledge.training") / "peft_defaults.json"
    if update_golden:
        Path(str(path)).resolve().write_text(
            json.dumps(dict(sorted(table.items())), indent=2) + "\n", encoding="utf-8"
        )
    assert json.loads(path.read_text(encoding="utf-8")) == table


def test_a_model_has_the_modules_of_its_type() -> None:
    """A type without a list, and a model that the table of models does not have, have none."""
    assert find_peft_targets("Qwen/Qwen2.5-0.5B-Instruct") == ["q_proj", "v_proj"]
    assert find_peft_targets("org/unknown") is None
