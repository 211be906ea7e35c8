"""The names of modules against the real classes of transformers."""

import json
import re
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.architectures.architecture import read_shape
from ftc.compiler.knowledge.architectures.module_names import find_module_names

HERE: Final = Path(__file__).parent
CASES: Final[dict[str, list[dict[str, Any]]]] = json.loads(
    (HERE / "architecture_cases.json").read_text(encoding="utf-8")
)
LAYER: Final = re.compile(r"(.+)\.0\.(.+)")


def names_of(config: dict[str, Any]) -> dict[str, Any]:
    """Return what the class of transformers calls its parts, on the meta device."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    facts = {k: v for k, v in config.items() if k not in {"architectures", "model_type"}}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        settings = transformers.AutoConfig.for_model(config["model_type"], **facts)
        model = transformers.AutoModelForCausalLM.from_config(settings)
    modules = {id(module): name for name, module in model.named_modules()}
    inside = [
        (found[1], found[2])
        for name, module in model.named_modules()
        if (isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D")
        and (found := LAYER.fullmatch(name))
    ]
    (layers,) = {layers for layers, _ in inside}
    shape = read_shape(config)
    assert shape is not None
    linears = {
        key: next(name for _, name in inside if name == key or name.endswith(f".{key}"))
        for key in shape.linear_shapes
    }
    tensors = [
        found[2]
        for name, weight in model.named_parameters()
        if weight.dim() == 3 and (found := LAYER.fullmatch(name))
    ]
    return {
        "layers": layers,
        "linears": linears,
        "embedding": modules[id(model.get_input_embeddings())],
        "head": modules[id(model.get_output_embeddings())],
        "experts": tuple(tensors),
    }


@pytest.mark.parametrize("name", sorted(CASES))
def test_names_are_those_of_the_real_classes(name: str) -> None:
    """Each architecture by the smallest of its cases."""
    configs = [row["config"] for row in CASES[name]]
    names = find_module_names(name)
    assert names is not None
    found = names_of(min(configs, key=lambda c: c.get("hidden_size", 1e9)))
    linears = {key: names.linears[key] for key in found["linears"]}  # of this variant
    assert {**asdict(names), "linears": linears} == found


def test_a_linear_has_a_full_name() -> None:
    """The name is what PEFT's regular expressions see."""
    names = find_module_names("Qwen2ForCausalLM")
    assert names is not None
    assert names.linear("q_proj", 3) == "model.layers.3.self_attn.q_proj"
    assert find_module_names("NoSuchForCausalLM") is None
