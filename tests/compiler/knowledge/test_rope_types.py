"""The types of `rope_parameters` are those of the pinned transformers, and so is what they need."""

import ast
import inspect
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.rope_types import list_rope_types, reads_rope
from tests.compiler.knowledge.test_config_types import list_types, reach

TABLE = Path(__file__).parents[3] / "compiler/knowledge/architectures/rope_types.json"
#: What a config may say beside the parameters, which some classes then take from there.
BESIDE = {
    "rope_theta": 10000.0,
    "max_position_embeddings": 4096,
    "original_max_position_embeddings": 4096,
}
VALUES = dict.fromkeys(("short_factor", "long_factor"), [1.0] * 48)
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


def find_own(config: Any, types: Collection[str], source: str) -> dict[str, list[str]] | None:
    """Return the types that a class with rules of its own loads, each with the keys it needs.

    The words of its own file are tried as types too: some replace an older name. None for a class
    that does not compute positions by the common code, or takes any type.
    """
    if "ROPE_INIT_FUNCTIONS[" not in source or try_type(config, "no_such", types) is not None:
        return None
    tree = ast.parse(Path(inspect.getfile(config)).read_text(encoding="utf-8"))
    texts = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    kinds = sorted({*types, *filter(str.isidentifier, texts)})
    tried = {kind: try_type(config, kind, types) for kind in kinds}
    return {kind: needed for kind, needed in tried.items() if needed is not None}


def try_type(config: Any, kind: str, types: Collection[str]) -> list[str] | None:
    """Return the keys that a type needs in a class, None where the class refuses the type.

    An error that does not name the type is about the values of this test, and says nothing of it.
    """
    said: dict[str, Any] = {"rope_type": kind}
    for _ in range(3):
        try:
            found = config(rope_scaling=dict(said), **BESIDE).rope_parameters
        except KeyError as error:
            text = str(error.args[0])
            said |= {key: VALUES.get(key, 4.0) for key in ast.literal_eval(text[text.index("{") :])}
        except Exception as error:  # noqa: BLE001 - each class has its own
            is_named = re.search(rf"\b{kind}\b", str(error)) is not None
            return None if is_named or kind not in types else sorted(said.keys() - {"rope_type"})
        else:
            parts = [part for part in found.values() if isinstance(part, dict)] or [found]
            loads = {part["rope_type"] for part in parts} <= {*types, "axial"}
            return sorted(said.keys() - {"rope_type"}) if loads else None
    return None


def has_rope(config: Any) -> bool:
    """Return whether a class has parameters of positions."""
    notes = {f for c in config.__mro__ for f in vars(c).get("__annotations__", {})}
    return "rope_parameters" in notes


def ignores_type(config: Any, types: Collection[str]) -> bool:
    """Return whether a class loads a type that does not exist under the older name of the key."""
    try:
        found = config(rope_scaling={"type": "no_such"}, **BESIDE).rope_parameters
    except Exception:  # noqa: BLE001 - each class has its own
        return False
    parts = [part for part in found.values() if isinstance(part, dict)] or [found]
    return {part["rope_type"] for part in parts} <= {*types, "axial"}


def is_common(config: Any, common: Any, source: str) -> bool:
    """Return whether a class reads and checks the parameters as the common code does."""
    own = any(getattr(config, name) is not getattr(common, name) for name in METHODS)
    is_usual = getattr(config, "default_rope_type", "default") == "default"
    return has_rope(config) and is_usual and not own and "ROPE_INIT_FUNCTIONS[" in source


@pytest.mark.prove_all
def test_the_table_is_the_real_code(*, update_golden: bool) -> None:
    """Every type of position, and every class without rules of its own."""
    real_rope = pytest.importorskip("transformers.modeling_rope_utils")
    transformers = pytest.importorskip("transformers")
    models, own, newer = [], {}, []
    types = sorted({"default", *real_rope.ROPE_INIT_FUNCTIONS} - {"axial"})
    for kind, config in reach(list_types()).items():
        folder = Path(inspect.getfile(config)).parent
        source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("modeling_*.py"))
        if is_common(config, transformers.PreTrainedConfig, source):
            models.append(kind)
        elif has_rope(config) and (found := find_own(config, types, source)) is not None:
            own[kind] = found
            newer += [kind] if ignores_type(config, types) else []
    real = {
        "source": "transformers 5.23.0, modeling_rope_utils.py and what config_types.json has",
        "types": {kind: needed_by(transformers.LlamaConfig, kind) for kind in types},
        "models": sorted(models),
        "own": dict(sorted(own.items())),
        "ignore_type": sorted(newer),
    }
    if update_golden:
        TABLE.write_text(json.dumps(real, indent=1) + "\n", encoding="utf-8")
    assert json.loads(TABLE.read_text(encoding="utf-8")) == real


def test_common_classes_are_told_from_others() -> None:
    """A class of its own rules is left alone, and so is one without such positions."""
    assert reads_rope("llama")
    assert reads_rope("qwen2")
    assert not any(reads_rope(name) for name in ("gpt2", "phi3", "gemma3_text", "novel"))
    common = list_rope_types("llama")
    assert common is not None
    assert common["linear"] == ["factor"]


def test_a_class_has_types_of_its_own() -> None:
    """Phi-3 stretches in one way, whose older name needs one more key; Qwen2-VL has a name more."""
    phi3, seeing = list_rope_types("phi3"), list_rope_types("qwen2_vl_text")
    assert phi3 is not None
    assert seeing is not None
    assert phi3.keys() == {"default", "longrope", "su", "yarn"}
    assert set(phi3["su"]) - set(phi3["longrope"]) == {"original_max_position_embeddings"}
    assert "mrope" in seeing
    assert list_rope_types("novel") is None
