"""The derived table against recorded counts and published models."""

from collections import Counter
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import (
    count_adapter_parameters,
    keeps_packed_rows_apart,
    read_shape,
)
from ftc.compiler.knowledge.architectures.derived import derived_table, find_zero, read_entry
from ftc.compiler.knowledge.architectures.module_names import find_module_names
from ftc.compiler.knowledge.training.peft_targets import is_bypassed
from tests.compiler.knowledge.derived_rows import BASES, CASES, shape_of


def test_every_class_has_five_cases() -> None:
    """What the generator wrote is complete, and every class of the file of bases is in it."""
    assert set(CASES) == set(derived_table()) == set(BASES)
    assert {len(rows) for rows in CASES.values()} == {5}


@pytest.mark.parametrize("name", sorted(CASES))
def test_counts_and_parts(name: str) -> None:
    """The parameters are those of the real class when recorded, and the parts add up to them."""
    for row in CASES[name]:
        shape = shape_of(row["config"])
        loaded = derived_table()[name].get("loads", name)
        assert (shape.architecture, shape.parameters) == (loaded, row["parameters"])
        outside = shape.embedding_parameters + shape.head_parameters
        inside = shape.linear_parameters + shape.expert_parameters
        assert outside + inside <= shape.parameters
        if shape.kinds:
            assert sum(kind.count for kind in shape.kinds) == shape.layers == len(shape.order)
            layers = sum(kind.count * kind.parameters for kind in shape.kinds)
            most = outside + (4 + shape.layers) * shape.hidden**2
            assert outside <= shape.parameters - layers <= most
            counted = Counter(shape.kinds[place] for place in shape.order)
            assert all(counted[kind] == kind.count for kind in shape.kinds)
            named = {linear for kind in shape.kinds for linear in kind.linears}
            assert named == set(shape.linear_shapes)


JAMBA = {
    "architectures": ["JambaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_experts": 16,
    "mamba_dt_rank": 256,
    "vocab_size": 65536,
}
NEMOTRON = {
    "architectures": ["NemotronHForCausalLM"],
    "hidden_size": 4096,
    "num_hidden_layers": 52,
    "hybrid_override_pattern": "M-M-M-M*-" + "M-M-M-M-M*-" * 3 + "M-M-M-M-M-",
    "intermediate_size": 21504,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "mamba_num_heads": 128,
    "mamba_head_dim": 64,
    "vocab_size": 131072,
}
LFM2 = {
    "architectures": ["Lfm2ForCausalLM"],
    "hidden_size": 2048,
    "block_ff_dim": 12288,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14],
    "block_ffn_dim_multiplier": 1.0,
    "vocab_size": 65536,
}
ONE_EXPERT = {
    "architectures": ["JambaForCausalLM"],
    "hidden_size": 2560,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 20,
    "num_key_value_heads": 1,
    "num_experts": 1,
    "mamba_dt_rank": 160,
    "tie_word_embeddings": True,
    "vocab_size": 65536,
}
FALCON_MAMBA = {
    "architectures": ["FalconMambaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 8192,
    "expand": 16,
    "num_hidden_layers": 64,
    "time_step_rank": 256,
    "tie_word_embeddings": False,
    "vocab_size": 65024,
}
OPT = {  # facebook/opt-350m, whose embeddings are narrower than its layers
    "architectures": ["OPTForCausalLM"],
    "do_layer_norm_before": False,
    "ffn_dim": 4096,
    "hidden_size": 1024,
    "num_attention_heads": 16,
    "num_hidden_layers": 24,
    "vocab_size": 50272,
    "word_embed_proj_dim": 512,
}
LAGUNA = {"architectures": ["LagunaForCausalLM"], "num_attention_heads_per_layer": [48] * 40}


@pytest.mark.parametrize(
    ("config", "billions"),
    [
        (ONE_EXPERT, 3.16700896),
        (FALCON_MAMBA, 7.272665088),
        (LAGUNA, 33.189975808),
        (OPT, 0.331196416),
        ({"architectures": ["xLSTMForCausalLM"], "embedding_dim": 4096}, 6.865424896),
        (JAMBA, 51.570323328),
        (NEMOTRON, 8.100852736),
        (LFM2, 1.170340608),
        ({"architectures": ["DeepseekV3ForCausalLM"]}, 671.026404352),
        (
            {
                "architectures": ["Qwen3NextForCausalLM"],
                "full_attention_interval": 4,
                "num_hidden_layers": 48,
            },
            79.674391296,
        ),
    ],
)
def test_published_sizes(config: dict[str, Any], billions: float) -> None:
    """As transformers counts them, which the names of DeepSeek-V3 and of others say too."""
    assert shape_of(config).parameters == round(billions * 1e9)


def test_sizes_that_a_list_gives_each_layer() -> None:
    """Laguna's layers differ in their heads, and Gemma 3n's in the width of their MLP."""
    plain = shape_of(LAGUNA)
    heads = [48, 64] * 20
    mixed = shape_of(LAGUNA | {"num_attention_heads_per_layer": heads})
    query, gate = 128 * 2048, 2048
    assert mixed.parameters - plain.parameters == 20 * 16 * (2 * query + gate)
    assert [kind.count for kind in mixed.kinds] == [1, 20, 19], "one dense layer of 48 heads"
    assert mixed.linear_shapes["q_proj"].out_features == 64 * 128
    assert mixed.linear_shapes["q_proj"].sides is not None
    for other in (heads[:-1], [*heads[:-1], None]):
        assert read_shape(LAGUNA | {"num_attention_heads_per_layer": other}) is None


def test_modules_that_several_layers_share() -> None:
    """Zamba2's attention is that of its first blocks; it gets no adapter, which a merge would add.

    Its own adapters are those of each layer.
    """
    config = {"architectures": ["Zamba2ForCausalLM"], "num_hidden_layers": 4, "num_mem_blocks": 1}
    kinds = ["mamba", "hybrid", "mamba", "hybrid"]
    shape = shape_of(config | {"layers_block_type": kinds})
    assert [(kind.mixer, kind.count) for kind in shape.kinds] == [
        ("linear_attention", 2),
        ("parallel", 1),
        ("parallel", 1),
    ]
    assert set(shape.linear_shapes) == {
        *("linear", "mamba.in_proj", "mamba.out_proj"),
        *("mamba_decoder.mamba.in_proj", "mamba_decoder.mamba.out_proj"),
    }
    assert {kind.linears for kind in shape.kinds if kind.mixer == "parallel"} == {
        ("linear", "mamba_decoder.mamba.in_proj", "mamba_decoder.mamba.out_proj")
    }
    assert shape.attention_layers() == 2
    assert shape.cached_numbers() == 2 * shape.most_cached(), "each keeps its own keys"
    other = shape_of(config | {"layers_block_type": kinds, "num_mem_blocks": 2})
    assert other.parameters > shape.parameters


def test_layers_of_two_stacks() -> None:
    """HRM's layers are those of both of its modules, however often a token goes through them."""
    config = {"architectures": ["HrmTextForCausalLM"], "num_hidden_layers": 3}
    shape = shape_of(config)
    assert shape.layers == 6
    passes = {"num_hidden_layers": 24, "num_layers_per_stack": 3}
    assert shape_of(config | passes) == shape, "as transformers writes it"


def test_words_that_several_lists_add_to_a_kind() -> None:
    """Which layers rotate, index and keep their own keys is in three lists of Mistral Large 4."""
    lists = {
        "no_rope_layers": [1, 1, 1, 0],
        "indexer_types": ["full", "full", "shared", "shared"],
        "kv_source_layers": [0, 1, 2, 1],
        "mlp_layer_types": ["dense"] * 4,
    }
    name = "MistralLarge4ForConditionalGeneration"
    shape = shape_of({"architectures": [name], "num_hidden_layers": 4, **lists})
    assert {kind.mixer for kind in shape.kinds} == {"indexed_attention"}
    assert [kind.count for kind in shape.kinds] == [2, 1, 1]
    assert shape.linear_shapes["kv_a_proj_with_mqa"].count == 3
    assert shape.linear_shapes["wk"].count == 2


def test_layers_of_a_hybrid() -> None:
    """One layer in four of Qwen3-Next has attention, and each layer only its own modules."""
    shape = shape_of({"architectures": ["Qwen3NextForCausalLM"], "num_hidden_layers": 8})
    assert (shape.attention_layers(), shape.recurrent_layers(), shape.sparse_layers()) == (2, 6, 8)
    assert shape.linear_shapes["q_proj"].count == 2
    assert [shape.has_linear("q_proj", layer) for layer in range(4)] == [False] * 3 + [True]
    names = find_module_names("Qwen3NextForCausalLM")
    assert names is not None
    assert names.linear("in_proj_qkvz", 0) == "model.layers.0.linear_attn.in_proj_qkvz"


def test_modules_of_one_name_and_two_sizes() -> None:
    """Gemma 4 has wider heads in its full-attention layers: an adapter counts each as it is."""
    row = CASES["Gemma4ForCausalLM"][0]
    shape = shape_of(row["config"])
    query = shape.linear_shapes["q_proj"]
    assert query.sides is not None
    assert query.sides < query.count * (query.in_features + query.out_features)
    assert count_adapter_parameters(shape, ["q_proj"], 4) == 4 * query.sides


def test_no_packing_for_a_state() -> None:
    """Layers that carry a state from row to row leak, in every class that has them.

    Classes without one may leak too (measured in `test_packed_rows.py`).
    """
    recurrent = {
        *("BailingHybridForCausalLM", "Lfm3ForCausalLM", "MiniMaxForCausalLM"),
        "Glm5NextForConditionalGeneration",
        *("OlmoHybridForCausalLM", "Qwen4ExpForCausalLM"),
        *("BambaForCausalLM", "FalconH1ForCausalLM", "FalconMambaForCausalLM"),
        *("GraniteMoeHybridForCausalLM", "JambaForCausalLM", "KimiLinearForCausalLM"),
        *("Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "Mamba2ForCausalLM", "MambaForCausalLM"),
        *("NemotronHForCausalLM", "Qwen3NextForCausalLM", "Qwen3_5ForCausalLM"),
        *("Qwen3_5MoeForCausalLM", "RecurrentGemmaForCausalLM", "RwkvForCausalLM"),
        *("Zamba2ForCausalLM", "ZambaForCausalLM", "xLSTMForCausalLM"),
    }
    leaking = {name for name in CASES if keeps_packed_rows_apart(name) is False}
    others = {name for name in leaking if derived_table()[name].get("packs") is False}
    assert others == {
        *("BloomForCausalLM", "FalconForCausalLM", "GptOssForCausalLM"),
        *("AfmoeForCausalLM", "BioGptForCausalLM", "DeepseekV4ForCausalLM", "MptForCausalLM"),
        *("GlmOcrForConditionalGeneration", "OPTForCausalLM", "XGLMForCausalLM"),
        *("InklingForCausalLM", "Inkling2ForCausalLM", "ZayaForCausalLM"),
        *("Cosmos3EdgeForConditionalGeneration", "Ernie4_5_VLMoeForConditionalGeneration"),
        *("OpenAIGPTLMHeadModel", "BertGenerationDecoder", "BertLMHeadModel"),
        *("BigBirdForCausalLM", "CamembertForCausalLM", "Data2VecTextForCausalLM"),
        *("ElectraForCausalLM", "ErnieForCausalLM", "MegatronBertForCausalLM"),
        *("RemBertForCausalLM", "RoCBertForCausalLM", "RoFormerForCausalLM"),
        *("RobertaForCausalLM", "RobertaPreLayerNormForCausalLM", "XLMRobertaForCausalLM"),
        *("XLMRobertaXLForCausalLM", "XmodForCausalLM"),
    }
    assert leaking - others == recurrent


def test_modules_that_kernels_read_past() -> None:
    """An adapter on the output of a state space would take no part; elsewhere it does."""
    assert is_bypassed("JambaForCausalLM", "mamba.out_proj")
    assert not is_bypassed("Qwen3NextForCausalLM", "linear_attn.out_proj")
    assert not is_bypassed("LlamaForCausalLM", "out_proj")


@pytest.mark.parametrize(
    "config",
    [
        {"architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 0},
        {"architectures": ["NemotronHForCausalLM"], "hybrid_override_pattern": "M?"},
        {"architectures": ["Qwen3_5ForCausalLM"], "layer_types": ["full_attention"]},
        {"architectures": ["Gemma3nForCausalLM"], "altup_num_inputs": 2},
        {
            "architectures": ["Qwen3_5ForCausalLM"],
            "num_hidden_layers": 2,
            "layer_types": ["full_attention", "novel_attention"],
        },
        LAGUNA | {"num_attention_heads_per_layer": [48, 64]},
    ],
)
def test_a_variant_outside_the_table_is_none(config: dict[str, Any]) -> None:
    """A configuration that the derived formulas do not cover never gets a wrong number."""
    assert read_shape(config) is None


def test_a_type_may_load_a_class_of_another() -> None:
    """Transformers has no class of InternLM3's own, whose repository names one."""
    config = {"architectures": ["InternLM3ForCausalLM"], "model_type": "internlm3"}
    shape = shape_of(config | {"auto_map": {}, "bias": False, "qkv_bias": False})
    assert (shape.architecture, shape.model_type) == ("LlamaForCausalLM", "internlm3")
    assert shape.parameters == 8_804_241_408  # internlm/internlm3-8b-instruct


BLOOMZ = {"architectures": ["BloomForCausalLM"], "n_embed": 1024, "n_layer": 24}
BLOOMZ |= {"num_attention_heads": 16, "vocab_size": 250_880}


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (BLOOMZ, 559_214_592),  # bigscience/bloomz-560m
        (BLOOMZ | {"hidden_size": 64}, 559_214_592),
        (BLOOMZ | {"n_embed": None, "hidden_size": 1024}, 559_214_592),
        ({"architectures": ["FalconForCausalLM"], "n_embed": 4544, "hidden_size": 64}, None),
        (
            {"architectures": ["Lfm2ForCausalLM"], "block_ff_dim": 6656, "intermediate_size": 9},
            None,
        ),
    ],
)
def test_a_key_of_older_files_takes_the_place_of_another(
    config: dict[str, Any], parameters: int | None
) -> None:
    """The class reads it although its configuration has no field of that name."""
    if parameters is None:  # as many as with the newer key
        older = derived_table()[config["architectures"][0]]["older"]
        newer = {older.get(key, key): value for key, value in reversed(config.items())}
        parameters = shape_of(newer).parameters
    assert shape_of(config).parameters == parameters


def test_a_rank_of_zero_is_not_one_that_is_null() -> None:
    """The classes ask whether it is null: with 0 they have matrices without elements."""
    for name, entry in derived_table().items():
        for key in entry.get("positive", ()):
            config = CASES[name][0]["config"] | {"attention_bias": False}
            without = read_entry(name, entry, config | {key: None})
            assert without is not None, name
            assert read_entry(name, entry, config | {key: 0}) is None
            assert find_zero(entry, config | {key: 0}) == key
            assert find_zero(entry, config | {key: None}) is None
    assert "positive" in derived_table()["DeepseekV2ForCausalLM"]
    assert "positive" not in derived_table()["JambaForCausalLM"], "num_experts of 0 is none"
