"""The types of `rope_parameters` are those of the pinned transformers, and so is what they need."""

import ast
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.rope_types import reads_rope, rope_types
from tests.compiler.knowledge.test_config_types import list_types, reach

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/rope_types.json"
METHODS = ("validate_rope", "convert_rope_params_to_dict", "standardize_rope_params")


def needed_by(config: Any, kind: str) -> list[str]:
    """Return the keys that transformers misses in parameters that only name their type."""
    try:
        config(rope_parameters={"rope_type": kind})
    except KeyError as error:
        said = str(error.args[0])
        return sorted(ast.literal_eval(said[said.rindex("{") :]))
    except TypeError:  # it needs numbers, and has none
        pytest.fail(kind)
    return []


def is_common(config: Any, common: Any, source: str) -> bool:
    """Return whether a class reads and checks the parameters as the common code does."""
    own = any(getattr(config, name) is not getattr(common, name) for name in METHODS)
    has_rope = "rope_parameters" in {
        f for c in config.__mro__ for f in vars(c).get("__annotations__", {})
    }
    is_usual = getattr(config, "default_rope_type", "default") == "default"
    return has_rope and is_usual and not own and "ROPE_INIT_FUNCTIONS[" in source


@pytest.mark.prove_all
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """Every type of position, and every class without rules of its own."""
    real_rope = pytest.importorskip("transformers.modeling_rope_utils")
    transformers = pytest.importorskip("transformers")
    models = []
    for kind, config in reach(list_types()).items():
        folder = Path(inspect.getfile(config)).parent
        source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("modeling_*.py"))
        if is_common(config, transformers.PreTrainedConfig, source):
            models.append(kind)
    real = {
        "source": "transformers 5.23.0, modeling_rope_utils.py and what config_types.json has",
        "types": {
            kind: needed_by(transformers.LlamaConfig, kind)
            for kind in sorted({"default", *real_rope.ROPE_INIT_FUNCTIONS} - {"axial"})
        },
        "models": sorted(models),
    }
    if update_golden:
        TABLE.write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


def test_common_classes_are_told_from_others() -> None:
    """A class of its own rules is left alone, and so is one without such positions."""
    assert reads_rope("llama")
    assert reads_rope("qwen2")
    assert not any(reads_rope(name) for name in ("gpt2", "phi3", "gemma3_text", "novel"))
    assert rope_types()["linear"] == ["factor"]
