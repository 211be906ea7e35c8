"""The table of multimodal wrappers against the classes of transformers."""

import json
import warnings
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import converted_class, read_shape
from ftc.compiler.knowledge.multimodal.towers import read_tower
from ftc.compiler.knowledge.multimodal.wrappers import find_wrapper, lacks_text_class, text_config
from ftc.compiler.rehearse.miniature import shrink

TABLE: dict[str, dict[str, Any]] = json.loads(
    (files("ftc.compiler.knowledge.multimodal") / "wrappers.json").read_text(encoding="utf-8")
)
#: Text models small enough to build beside their towers in a second.
TEXT = {"num_hidden_layers": 6, "vocab_size": 1000, "pad_token_id": 0}
#: Classes that a text of few keys does not build, or only with a package that no test imports.
NEEDY = (
    "AyaVisionForConditionalGeneration",
    "ChameleonForConditionalGeneration",
    "CohereCompassForConditionalGeneration",
    "DeepseekOcr2ForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
    "PerceptionLMForConditionalGeneration",
    "Dots3NoteForConditionalGeneration",
    "Emu3ForConditionalGeneration",
    "FastVlmForConditionalGeneration",
    "Gemma3nForConditionalGeneration",
    "Granite4VisionForConditionalGeneration",
    "HunYuanVLForConditionalGeneration",
    "Lfm3VlForConditionalGeneration",
    "MllamaForConditionalGeneration",
    "Ovis2ForConditionalGeneration",
    "Phi4MultimodalForCausalLM",
    "Qwen4ExpForConditionalGeneration",
)
#: The sizes in the config.json of Qwen2.5-VL-7B-Instruct, which has 8,292,166,656 weights.
SEVEN_BILLION: dict[str, Any] = {
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "vocab_size": 152064,
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "vision_config": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 3584,
        "patch_size": 14,
        "spatial_merge_size": 2,
    },
}


def config_of(name: str, text: dict[str, Any]) -> dict[str, Any]:
    """Return a config.json of this wrapper, as a repository has it."""
    entry = TABLE[name]
    inside = {"model_type": entry["text_types"][0], **TEXT, **text}
    return {"architectures": [name], "model_type": entry["model_type"], "text_config": inside}


def test_a_wrapper_is_found_by_class_or_type() -> None:
    """The first of `architectures` decides; without one, the model type does."""
    config = config_of("Gemma3ForConditionalGeneration", {})
    found = find_wrapper(config)
    assert found is not None
    assert (found.text, found.keeps_tower) == ("Gemma3ForCausalLM", True)
    assert find_wrapper({k: v for k, v in config.items() if k != "architectures"}) == found
    assert find_wrapper({**config, "architectures": ["SomeForConditionalGeneration"]}) is None
    assert find_wrapper({**config, "text_config": None}) is None
    kimi = {"architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25"}
    found = find_wrapper({**kimi, "text_config": {"model_type": "kimi_k2"}})
    assert found is not None, "as the repository spells it"
    inside = text_config({**kimi, "text_config": {"model_type": "kimi_k2"}}, found)
    assert inside is not None
    assert inside["architectures"] == ["DeepseekV3ForCausalLM"]
    assert find_wrapper({"architectures": ["LlamaForCausalLM"], "model_type": "llama"}) is None


def test_the_config_inside() -> None:
    """What the outer config says of ties and dtype holds inside, unless that differs."""
    config = config_of("Qwen3_5ForConditionalGeneration", {})
    found = find_wrapper(config)
    assert found is not None
    inside = text_config({**config, "tie_word_embeddings": True, "dtype": "bfloat16"}, found)
    assert inside is not None
    assert (inside["tie_word_embeddings"], inside["dtype"]) == (True, "bfloat16")
    assert inside["architectures"] == ["Qwen3_5ForCausalLM"]


def test_the_type_that_the_config_inside_names() -> None:
    """A wrapper with one class for it reads it so; the others have none for a type of no table."""
    found = find_wrapper(config_of("Qwen3_5ForConditionalGeneration", {}))
    assert found is not None
    inside = text_config({"text_config": {"model_type": "mamba"}}, found)
    assert inside is not None
    assert inside["architectures"] == ["Qwen3_5ForCausalLM"]
    llava = find_wrapper(config_of("LlavaForConditionalGeneration", {}))
    assert llava is not None
    assert text_config({"text_config": {"model_type": "novel"}}, llava) is None


def test_a_language_model_of_any_type() -> None:
    """InternVL's may be a Qwen3 with experts as well as the Qwen2 of its class's default."""
    found = find_wrapper(config_of("InternVLForConditionalGeneration", {}))
    assert found is not None
    for kind, text in (("qwen2", "Qwen2"), ("qwen3_moe", "Qwen3Moe"), ("gpt_oss", "GptOss")):
        config = config_of("InternVLForConditionalGeneration", {"model_type": kind})
        inside = text_config(config, found)
        assert inside is not None
        assert inside["architectures"] == [f"{text}ForCausalLM"]
    other = config_of("InternVLForConditionalGeneration", {"model_type": "internlm2"})
    assert text_config(other, found) is None


def test_a_flat_config() -> None:
    """Qwen2.5-VL's keys are beside those of its tower, as its repositories have them."""
    name = "Qwen2_5_VLForConditionalGeneration"
    config = {"architectures": [name], "model_type": "qwen2_5_vl", **SEVEN_BILLION}
    found = find_wrapper(config)
    assert found is not None
    inside = text_config(config, found)
    assert inside is not None
    assert "vision_config" not in inside
    shape, tower = read_shape(inside), read_tower(config, hidden=3584)
    assert shape is not None
    assert tower is not None
    counted = shape.parameters + tower.parameters + tower.projector_parameters
    assert counted == 8_292_166_656
    assert find_wrapper({**config, "architectures": ["Gemma3ForConditionalGeneration"]}) is None
    name = "Glm5NextForConditionalGeneration"
    text = {"architectures": [name], "model_type": "glm5_next_text"}
    assert find_wrapper(text) is None, "the language model alone, whose class is that of the whole"


def test_a_class_without_a_section_for_its_text() -> None:
    """The keys of Phi-4-multimodal's language model are those of the whole."""
    name = "Phi4MultimodalForCausalLM"
    config = {"architectures": [name], "model_type": "phi4_multimodal", "vision_config": {}}
    found = find_wrapper(config)
    assert found is not None
    assert found.keeps_tower
    inside = text_config(config, found)
    assert inside is not None
    assert find_wrapper(inside) is None, "the language model alone"
    shape, small = read_shape(inside), shrink(config)
    assert shape is not None
    assert (shape.architecture, shape.layers) == (name, 32)
    assert small is not None
    assert small["num_hidden_layers"] == 2


@pytest.mark.prove
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name, entry in TABLE.items()
        if name not in NEEDY
        for kind in entry["text_types"][:1]
    ],
)
def test_real_wrappers(name: str, kind: str) -> None:
    """What loads a wrapper, where its language model is, and that the formula counts it."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    entry = TABLE[name]
    config = config_of(name, {"tie_word_embeddings": False, "model_type": kind})
    wrapper = find_wrapper(config)
    assert wrapper is not None
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        facts = {k: v for k, v in config.items() if k not in ("architectures", "model_type")}
        settings = transformers.AutoConfig.for_model(
            entry["model_type"], **facts, tie_word_embeddings=False
        )
        assert loaded_as(transformers, settings, name) == entry["loads"]
        automatic = {
            "image-text": transformers.AutoModelForImageTextToText,
        }.get(entry["loads"], transformers.AutoModelForCausalLM)
        # a text class is built from the config inside, as `from_pretrained` does
        built = settings.get_text_config() if entry["loads"] == "text" else settings
        model = automatic.from_config(built)
    text = text_config(config, wrapper)
    assert text is not None
    shape = read_shape(text)
    assert shape is not None
    prefix = f"{entry['prefix']}."
    inside = sum(
        tensor.numel()
        for path, tensor in model.named_parameters()
        if path.startswith((prefix, "lm_head."))
    )
    assert inside == shape.parameters
    assert any(path.startswith(f"{prefix}layers.0.") for path, _ in model.named_parameters())


@pytest.mark.prove
@pytest.mark.parametrize("name", NEEDY)
def test_the_generator_gives_the_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It builds the class with the keys that it needs, and counts its language model."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / ".ci"))
    generator: Any = import_module("wrappers")
    assert generator.derive(TABLE[name]["model_type"], name) == TABLE[name]


def test_a_language_model_with_no_class_of_its_own() -> None:
    """GLM-OCR's is read inside the wrapper; its name is that which llama.cpp's converter has."""
    name = "GlmOcrForConditionalGeneration"
    config = config_of(name, {"hidden_size": 512, "num_attention_heads": 4, "head_dim": 64})
    found = find_wrapper(config)
    assert found is not None
    inside = text_config(config, found)
    assert inside is not None
    shape = read_shape(inside)
    assert shape is not None
    assert (shape.architecture, shape.head_dim, shape.hidden) == (name, 64, 512)
    assert converted_class(name, name) == name


def test_what_the_converter_takes_a_wrapper_for() -> None:
    """Its text's class if it has that, else the wrapper; a class inside needs its name."""
    assert converted_class("Qwen2ForCausalLM", "InternVLForConditionalGeneration") == (
        "Qwen2ForCausalLM"
    )
    unified = "Gemma4UnifiedForConditionalGeneration"
    assert converted_class("Gemma4UnifiedForCausalLM", unified) == unified
    assert converted_class("AriaTextForCausalLM", "AriaForConditionalGeneration") == (
        "AriaTextForCausalLM"
    )
    named: dict[str, Any] = {"text_config": {"architectures": ["Qwen2ForCausalLM"]}}
    vl = "InternVLForConditionalGeneration"
    assert not lacks_text_class(named, vl, "Qwen2ForCausalLM")
    unnamed: tuple[dict[str, Any], ...] = ({}, {"architectures": None}, {"architectures": []})
    for inside in unnamed:
        assert lacks_text_class({"text_config": inside}, vl, "Qwen2ForCausalLM")
    assert not lacks_text_class({"text_config": {}}, unified, "Gemma4UnifiedForCausalLM")


def loaded_as(transformers: Any, settings: Any, name: str) -> str:
    """Return what `AutoModelForCausalLM` has for a config: the wrapper, its text class, nothing."""
    mapping = transformers.AutoModelForCausalLM._model_mapping
    if type(settings) not in mapping:
        return "image-text"
    return "causal" if mapping[type(settings)].__name__ == name else "text"
