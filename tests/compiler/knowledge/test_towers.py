"""The sizes of vision towers against the classes of transformers."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, Final

import pytest

from ftc.compiler.knowledge.multimodal.towers import Tower, read_tower

SIGLIP: Final = {
    "model_type": "siglip_vision_model", "hidden_size": 1152, "image_size": 896, "patch_size": 14,
    "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16,
    "vision_use_head": False,
}  # fmt: skip
HEADED: Final = {"model_type": "siglip_vision_model", "image_size": 512}
PIXTRAL: Final = {"model_type": "pixtral", "hidden_size": 512, "intermediate_size": 1024}
INTERNVIT_6B: Final = {
    "hidden_size": 3200, "intermediate_size": 12800, "num_attention_heads": 25,
    "num_hidden_layers": 45, "use_qk_norm": True, "norm_type": "rms_norm", "image_size": [448, 448],
}  # fmt: skip
NAFLEX: Final = {
    "model_type": "siglip2_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
    "num_attention_heads": 16, "num_hidden_layers": 26,
}  # fmt: skip
#: Classes and what their released configs say beside the defaults.
CASES: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "gemma3": ("gemma3", {"vision_config": SIGLIP}),
    "gemma3-with-a-head": ("gemma3", {"vision_config": HEADED}),
    "idefics3": ("idefics3", {}),
    "internvl": ("internvl", {}),
    "internvl-6b": ("internvl", {"vision_config": INTERNVIT_6B, "downsample_ratio": 0.25}),
    "lfm2_vl": ("lfm2_vl", {}),
    "lfm2_vl-as-published": (
        "lfm2_vl",
        {"projector_use_layernorm": False, "vision_config": {**NAFLEX, "vision_use_head": False}},
    ),
    "llava": ("llava", {}),
    "llava-of-two-layers": ("llava", {"vision_feature_layer": [-2, -1]}),
    "llava-with-pixtral": ("llava", {"vision_config": PIXTRAL, "vision_feature_layer": -1}),
    "llava-with-siglip": ("llava", {"vision_config": SIGLIP}),
    "mistral3": ("mistral3", {}),
    "qwen2_5_vl": ("qwen2_5_vl", {"vision_config": {"hidden_size": 1280}}),
    "qwen2_vl": ("qwen2_vl", {}),
    "qwen3_5": ("qwen3_5", {}),
    "qwen3_5_moe": ("qwen3_5_moe", {}),
    "qwen3_vl": ("qwen3_vl", {}),
    "qwen3_vl_moe": ("qwen3_vl_moe", {}),
    "smolvlm": ("smolvlm", {"scale_factor": 4, "vision_config": {"patch_size": 16}}),
}


@pytest.mark.prove
@pytest.mark.parametrize("case", sorted(CASES))
def test_real_towers(case: str) -> None:
    """Tower and projector have the parameters of the real class, by each module's own names."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    name, said = CASES[case]
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        config = transformers.AutoConfig.for_model(name, **said)
        text = config.text_config
        text.num_hidden_layers = 1
        if getattr(text, "layer_types", None):
            text.layer_types = text.layer_types[:1]
        model = transformers.AutoModelForImageTextToText.from_config(config)
    tower = read_tower(config.to_dict(), hidden=text.hidden_size)
    assert tower is not None
    counts = {"projector": 0, "tower": 0, "text": 0}
    linears = {"projector": 0, "tower": 0, "text": 0}
    for path, module in model.named_modules():
        part = part_of(path)
        counts[part] += sum(tensor.numel() for tensor in module.parameters(recurse=False))
        if isinstance(module, torch.nn.Linear) and not re.search("head|embed", path):
            linears[part] += module.in_features + module.out_features
    assert (tower.parameters, tower.projector_parameters) == (counts["tower"], counts["projector"])
    assert add_sides(tower.linears) == linears["tower"]
    if case != "llava-of-two-layers":
        assert add_sides(tower.projector_linears) == linears["projector"]


def part_of(path: str) -> str:
    """Return the part of a model that a module belongs to."""
    if any(name in path for name in ("merger", "projector", "connector")):
        return "projector"
    seen = any(name in path for name in ("visual", "vision_tower", "vision_model"))
    return "tower" if seen else "text"


def add_sides(linears: tuple[tuple[int, int, int], ...]) -> int:
    """Return the sum of the inputs and outputs of linear modules."""
    return sum(count * (inner + outer) for inner, outer, count in linears)


def test_towers_that_are_not_known() -> None:
    """Without a tower, with another one, or with a broken size there is nothing to say."""
    assert read_tower({"model_type": "llama"}, hidden=64) is None
    assert read_tower({"model_type": "x", "vision_config": {"model_type": "y"}}, hidden=64) is None
    broken = {"model_type": "qwen2_vl", "vision_config": {"depth": "many"}}
    assert read_tower(broken, hidden=64) is None
    older = {"model_type": "qwen2_vl", "vision_config": {"in_chans": 1}}
    found, usual = (
        read_tower(older, hidden=64),
        read_tower({**older, "vision_config": {}}, hidden=64),
    )
    assert isinstance(found, Tower)
    assert usual is not None
    assert 3 * found.patch_values == usual.patch_values
