"""Facts of a language model inside a multimodal wrapper."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

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


MISTRAL: Final[dict[str, Any]] = {
    "architectures": ["Mistral3ForConditionalGeneration"],
    "model_type": "mistral3",
    "text_config": {
        "model_type": "mistral",
        "vocab_size": 96,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
    },
    "vision_config": {
        "model_type": "pixtral",
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    },
}
TABLE: Final = {"model.language_model.embed_tokens.weight": ("BF16", [96, 64])}
HEAD: Final = {"lm_head.weight": ("BF16", [96, 64])}
OLDER_HEAD: Final = {"language_model.lm_head.weight": ("BF16", [96, 64])}


@pytest.mark.parametrize(
    ("whole", "text", "tensors", "expected"),
    [
        ({}, {}, TABLE, "tied"),  # the class ties unless the whole config says otherwise
        ({}, {"tie_word_embeddings": False}, TABLE, "tied"),
        ({"tie_word_embeddings": False}, {}, TABLE, "absent"),
        ({"tie_word_embeddings": False}, {"tie_word_embeddings": True}, TABLE, "absent"),
        ({"tie_word_embeddings": False}, {}, {**TABLE, **HEAD}, "own"),
        ({}, {}, {**TABLE, **OLDER_HEAD}, "tied"),  # all bytes are equal: a copy
        ({}, {}, {**TABLE, "lm_head.weight": ("BF16", [97, 64])}, "own"),
        ({}, {}, {}, "own"),  # without weights the text decides
    ],
)
def test_the_head_is_that_of_the_class(  # noqa: PLR0917 - a case has four parts
    make_spec: Any,
    model_folder: Path,
    whole: dict[str, Any],
    text: dict[str, Any],
    tensors: dict[str, tuple[str, list[int]]],
    expected: str,
) -> None:
    """By the place that the class reads, and by the tensors that the weights have."""
    config = {**MISTRAL, **whole, "text_config": {**MISTRAL["text_config"], **text}}
    (model_folder / "config.json").write_text(json.dumps(config))
    if tensors:
        write_safetensors(model_folder / "model.safetensors", tensors)
    facts = known_model(make_spec(), model_folder.parent)
    assert facts.shape is not None
    absent = "" if facts.absent is None else facts.absent.tensor
    assert absent == ("lm_head.weight" if expected == "absent" else "")
    assert facts.shape.tied is (expected == "tied")


@pytest.mark.prove
@pytest.mark.parametrize("whole", [{}, {"tie_word_embeddings": False}])
def test_the_real_class_has_this_head(
    make_spec: Any, model_folder: Path, whole: dict[str, Any]
) -> None:
    """It ties the head that the weights lack, or makes a new one, as the facts say."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    safetensors = pytest.importorskip("safetensors.torch")
    written = json.dumps({**MISTRAL, **whole})
    (model_folder / "config.json").write_text(written)
    kind = transformers.AutoModelForImageTextToText
    kind.from_config(transformers.AutoConfig.from_pretrained(model_folder)).save_pretrained(
        model_folder
    )
    path = model_folder / "model.safetensors"
    kept = {k: v for k, v in safetensors.load_file(path).items() if "lm_head" not in k}
    safetensors.save_file(kept, path, metadata={"format": "pt"})
    (model_folder / "config.json").write_text(written)
    model, loaded = kind.from_pretrained(
        model_folder, output_loading_info=True, dtype=torch.float32
    )
    facts = known_model(make_spec(), model_folder.parent)
    assert facts.shape is not None
    assert (facts.absent is None) is (not loaded["missing_keys"])
    assert facts.shape.tied is (model.lm_head.weight is model.get_input_embeddings().weight)
    if facts.shape.tied:
        counted = facts.shape.parameters + facts.shape.frozen_parameters
        assert counted == sum(tensor.numel() for tensor in kept.values())
