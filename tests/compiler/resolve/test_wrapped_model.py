"""Facts of a language model inside a multimodal wrapper."""

import json
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import resolve_model
from tests.compiler.resolve.resolving import known_model
from tests.compiler.resolve.test_model import write_safetensors

GEMMA: Final[dict[str, Any]] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "vision_config": {"hidden_size": 1152},
    "text_config": {
        "model_type": "gemma3_text",
        "vocab_size": 100,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
    },
}


def test_the_language_model_inside_a_wrapper(make_spec: Any, model_folder: Path) -> None:
    """Facts are those of the model inside; what the weights have beside it is frozen."""
    (model_folder / "config.json").write_text(json.dumps(GEMMA))
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.wrapper, facts.text_prefix) == (GEMMA["architectures"][0], "model.language_model")
    assert (facts.architecture, facts.model_type) == ("Gemma3ForCausalLM", "gemma3")
    assert facts.shape is not None
    assert facts.shape.layers == 2
    assert facts.shape.frozen_parameters == facts.parameters // 10, "no weights to count"
    write_safetensors(
        model_folder / "model.safetensors",
        {"model.language_model.x": ("BF16", [facts.parameters]), "tower": ("BF16", [500])},
    )
    facts = known_model(make_spec(), model_folder.parent)
    assert facts.shape is not None
    assert (facts.shape.frozen_parameters, facts.misfit) == (500, None)


def test_a_text_class_drops_the_tower(make_spec: Any, model_folder: Path) -> None:
    """Of Qwen3.5 only the language model is loaded, so that no tower is in memory."""
    text = {"model_type": "qwen3_5_text", "num_hidden_layers": 4, "vocab_size": 100}
    config = {"architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5"}
    (model_folder / "config.json").write_text(json.dumps(config | {"text_config": text}))
    facts = known_model(make_spec(), model_folder.parent)
    assert facts.shape is not None
    assert (facts.shape.frozen_parameters, facts.text_prefix) == (0, "model")
    assert [kind.count for kind in facts.shape.kinds] == [3, 1]


def test_a_flat_config_that_transformers_does_not_read(make_spec: Any, model_folder: Path) -> None:
    """GLM-4.1V's first config.json had no `text_config`: the class would take its defaults."""
    config = {"architectures": ["Glm4vForConditionalGeneration"], "model_type": "glm4v"}
    (model_folder / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert "has no `text_config`" in found.finding.message


def test_an_unknown_wrapper_is_told(make_spec: Any, model_folder: Path) -> None:
    """A multimodal class outside the table says so, and not that it is no language model."""
    config = {"architectures": ["NovelForConditionalGeneration"], "text_config": {}}
    (model_folder / "config.json").write_text(json.dumps(config))
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC103"
    assert "multimodal" in found.finding.message


def test_a_type_that_transformers_does_not_know(make_spec: Any, model_folder: Path) -> None:
    """LFM2-VL's first config says `lfm2-vl`: transformers stops, and only the type is wrong."""
    inside = {"model_type": "lfm2", "vocab_size": 100, "num_hidden_layers": 2}
    config = {"architectures": ["Lfm2VlForConditionalGeneration"], "text_config": inside}
    for kind in ("lfm2-vl", "lfm2_vl"):
        (model_folder / "config.json").write_text(json.dumps({**config, "model_type": kind}))
        found = resolve_model(make_spec(), folder=model_folder.parent)
        if kind == "lfm2_vl":
            assert not isinstance(found, Unknown)
            assert found.unwritten_keys == ("text_config.architectures",)
            continue
        assert isinstance(found, Unknown)
        assert found.finding.code == "FTC102"
        assert "lfm2_vl" in found.finding.help


def test_a_language_model_alone_that_no_class_loads(make_spec: Any, model_folder: Path) -> None:
    """GLM-OCR's language model has no class outside its wrapper."""
    config = {"model_type": "glm_ocr_text", "vocab_size": 100, "num_hidden_layers": 2}
    for names in ({}, {"architectures": ["GlmOcrForConditionalGeneration"]}):
        (model_folder / "config.json").write_text(json.dumps({**config, **names}))
        found = resolve_model(make_spec(), folder=model_folder.parent)
        assert isinstance(found, Unknown)
        assert found.finding.code == "FTC103"


def test_a_class_of_several_types(make_spec: Any, model_folder: Path) -> None:
    """A ShieldGemma 2 is read with the class of Gemma 3."""
    for kind, expected in (("shieldgemma2", True), ("gemma3", True), ("gemma-3", False)):
        (model_folder / "config.json").write_text(json.dumps({**GEMMA, "model_type": kind}))
        found = resolve_model(make_spec(), folder=model_folder.parent)
        assert isinstance(found, Unknown) is not expected


def test_the_dtype_of_the_whole_counts(make_spec: Any, model_folder: Path) -> None:
    """PaliGemma's config says bfloat16, and float32 of the language model inside."""
    text = {**GEMMA["text_config"], "torch_dtype": "float32"}
    for said, expected in (({"torch_dtype": "bfloat16"}, "bfloat16"), ({}, "float32")):
        config = {**GEMMA, **said, "text_config": text}
        (model_folder / "config.json").write_text(json.dumps(config))
        assert known_model(make_spec(), model_folder.parent).dtype == expected


def test_the_pattern_of_a_dense_hybrid_is_needed(make_spec: Any, model_folder: Path) -> None:
    """The converter knows no dense layer by the name that transformers 5 gives it."""
    config = {"architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h"}
    dense = {"layers_block_type": ["linear_attention", "full_attention", "mlp"]}
    sparse = {"layers_block_type": ["linear_attention", "full_attention", "moe"]}
    published = {"hybrid_override_pattern": "M*-", "num_hidden_layers": 3}
    key = "hybrid_override_pattern"
    for said, expected in ((dense, (key,)), (sparse, ()), (published, ())):
        (model_folder / "config.json").write_text(json.dumps(config | said))
        assert known_model(make_spec(), model_folder.parent).unwritten_keys == expected
