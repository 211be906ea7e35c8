"""The formulas of encoders against recorded counts, and against the real classes."""

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import (
    count_adapter_parameters,
    read_shape,
    supports_sdpa,
)
from ftc.compiler.knowledge.architectures.derived import derived_table, encoder_table, linear_keys
from ftc.compiler.knowledge.architectures.encoders import (
    headless,
    is_encoder,
    read_bare,
    read_encoder,
    read_headed,
    reads_both_ways,
    scoring_class,
)

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (HERE / "encoder_cases.json").read_text(encoding="utf-8")
)
BASES: dict[str, dict[str, Any]] = json.loads(
    (ROOT / ".ci/encoder_bases.json").read_text(encoding="utf-8")
)
TABLE = encoder_table()
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "vocab_size": 130_000,  # EuroBERT pads with the token 128,001
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
    "distilbert-base-uncased": ("DistilBertModel", {}, 66_362_880),
    "all-mpnet-base-v2": ("MPNetModel", {"max_position_embeddings": 514}, 109_486_464),
    "camembert-base": (
        "CamembertModel",
        {"vocab_size": 32_005, "max_position_embeddings": 514, "type_vocab_size": 1},
        110_621_952,
    ),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_published_encoders_have_their_parameters(name: str) -> None:
    """The formula gives the count of the published checkpoint."""
    architecture, sizes, parameters = PUBLISHED[name]
    shape = read_encoder({"architectures": [architecture], **sizes})
    assert shape is not None
    assert shape.parameters == parameters


def test_every_class_has_its_cases() -> None:
    """The generator wrote five counts without a head and five with a score head per class."""
    assert set(CASES) == set(TABLE) == set(BASES)
    for name, rows in CASES.items():
        first, second = {row["config"]["architectures"][0] for row in rows[:5]}, rows[5:]
        assert first == {name}
        assert {row["config"]["architectures"][0] for row in second} == {scoring_class(name)}


@pytest.mark.parametrize("name", sorted(CASES))
def test_counts_are_those_of_the_class(name: str) -> None:
    """Each count was recorded from a real build, with a score head or without."""
    for row in CASES[name]:
        scores = row["config"]["architectures"] != [name]
        shape = read_encoder(row["config"], scores=scores)
        assert shape is not None
        assert (shape.architecture, shape.parameters) == (name, row["parameters"])
        assert (shape.head_parameters > 0) is scores


def real_class(name: str, sizes: dict[str, Any], auto: str, **settings: Any) -> tuple[Any, Any]:
    """Return the config and the class that transformers builds on the meta device."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    spelt = {TABLE[name]["aliases"].get(key, key): value for key, value in sizes.items()}
    given = {**spelt, **BASES[name].get("base", {}), **settings}
    config = transformers.AutoConfig.for_model(TABLE[name]["model_type"], **given)
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return config, getattr(transformers, auto).from_config(config)


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["defaults", "small"])
def test_a_real_class_has_as_many_parameters(name: str, sizes: dict[str, Any]) -> None:
    """Built by transformers on the meta device, pooler included."""
    config, model = real_class(name, sizes, "AutoModel")
    torch = pytest.importorskip("torch")
    shape = read_encoder({**config.to_dict(), "architectures": [name]})

    assert type(model).__name__ == name
    assert shape is not None
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    stack = f"{TABLE[name]['stack']}."
    linears = {
        module: linear
        for module, linear in model.named_modules()
        if isinstance(linear, torch.nn.Linear) and module.startswith(stack)
    }
    rank = sum(linear.in_features + linear.out_features for linear in linears.values())
    keys = tuple(linear_keys(TABLE[name]).values())
    assert sum(count_adapter_parameters(shape, (key,), 1) for key in keys) >= rank
    assert shape.linear_parameters == sum(linear.weight.numel() for linear in linears.values())


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.parametrize("sizes", [{}, SMALL], ids=["defaults", "small"])
def test_a_real_class_with_one_score_has_as_many_parameters(
    name: str, sizes: dict[str, Any]
) -> None:
    """What is added to the encoder is its head, whether the base has one or not."""
    config, model = real_class(name, sizes, "AutoModelForSequenceClassification", num_labels=1)
    assert type(model).__name__ == scoring_class(name)
    for each in (name, scoring_class(name)):
        shape = read_encoder({**config.to_dict(), "architectures": [each]}, scores=True)
        assert shape is not None
        assert shape.architecture == name
        assert shape.parameters == sum(weight.numel() for weight in model.parameters())
        head = [n for n, _ in model.named_parameters() if not n.startswith(model.base_model_prefix)]
        sizes_of = dict(model.named_parameters())
        assert shape.head_parameters == sum(sizes_of[each].numel() for each in head)


@pytest.mark.prove_all
@pytest.mark.parametrize("name", ["DistilBertModel", "ModernBertModel", "MPNetModel"])
def test_the_generator_gives_the_entry(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator gives the entry of the table."""
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    encoders: Any = import_module("encoders")
    entry, done, wrong = encoders.derive(name, BASES[name])
    assert not wrong
    assert json.loads(json.dumps([entry, done])) == [TABLE[name], CASES[name]]


def test_classes_without_fused_attention_are_known() -> None:
    """MPNet and DeBERTa implement eager attention only; requesting SDPA is an error."""
    assert not supports_sdpa("MPNetModel")
    assert not supports_sdpa("DebertaV2Model")
    assert supports_sdpa("DistilBertModel")


def test_narrow_embeddings_are_not_the_width_of_the_model() -> None:
    """ELECTRA has narrower embeddings, which it projects to the hidden size."""
    shape = read_encoder({"architectures": ["ElectraModel"]})
    assert shape is not None
    assert (shape.hidden, shape.head_dim) == (256, 64)
    equal = read_encoder({"architectures": ["ElectraModel"], "embedding_size": 256})
    assert equal is not None
    assert equal.parameters == 17_422_848, "as the class has, which projects nothing then"


def test_another_variant_of_a_class_is_unknown() -> None:
    """DeBERTa v3 shares the position projections; v2 has its own, and a convolution."""
    v3 = {"architectures": ["DebertaV2Model"], **BASES["DebertaV2Model"]["base"]}
    assert read_encoder(v3) is not None
    assert read_encoder({**v3, "share_att_key": False}) is None
    assert read_encoder({**v3, "conv_kernel_size": 3}) is None


def test_a_class_with_a_head_has_the_same_weights() -> None:
    """Its head is left out; a class of another task is unknown."""
    plain = read_encoder({"architectures": ["BertModel"]})
    assert read_encoder({"architectures": ["BertForMaskedLM"]}) == plain
    assert read_encoder({"model_type": "bert"}) == plain
    assert read_encoder({"architectures": ["BertForSequenceClassification"]}) is None
    assert read_encoder({"architectures": ["LlamaForCausalLM"]}) is None
    assert read_encoder({"model_type": "distilbert"}) == read_encoder(
        {"architectures": ["DistilBertForMaskedLM"]}
    )
    assert is_encoder("BertModel")
    assert not is_encoder("Qwen3ForCausalLM")


def test_positions_before_the_first_token_are_no_context() -> None:
    """XLM-R and MPNet count positions from the index after the padding token."""
    for name in ("XLMRobertaModel", "MPNetModel"):
        shape = read_encoder({"architectures": [name], "max_position_embeddings": 514})
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


@pytest.mark.parametrize(
    ("keys", "both_ways"),
    [
        ({"is_causal": False}, True),  # Alibaba-NLP/gte-Qwen2-1.5B-instruct
        ({"use_bidirectional_attention": True}, True),  # google/embeddinggemma-300m
        ({"use_bidirectional_attention": "all"}, True),
        ({"use_bidirectional_attention": "vision"}, False),
        ({"use_bidirectional_attention": None, "is_causal": None}, False),
        ({}, False),
    ],
)
def test_a_causal_class_may_read_both_ways(keys: dict[str, Any], *, both_ways: bool) -> None:
    """By its `config.json`."""
    assert reads_both_ways(keys) is both_ways


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("qwen2", {"is_causal": False}), ("gemma3_text", {"use_bidirectional_attention": True})],
)
def test_its_first_token_sees_the_last(kind: str, keys: dict[str, Any]) -> None:
    """In the classes of the pinned transformers."""
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 16}
    small |= {"vocab_size": 64, "intermediate_size": 32, "num_key_value_heads": 1}
    small |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    for given in (keys, {}):
        config = transformers.AutoConfig.for_model(kind, **small, **given)
        assert sees_the_last(config) is reads_both_ways(given)


@pytest.mark.parametrize("forward", [True, False])
def test_an_encoder_reads_forward_as_a_decoder(*, forward: bool) -> None:
    """`RobertaForCausalLM` has a causal mask only where its config says so."""
    transformers = pytest.importorskip("transformers")
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 64}
    config = transformers.AutoConfig.for_model("roberta", is_decoder=forward, **small)
    assert sees_the_last(config) is not forward
    said = {"architectures": ["RobertaForCausalLM"], "is_decoder": forward}
    assert reads_both_ways(said) is not forward
    assert (read_headed(said, "tokens") is not None) is forward


def sees_the_last(config: Any) -> bool:
    """Return whether the vector of the first token depends on the last one."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(config).eval()
    with torch.no_grad():
        one, other = (
            model(input_ids=torch.tensor([[5, 6, last]])).last_hidden_state[0, 0] for last in (7, 8)
        )
    return not torch.equal(one, other)
