"""The parameter formulas against recorded counts, and against the real classes of transformers."""

import ast
import json
import re
import tarfile
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.architectures.architecture import (
    as_loaded,
    converted_class,
    count_adapter_parameters,
    find_unfit_keys,
    is_convertible,
    is_diffusion,
    named_in_vain,
    read_shape,
    supports_sdpa,
)
from ftc.compiler.knowledge.architectures.derived import derived_table
from tests.compiler.knowledge.derived_rows import shape_of

CASES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "architecture_cases.json").read_text(encoding="utf-8")
)
ROWS = [(name, row["config"], row["parameters"]) for name, rows in CASES.items() for row in rows]
ROOT = Path(__file__).parents[3]
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}


def test_every_architecture_has_cases() -> None:
    """The most used classes have configurations that are tied, untied, and all defaults."""
    assert len(CASES) == 40
    assert set(CASES) <= set(derived_table())
    for rows in CASES.values():
        ties = [row["config"].get("tie_word_embeddings") for row in rows]
        assert ties == [True, False, None]


@pytest.mark.parametrize(("name", "config", "parameters"), ROWS)
def test_parameters_equal_the_recorded_count(
    name: str, config: dict[str, Any], parameters: int
) -> None:
    """The formula gives the count that the real class had when the case was recorded."""
    shape = shape_of(config)
    assert (shape.architecture, shape.parameters) == (name, parameters)


@pytest.mark.parametrize("name", sorted(CASES))
def test_parts_add_up(name: str) -> None:
    """Embedding, head and layers are the whole but for what little stands outside the layers."""
    for row in CASES[name]:
        shape = shape_of(row["config"])
        layers = shape.layers * shape.largest_layer_parameters
        rest = shape.parameters - shape.embedding_parameters - shape.head_parameters - layers
        assert 0 <= rest <= 4 * shape.hidden + shape.vocab
        assert shape.linear_parameters + shape.expert_parameters <= layers
        assert shape.head_parameters == (0 if shape.tied else shape.vocab * shape.hidden)


def test_adapter_parameters() -> None:
    """LoRA of rank 16 on q, k, v, o of Mistral 7B has 13,631,488 parameters."""
    shape = shape_of({"architectures": ["MistralForCausalLM"]})
    targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
    assert count_adapter_parameters(shape, targets, 16) == 13_631_488
    gpt2 = shape_of({"architectures": ["GPT2LMHeadModel"]})
    assert count_adapter_parameters(gpt2, ["c_attn"], 8) == 12 * 8 * (768 + 2304)
    both = count_adapter_parameters(gpt2, ["c_proj"], 1)
    assert both == 12 * (768 + 768 + 3072 + 768)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"architectures": ["SomethingNew"]},
        {"architectures": ["SomethingNew"], "model_type": "llama"},
        {"architectures": []},
        {"architectures": "LlamaForCausalLM"},
        {"architectures": [7]},
        {"model_type": "bert"},
        {"model_type": None},
        LLAMA | {"hidden_size": 0},
        LLAMA | {"hidden_size": "4096"},
        LLAMA | {"hidden_size": True},
        LLAMA | {"num_hidden_layers": -1},
        LLAMA | {"num_hidden_layers": 2.5},
        LLAMA | {"vocab_size": []},
        {"model_type": "gpt2", "add_cross_attention": True},
        {"model_type": "qwen2_moe", "mlp_only_layers": [0]},
    ],
)
def test_an_unknown_shape_is_none(config: dict[str, Any]) -> None:
    """What no entry describes, and what is no configuration, is None and never a wrong number."""
    assert read_shape(config) is None


def test_model_type_stands_in_for_architectures() -> None:
    """A configuration without `architectures` is read by its `model_type`."""
    assert shape_of({"model_type": "llama"}) == shape_of(LLAMA)


@pytest.mark.parametrize(
    ("written", "kind", "known"),
    [
        ("Ernie4_5_ForCausalLM", "ernie4_5", "Ernie4_5ForCausalLM"),
        ("PhiMoEForCausalLM", "phimoe", "PhimoeForCausalLM"),
        ("LLaMAForCausalLM", "llama", "LlamaForCausalLM"),
        ("OLMoForCausalLM", "hf_olmo", None),  # of a library of its own, with other keys
        ("Llama_ForCausalLM", "llama", None),  # the converter does not know it
        ("LlamaModel", "llama", None),
    ],
)
def test_an_older_spelling_of_a_class(written: str, kind: str, known: str | None) -> None:
    """It is read as the class of its `model_type`, which transformers loads."""
    shape = read_shape({"architectures": [written], "model_type": kind})
    assert (None if shape is None else shape.architecture) == known


@pytest.mark.parametrize(
    ("architecture", "wrapper", "read_as"),
    [
        ("MptForCausalLM", None, "MPTForCausalLM"),
        ("PhimoeForCausalLM", None, "PhiMoEForCausalLM"),
        ("LlamaForCausalLM", None, "LlamaForCausalLM"),
        ("DeepseekV3ForCausalLM", "Kimi_K25ForConditionalGeneration", "DeepseekV3ForCausalLM"),
        ("NovelForCausalLM", None, "NovelForCausalLM"),
    ],
)
def test_the_converter_has_an_older_spelling(
    architecture: str, wrapper: str | None, read_as: str
) -> None:
    """The converter's own spelling of a class is used."""
    assert converted_class(architecture, wrapper) == read_as


def test_the_keys_that_do_not_fit() -> None:
    """Either of two that contradict each other; none where the class is only another variant."""
    gemma = {"model_type": "gemma4_text", "layer_types": ["full_attention"] * 3}
    assert find_unfit_keys({**gemma, "num_hidden_layers": 2})[:1] == ("layer_types",)
    assert find_unfit_keys(LLAMA | {"max_position_embeddings": "4096"}) == (
        "max_position_embeddings",
    )
    assert find_unfit_keys({"model_type": "gpt2", "add_cross_attention": True}) == ()
    assert find_unfit_keys(LLAMA) == ()
    assert find_unfit_keys({"architectures": ["NovelForCausalLM"]}) == ()


#: Published models of variants that were once none of the table's: with the counts of the classes.
VARIANTS: list[tuple[dict[str, Any], int, int]] = [
    (
        {
            "model_type": "falcon",
            "hidden_size": 8192,
            "num_hidden_layers": 60,
            "num_attention_heads": 128,
            "num_kv_heads": 8,
            "new_decoder_architecture": True,
        },
        41_303_293_952,
        8,
    ),
    (
        {
            "model_type": "falcon",
            "hidden_size": 4096,
            "num_hidden_layers": 60,
            "num_attention_heads": 32,
            "num_kv_heads": 8,
            "new_decoder_architecture": True,
            "num_ln_in_parallel_attn": 1,
            "ffn_hidden_size": 16384,
            "tie_word_embeddings": False,
        },
        11_102_822_400,
        8,
    ),
    (
        {
            "model_type": "falcon",
            "hidden_size": 2048,
            "num_hidden_layers": 24,
            "num_attention_heads": 32,
            "alibi": True,
            "bias": True,
            "multi_query": False,
            "parallel_attn": False,
            "vocab_size": 50304,
        },
        1_311_625_216,
        32,
    ),
    (
        {
            "model_type": "cohere",
            "hidden_size": 12288,
            "intermediate_size": 33792,
            "num_hidden_layers": 64,
            "num_attention_heads": 96,
            "num_key_value_heads": 8,
            "use_qk_norm": True,
        },
        103_810_674_688,
        8,
    ),
    (
        {
            "model_type": "stablelm",
            "vocab_size": 100352,
            "hidden_size": 5120,
            "intermediate_size": 13824,
            "num_hidden_layers": 40,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "qk_layernorm": True,
            "use_parallel_residual": True,
        },
        12_143_185_920,
        8,
    ),
]


@pytest.mark.parametrize(("config", "parameters", "key_heads"), VARIANTS)
def test_variants_of_a_class(config: dict[str, Any], parameters: int, key_heads: int) -> None:
    """Falcon 40B, 11B and RW, Command R+ and Stable LM 2 12B count as their classes do."""
    shape = shape_of(config)
    assert (shape.parameters, shape.kv_heads, shape.kinds) == (parameters, key_heads, ())
    named = {"architectures": [shape.architecture], **config}
    counted, linears = real_model(named)
    assert counted == parameters
    assert sum(linears.values()) == sum(each.count for each in shape.linear_shapes.values())


def test_key_heads_are_those_of_the_projection() -> None:
    """One matrix of queries, keys and values says how many; not a key that the class ignores."""
    ignored = {"model_type": "gpt_bigcode", "num_key_value_heads": 4}
    assert shape_of(ignored).kv_heads == 1
    wide = {"model_type": "phi3", "hidden_size": 12288, "head_dim": 96}
    assert (shape_of(wide).heads, shape_of(wide).kv_heads) == (32, 32)
    assert shape_of({"model_type": "gpt2"}).kv_heads == 12


@pytest.mark.parametrize("name", sorted(CASES))
def test_real_classes(name: str) -> None:
    """The class of transformers, on the meta device, has these parameters and linear modules."""
    for row in CASES[name]:
        shape = shape_of(row["config"])
        parameters, linears = real_model(row["config"])
        assert row["parameters"] == parameters
        mine = {
            (key.rpartition(".")[2], linear.in_features, linear.out_features): linear.count
            for key, linear in shape.linear_shapes.items()
        }
        assert mine == dict(linears)


def real_model(config: dict[str, Any]) -> tuple[int, Counter[tuple[str, int, int]]]:
    """Parameters of the real class, and its linear modules as (name, in, out) -> count."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    facts = {k: v for k, v in config.items() if k not in {"architectures", "model_type"}}
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        settings = transformers.AutoConfig.for_model(config["model_type"], **facts)
        model = transformers.AutoModelForCausalLM.from_config(settings)
    assert type(model).__name__ == config["architectures"][0]
    head = model.get_output_embeddings()
    linears: Counter[tuple[str, int, int]] = Counter()
    for path, module in model.named_modules():
        name = path.rpartition(".")[2]
        if isinstance(module, torch.nn.Linear) and module is not head:
            linears[name, module.in_features, module.out_features] += 1
        elif type(module).__name__ == "Conv1D":
            linears[name, *module.weight.shape] += 1
    return sum(parameter.numel() for parameter in model.parameters()), linears


def test_convertible_architectures_are_the_real_registry(sdist: Path) -> None:
    """The list of names is the text registry of the pinned llama.cpp's converter."""
    table = files("ftc.compiler.knowledge.architectures") / "gguf_architectures.json"
    recorded = json.loads(table.read_text(encoding="utf-8"))["architectures"]
    assert recorded == sorted(set(recorded))
    assert recorded == sorted(registered_names(sdist))


def test_diffusion_models_are_those_of_llama_cpp(sdist: Path) -> None:
    """The classes of the converter whose architecture llama.cpp runs as a diffusion model."""
    table = files("ftc.compiler.knowledge.architectures") / "gguf_architectures.json"
    recorded = json.loads(table.read_text(encoding="utf-8"))["diffusion"]
    assert recorded == sorted(diffusion_names(sdist))
    assert not any(map(is_diffusion, ("LlamaForCausalLM", None)))


def test_the_class_of_the_type_is_loaded() -> None:
    """Transformers reads `model_type`; only code of the repository goes by another class."""
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "vocab_size": 100}
    config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen2", **sizes}
    assert shape_of(dict(as_loaded(config))).architecture == "Qwen2ForCausalLM"
    remote = {**config, "auto_map": {"AutoModelForCausalLM": "m.Qwen3ForCausalLM"}}
    assert shape_of(dict(as_loaded(remote))).architecture == "Qwen3ForCausalLM"
    assert named_in_vain(config, "Qwen2ForCausalLM") == "Qwen3ForCausalLM"
    assert not named_in_vain({"architectures": ["LlamaForCausalLM"]}, "MistralForCausalLM")
    assert not named_in_vain({"architectures": ["NovelForCausalLM"]}, "MistralForCausalLM")


def test_is_convertible() -> None:
    """Registered text models convert; classifiers and unknown names do not."""
    assert is_convertible("LlamaForCausalLM")
    assert not is_convertible("LlamaForSequenceClassification")


def test_sdpa_is_where_transformers_has_it() -> None:
    """Each class of the table has the attention kernel that the table says."""
    transformers = pytest.importorskip("transformers")
    built = [name for name in derived_table() if hasattr(transformers, name)]
    real = {name: bool(getattr(transformers, name)._supports_sdpa) for name in built}

    assert {name: supports_sdpa(name) for name in built} == real
    assert supports_sdpa("NoSuchForCausalLM")


def diffusion_names(sdist: Path) -> Iterator[str]:
    """Names that the converter's classes register for llama.cpp's architectures of diffusion."""
    sources: dict[str, bytes] = {}
    with tarfile.open(sdist) as archive:
        for member in archive:
            name = member.name.partition("/llama.cpp/")[2]
            if name == "src/llama-arch.cpp" or name.startswith("conversion/"):
                stream = archive.extractfile(member)
                sources[name] = b"" if stream is None else stream.read()
    body = sources.pop("src/llama-arch.cpp").decode().partition("bool llm_arch_is_diffusion")[2]
    kinds = set(re.findall(r"case LLM_ARCH_(\w+):", body.partition("return true")[0]))
    for text in sources.values():
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.ClassDef):
                continue
            texts = list(map(ast.unparse, node.body))
            if any(f"model_arch = gguf.MODEL_ARCH.{kind}" in texts for kind in kinds):
                yield from re.findall(r"'(\w+)'", ast.unparse(node.decorator_list[0]))


def registered_names(sdist: Path) -> set[str]:
    """Keys of `TEXT_MODEL_MAP`, read from the source distribution without importing it."""
    with tarfile.open(sdist) as archive:
        members = (m for m in archive if m.name.endswith("/llama.cpp/conversion/__init__.py"))
        source = archive.extractfile(next(members))
        assert source is not None
        tree = ast.parse(source.read())
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "TEXT_MODEL_MAP":
            assert node.value is not None
            return set(ast.literal_eval(node.value))
    pytest.fail(f"{sdist} has no TEXT_MODEL_MAP")
