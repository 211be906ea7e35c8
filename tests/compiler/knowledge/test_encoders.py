"""The formulas of encoders against recorded counts, and against the real classes."""

import json
import warnings
from importlib.resources import files
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import count_adapter_parameters, read_shape
from ftc.compiler.knowledge.architectures.derived import derived_table
from ftc.compiler.knowledge.architectures.encoders import (
    headless,
    is_encoder,
    read_bare,
    read_encoder,
    read_headed,
    scoring_class,
)

TABLE: dict[str, Any] = json.loads(
    (files("ftc.compiler.knowledge.architectures") / "encoders.json").read_text(encoding="utf-8")
)
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 51_000,  # ModernBERT pads with the token 50,283
    "max_position_embeddings": 130,
}
#: Of published checkpoints: the class, the sizes that are not its defaults, and its parameters.
PUBLISHED = {
    "bert-base-uncased": ("BertModel", {}, 109_482_240),
    "bge-small-en-v1.5": (
        "BertModel",
        {"hidden_size": 384, "intermediate_size": 1536},
        33_360_000,
    ),
    "multilingual-e5-base": (
        "XLMRobertaModel",
        {"vocab_size": 250_002, "max_position_embeddings": 514, "type_vocab_size": 1},
        278_043_648,
    ),
    "ModernBERT-base": ("ModernBertModel", {}, 149_014_272),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_encoders_have_their_parameters(name: str) -> None:
    """The formula gives the count of the published checkpoint."""
    architecture, sizes, parameters = PUBLISHED[name]
    shape = read_encoder({"architectures": [architecture], **sizes})
    assert shape is not None
    assert shape.parameters == parameters


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["defaults", "small"])
def test_a_real_class_has_as_many_parameters(name: str, sizes: dict[str, Any]) -> None:
    """Built by transformers on the meta device, pooler included."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(TABLE[name]["model_type"], **sizes)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModel.from_config(config)
    shape = read_encoder({**config.to_dict(), "architectures": [name]})

    assert type(model).__name__ == name
    assert shape is not None
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    linears = {
        module: linear
        for module, linear in model.named_modules()
        if isinstance(linear, torch.nn.Linear) and "layer" in module
    }
    rank = sum(linear.in_features + linear.out_features for linear in linears.values())
    assert count_adapter_parameters(shape, tuple(TABLE[name]["linears"]), 1) == rank


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["defaults", "small"])
def test_a_real_class_with_one_score_has_as_many_parameters(
    name: str, sizes: dict[str, Any]
) -> None:
    """What is added to the encoder is its head, whether the base has one or not."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = transformers.AutoConfig.for_model(TABLE[name]["model_type"], num_labels=1, **sizes)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    assert type(model).__name__ == scoring_class(name)
    for each in (name, scoring_class(name)):
        shape = read_encoder({**config.to_dict(), "architectures": [each]}, scores=True)
        assert shape is not None
        assert shape.architecture == name
        assert shape.parameters == sum(weight.numel() for weight in model.parameters())


def test_a_class_with_a_head_has_the_same_weights() -> None:
    """Its head is left out; a class of another task is unknown."""
    plain = read_encoder({"architectures": ["BertModel"]})
    assert read_encoder({"architectures": ["BertForMaskedLM"]}) == plain
    assert read_encoder({"model_type": "bert"}) == plain
    assert read_encoder({"architectures": ["BertForSequenceClassification"]}) is None
    assert read_encoder({"architectures": ["LlamaForCausalLM"]}) is None
    assert is_encoder("BertModel")
    assert not is_encoder("Qwen3ForCausalLM")


def test_positions_before_the_first_token_are_no_context() -> None:
    """XLM-R counts them from the one behind its padding token."""
    shape = read_encoder({"architectures": ["XLMRobertaModel"], "max_position_embeddings": 514})
    assert shape is not None
    assert shape.context_tokens == 512


def test_a_causal_model_loses_its_head() -> None:
    """Only an untied one has parameters of its own."""
    tied, untied = (
        read_shape({"architectures": ["Qwen3ForCausalLM"], "tie_word_embeddings": tie})
        for tie in (True, False)
    )
    assert tied is not None
    assert untied is not None
    assert headless(tied).parameters == tied.parameters
    assert headless(untied).parameters == untied.parameters - untied.head_parameters


_CAUSAL = ("ForCausalLM", "LMHeadModel")

#: As published: google/embeddinggemma-300m and intfloat/e5-mistral-7b-instruct.
BARE = {
    "embeddinggemma": {
        "architectures": ["Gemma3TextModel"],
        "model_type": "gemma3_text",
        "head_dim": 256,
        "hidden_size": 768,
        "intermediate_size": 1152,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 4,
        "max_position_embeddings": 2048,
        "num_attention_heads": 3,
        "num_hidden_layers": 24,
        "num_key_value_heads": 1,
        "query_pre_attn_scalar": 256,
        "sliding_window": 257,
        "use_bidirectional_attention": True,
        "vocab_size": 262144,
    },
    "e5-mistral": {
        "architectures": ["MistralModel"],
        "model_type": "mistral",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "max_position_embeddings": 32768,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "sliding_window": 4096,
        "vocab_size": 32000,
    },
}


@pytest.mark.parametrize("name", BARE)
def test_a_causal_model_without_its_head_gives_vectors(name: str) -> None:
    """It is saved as the class inside, and has the parameters of that class."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = BARE[name]
    shape = read_headed(config, "vectors")
    keys = {k: v for k, v in config.items() if k not in ("architectures", "model_type")}
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = transformers.AutoConfig.for_model(config["model_type"], **keys)
        model = transformers.AutoModel.from_config(settings)
    assert shape is not None
    assert [type(model).__name__] == config["architectures"]
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    assert read_headed(config, "tokens") is None


def test_the_class_inside_is_that_of_transformers() -> None:
    """Of every causal class that has one."""
    auto = pytest.importorskip("transformers.models.auto.modeling_auto")
    inside = auto.MODEL_MAPPING_NAMES
    for entry in derived_table().values():
        kind = entry["model_type"]
        config = {**entry["defaults"], "model_type": kind}
        whole = read_headed(config, "tokens")
        if whole is not None and whole.architecture.endswith(_CAUSAL) and kind in inside:
            assert read_bare({**config, "architectures": [inside[kind]]}) == whole, kind


def test_other_classes_of_a_type_are_not_bare() -> None:
    """A classifier has a head, and a class of another type other layers."""
    for names in (["MistralForSequenceClassification"], ["LlamaModel"], [], [1], None):
        assert read_bare({**BARE["e5-mistral"], "architectures": names}) is None
