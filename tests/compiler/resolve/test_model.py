"""Model facts come from a folder, the Hub, its cache or the table; each failure is one finding."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.exports.score_heads import find_score_class
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.resolve.data.facts import resolve_data
from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.facts import facts_from_table, resolve_model
from ftc.compiler.resolve.resolver import NOT_SAID
from tests.compiler.resolve.resolving import code, known_model


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int]]]) -> None:
    """Write a file whose header is true and whose tensors are zeros."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    size = 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for side in shape:
            count *= side
        width = {"F8_E4M3": 1, "I8": 1, "BF16": 2, "F16": 2, "F32": 4}[dtype] * count
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [size, size + width]}
        size += width
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(size))


def edit_config(folder: Path, **changes: Any) -> None:
    """Change keys of the config; None removes one."""
    path = folder / "config.json"
    data = json.loads(path.read_bytes()) | changes
    data = {key: value for key, value in data.items() if value is not None}
    path.write_text(json.dumps(data), encoding="utf-8")


def test_a_folder_gives_exact_facts(make_spec: Any, model_folder: Path) -> None:
    """A folder's path stays relative, and the formula counts its parameters."""
    write_safetensors(model_folder / "model.safetensors", {"a": ("BF16", [10, 3])})
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.origin, facts.path, facts.revision) == ("folder", "model", None)
    assert (facts.architecture, facts.context_tokens) == ("LlamaForCausalLM", 256)
    attention = 64 * 64 * 2 + 64 * 32 * 2
    layer = attention + 3 * 64 * 128 + 2 * 64
    assert facts.parameters == 2 * 320 * 64 + 2 * layer + 64
    assert facts.dtype == "bfloat16"
    assert facts.weights_bytes == (model_folder / "model.safetensors").stat().st_size
    assert not facts.custom_code
    assert facts.quantized is None


def test_an_absolute_folder_leaves_no_absolute_path(make_spec: Any, model_folder: Path) -> None:
    """Facts name an absolute folder relative to the spec."""
    facts = known_model(make_spec(model=str(model_folder)), model_folder.parent)
    assert (facts.id, facts.path) == ("model", "model")
    assert str(model_folder.parent) not in repr(facts)


def test_an_architecture_outside_the_table_is_counted_by_its_headers(
    make_spec: Any, model_folder: Path
) -> None:
    """Headers give parameters and dtype; without weights the count is unknown."""
    edit_config(model_folder, architectures=["NovelForCausalLM"], model_type="novel")
    edit_config(model_folder, torch_dtype=None)
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC111"
    tensors = {"a": ("F16", [7, 3]), "b": ("F32", [2])}
    write_safetensors(model_folder / "model.safetensors", tensors)
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.parameters, facts.dtype, facts.shape) == (23, "float16", None)
    (model_folder / "model.safetensors").write_bytes(b"\xff" * 40)
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC111"


def test_the_modules_of_an_unknown_architecture(make_spec: Any, model_folder: Path) -> None:
    """Headers name those with matrices, an index all that have weights; the table is better."""
    tensors = {
        "model.layers.0.attn.wq.weight": ("BF16", [4, 4]),
        "model.layers.1.attn.wq.weight": ("BF16", [4, 4]),
        "model.layers.0.attn.wq.bias": ("BF16", [4]),
        "model.layers.0.norm.weight": ("BF16", [4]),
    }
    path = model_folder / "model.safetensors"
    write_safetensors(path, tensors)
    assert known_model(make_spec(), model_folder.parent).modules is None
    edit_config(model_folder, architectures=["NovelForCausalLM"], model_type="novel")
    assert known_model(make_spec(), model_folder.parent).modules == ("model.layers.*.attn.wq",)
    path.unlink()
    index = {"metadata": {"total_size": 64}, "weight_map": dict.fromkeys(tensors, "x.safetensors")}
    (model_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    facts = known_model(make_spec(), model_folder.parent)
    assert facts.modules == ("model.layers.*.attn.wq", "model.layers.*.norm")


@pytest.mark.parametrize(
    ("name", "text", "licence"),
    [
        ("README.md", "---\nlicense: cc-by-nc-4.0\ntags: [a]\n---\n# A\n", "cc-by-nc-4.0"),
        ("README.md", "---\nlicense: other\nlicense_name: mrl\n---\n", "mrl"),
        ("README.md", '---\r\nlicense: "mit"\r\n---\r\n', "mit"),
        ("README.md", "# A\nlicense: mit\n", None),
        (
            "LICENSE",
            "\n  Qwen RESEARCH LICENSE AGREEMENT\n\nText\n",
            "Qwen RESEARCH LICENSE AGREEMENT",
        ),
        ("LICENSE", "", None),
    ],
)
def test_the_licence_of_a_folder(
    make_spec: Any, model_folder: Path, name: str, text: str, licence: str | None
) -> None:
    """The front matter of its README says it, else the first line of its LICENSE."""
    (model_folder / name).write_bytes(text.encode())
    assert known_model(make_spec(), model_folder.parent).licence == licence


LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 988097824\n"


@pytest.mark.parametrize("kept", [0.1, 0.9], ids=["in the header", "in the tensors"])
def test_truncated_weights_are_told_with_both_sizes(
    make_spec: Any, model_folder: Path, kept: float
) -> None:
    """The architecture is in the table, so nothing else needs the weights."""
    path = model_folder / "model.safetensors"
    write_safetensors(path, {"a": ("BF16", [10, 30]), "b": ("BF16", [10, 30])})
    whole = path.read_bytes()
    assert known_model(make_spec(), model_folder.parent).weights_bytes == len(whole)
    path.write_bytes(whole[: int(kept * len(whole))])
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC135"
    assert "`model.safetensors` of `./model` is truncated" in found.finding.message
    assert f"has {int(kept * len(whole)):,} bytes" in found.finding.message
    if kept > 0.5:
        assert f"says {len(whole):,}" in found.finding.message


@pytest.mark.parametrize(
    "name",
    ["model-00001-of-00002.safetensors", "pytorch_model.bin", "tokenizer.json", "tokenizer.model"],
)
def test_a_pointer_of_git_lfs_is_named(make_spec: Any, model_folder: Path, name: str) -> None:
    """A clone without git-lfs: with the size of the pointer and of the file."""
    (model_folder / name).write_text(LFS)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC134"
    assert f"`{name}` of `./model` is a pointer of git-lfs" in found.finding.message
    assert f"{len(LFS)} bytes instead of 988,097,824" in found.finding.message


def test_several_pointers_are_one_finding(make_spec: Any, model_folder: Path) -> None:
    """The weights are named, and the others are counted."""
    for name in ("model.safetensors", "tokenizer.json", "tokenizer.model"):
        (model_folder / name).write_text(LFS)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    said = "`model.safetensors` of `./model` and 2 other files are pointers"
    assert said in found.finding.message


def test_data_that_is_a_pointer_of_git_lfs_is_named(make_spec: Any, tmp_path: Path) -> None:
    """It is not taken for a table of one column."""
    (tmp_path / "rows.csv").write_text(LFS)
    found = resolve_data(make_spec(data="rows.csv"), folder=tmp_path, tokenizer=NOT_SAID)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC134"
    assert "988,097,824" in found.finding.message


def test_a_sharded_model_is_read_through_its_index(make_spec: Any, model_folder: Path) -> None:
    """Shards add up; where one is missing the index's total stands in."""
    edit_config(model_folder, architectures=["NovelForCausalLM"], model_type="novel")
    shards = {"a": "x-1.safetensors", "b": "x-2.safetensors"}
    index = {"metadata": {"total_size": 64}, "weight_map": shards}
    (model_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert known_model(make_spec(), model_folder.parent).missing_weights == ()
    write_safetensors(model_folder / "x-1.safetensors", {"a": ("BF16", [5])})
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.parameters, facts.missing_weights) == (32, ("x-2.safetensors",))
    write_safetensors(model_folder / "x-2.safetensors", {"b": ("BF16", [6])})
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.parameters, facts.missing_weights) == (11, ())


@pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html><html></html>", b"\0" * 64])
def test_what_is_no_safetensors_file_is_told(
    make_spec: Any, model_folder: Path, data: bytes
) -> None:
    """The table counts the parameters, and loading would still stop at the file."""
    (model_folder / "model.safetensors").write_bytes(data)
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC111"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"architectures": ["BertForMaskedLM"], "model_type": "bert"}, "FTC103"),
        ({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5"}, "FTC103"),
        ({"architectures": None, "model_type": None}, "FTC102"),
        ({"architectures": ["NovelForCausalLM"], "vocab_size": None}, "FTC102"),
        ({"num_hidden_layers": 0}, "FTC102"),
        ({"hidden_size": -1}, "FTC102"),
    ],
)
def test_configs_that_cannot_be_trained(
    make_spec: Any, model_folder: Path, changes: dict[str, Any], expected: str
) -> None:
    """Each kind of unusable config has its own code."""
    edit_config(model_folder, **changes)
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == expected


@pytest.mark.parametrize(
    ("objective", "says", "generates"),
    [
        ("embed", "cannot train an embedding model", True),
        ("rerank", "cannot train a reranker", False),
    ],
)
def test_texts_are_compared_by_other_models(
    make_spec: Any, model_folder: Path, objective: str, says: str, *, generates: bool
) -> None:
    """An encoder that ftc does not have gets the names of those that it has."""
    edit_config(model_folder, architectures=["AlbertModel"], model_type="albert")
    found = resolve_model(make_spec(objective=objective), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert says in found.finding.message
    assert "`RobertaModel`" in found.finding.help
    assert ("ForCausalLM" in found.finding.help) == generates


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        ("classification", "ftc trains classifiers and reward models from models that generate"),
        ("sft", "an encoder trains with the objective `embed` or `rerank`"),
    ],
)
def test_an_encoder_names_models_that_can_be_trained(
    make_spec: Any, model_folder: Path, objective: str, says: str
) -> None:
    """Small ones of the table, each of another maker; a user of BERT has no idea of causal ones."""
    small = {
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "intermediate_size": 3072,
        "num_attention_heads": 12,
        "vocab_size": 30522,
        "max_position_embeddings": 512,
    }
    edit_config(model_folder, architectures=["BertForMaskedLM"], model_type="bert", **small)
    found = resolve_model(make_spec(objective=objective), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    models = found.finding.remedy.values["models"]
    assert isinstance(models, tuple)
    table = [find_model(str(name)) for name in models]
    assert len({str(name).partition("/")[0] for name in models}) == 3
    assert all(each is not None and each.shape.parameters < 1e9 for each in table)
    assert all(each and find_score_class(each.shape.model_type) for each in table)
    assert says in found.finding.help


def test_quantized_and_custom_models_are_told(make_spec: Any, model_folder: Path) -> None:
    """Quantization and remote code are facts for the rules to judge."""
    edit_config(
        model_folder,
        quantization_config={"quant_method": "gptq"},
        auto_map={"AutoModelForCausalLM": "modeling.Novel"},
    )
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.quantized, facts.custom_code) == ("gptq", False), "transformers has this class"
    write_safetensors(model_folder / "model.safetensors", {"a": ("BF16", [10, 3])})
    novel = {"architectures": ["NovelForCausalLM"], "model_type": "novel"}
    edit_config(model_folder, **novel, quantization_config=None)
    assert known_model(make_spec(), model_folder.parent).custom_code


@pytest.mark.parametrize(
    ("key", "method"),
    [
        ("quantization_config", "mxfp4"),
        ("quantization_config", "fp8"),
        ("compression_config", "compressed-tensors"),
    ],
)
def test_how_weights_are_quantized(
    make_spec: Any, model_folder: Path, key: str, method: str
) -> None:
    """Every key under which transformers finds a method."""
    edit_config(model_folder, **{key: {"quant_method": method}})
    assert known_model(make_spec(), model_folder.parent).quantized == method


def test_the_first_bitsandbytes_wrote_no_method(make_spec: Any, model_folder: Path) -> None:
    """A config that loads in 4 or 8 bits is one of its."""
    edit_config(model_folder, quantization_config={"load_in_8bit": False, "load_in_4bit": True})
    assert known_model(make_spec(), model_folder.parent).quantized == "bitsandbytes"


@pytest.mark.parametrize("said", [None, {"config_groups": {}}, {"quant_method": "fp8"}])
def test_weights_that_modelopt_quantized(
    make_spec: Any, model_folder: Path, said: dict[str, Any] | None
) -> None:
    """Their config.json says nothing, or the method of the original, but a file beside it does."""
    edit_config(model_folder, quantization_config=said)
    (model_folder / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    assert known_model(make_spec(), model_folder.parent).quantized == "modelopt"


def test_a_nested_config_of_custom_code(make_spec: Any, model_folder: Path) -> None:
    """Sizes and quantization are those of its `text_config`."""
    text = {"vocab_size": 64, "max_position_embeddings": 32}
    novel = {"architectures": ["NovelForConditionalGeneration"], "model_type": "novel"}
    code_map = {"auto_map": {"AutoModelForCausalLM": "modeling.Novel"}}
    config: dict[str, Any] = {**novel, **code_map, "text_config": text}
    (model_folder / "config.json").write_text(json.dumps(config))
    write_safetensors(model_folder / "model.safetensors", {"a": ("BF16", [10, 3])})
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.parameters, facts.context_tokens, facts.embedding_rows) == (30, 32, 64)
    config["text_config"] = text | {"quantization_config": {"quant_method": "compressed-tensors"}}
    (model_folder / "config.json").write_text(json.dumps(config))
    assert known_model(make_spec(), model_folder.parent).quantized == "compressed-tensors"


def test_a_size_that_is_a_list_is_named(make_spec: Any, model_folder: Path) -> None:
    """Transformers would fail on it, so the rest of the config is not read."""
    edit_config(model_folder, max_position_embeddings=[4096])
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert code(found) == "FTC102"
    assert isinstance(found, Unknown)
    assert "`max_position_embeddings` is a list in the `config.json`" in found.finding.message


def test_the_table_knows_what_is_published_quantized() -> None:
    """gpt-oss has no 16-bit original: its experts are in MXFP4."""
    entry = find_model("openai/gpt-oss-20b")
    assert entry is not None
    assert facts_from_table(entry, entry.id).quantized == "mxfp4"


def test_folders_that_are_no_models(make_spec: Any, tmp_path: Path) -> None:
    """A missing folder, an adapter, a GGUF, an empty folder and broken JSON are distinguished."""
    folder = tmp_path / "model"
    assert code(resolve_model(make_spec(), folder=tmp_path)) == "FTC100"
    folder.mkdir()
    near = resolve_model(make_spec(model="./modle"), folder=tmp_path)
    assert isinstance(near, Unknown)
    assert "`./model`" in near.finding.help
    assert code(resolve_model(make_spec(), folder=tmp_path)) == "FTC101"
    (folder / "model_index.json").write_text("{}")
    pipeline = resolve_model(make_spec(), folder=tmp_path)
    assert isinstance(pipeline, Unknown)
    assert "is a pipeline of diffusers" in pipeline.finding.message
    (folder / "model_index.json").unlink()
    (folder / "params.json").write_text("{}")
    of_maker = resolve_model(make_spec(), folder=tmp_path)
    assert isinstance(of_maker, Unknown)
    assert "`params.json` instead of `config.json`" in of_maker.finding.message
    for text in (b"{", b"[]", b"\xff\xfe", b"[" * 100_000):
        (folder / "config.json").write_bytes(text)
        assert code(resolve_model(make_spec(), folder=tmp_path)) == "FTC102"
    (folder / "config.json").unlink()
    (folder / "model.Q4_K_M.gguf").write_bytes(b"GGUF")
    assert code(resolve_model(make_spec(), folder=tmp_path)) == "FTC105"
    gguf = make_spec(model="./model/model.Q4_K_M.gguf")
    assert code(resolve_model(gguf, folder=tmp_path)) == "FTC105"
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "a/b"}')
    adapter = resolve_model(make_spec(), folder=tmp_path)
    assert code(adapter) == "FTC104"
    assert isinstance(adapter, Unknown)
    assert "`a/b`" in adapter.finding.help


@pytest.mark.parametrize("written", ["short", "long"])
def test_a_revision_behind_the_id_is_a_field(make_spec: Any, tmp_path: Path, written: str) -> None:
    """It is written as pip does; the fix keeps the other fields."""
    name = "owner/name@v1.0"
    model: Any = name if written == "short" else {"id": name, "trust_remote_code": True}
    found = resolve_model(make_spec(model=model), folder=tmp_path)
    assert isinstance(found, Unknown)
    (step,) = found.finding.fix
    rest = {} if written == "short" else {"trust_remote_code": True}
    assert step["value"] == {"id": "owner/name", "revision": "v1.0", **rest}


def test_a_guessed_model_is_an_unsafe_fix(make_spec: Any, tmp_path: Path) -> None:
    """The only model or folder that is meant is proposed, beside the fields of the long form."""
    (tmp_path / "models/tuned").mkdir(parents=True)
    meant = {"qwen 2.5 7b": "Qwen/Qwen2.5-7B-Instruct", "./models/tund": "./models/tuned"}
    for name, right in meant.items():
        found = resolve_model(make_spec(model=name), folder=tmp_path)
        assert isinstance(found, Unknown)
        assert found.finding.fix == ({"op": "replace", "path": "/model", "value": right},)
        assert found.finding.fix_safety == "unsafe"
        found = resolve_model(make_spec(model={"id": name, "attention": "sdpa"}), folder=tmp_path)
        assert isinstance(found, Unknown)
        assert found.finding.fix[0]["value"] == {"id": right, "attention": "sdpa"}
    found = resolve_model(make_spec(model="./nowhere"), folder=tmp_path)
    assert isinstance(found, Unknown)
    assert not found.finding.fix


def test_pickled_weights_are_told_from_safetensors(make_spec: Any, model_folder: Path) -> None:
    """A folder that has both counts as safetensors; one without weights says nothing."""
    assert known_model(make_spec(), model_folder.parent).pickled is None
    (model_folder / "pytorch_model.bin").write_bytes(b"pickled")
    assert known_model(make_spec(), model_folder.parent).pickled is True
    write_safetensors(model_folder / "model.safetensors", {"a": ("BF16", [10, 3])})
    assert known_model(make_spec(), model_folder.parent).pickled is False


def test_a_rank_of_zero_is_told(make_spec: Any, model_folder: Path) -> None:
    """Its class asks whether the rank is null, and would make matrices without elements."""
    named = {"architectures": ["DeepseekV2ForCausalLM"], "model_type": "deepseek_v2"}
    edit_config(model_folder, **named, q_lora_rank=0)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC102"
    assert "`q_lora_rank` is 0" in found.finding.message
    edit_config(model_folder, q_lora_rank=None)
    assert known_model(make_spec(), model_folder.parent).architecture == "DeepseekV2ForCausalLM"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("unsloth/Qwen3-8B-GGUF:UD-Q4_K_XL", "Qwen/Qwen3-8B"),
        ("hf.co/bartowski/Qwen2.5-7B-Instruct-GGUF:Q4_K_M", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen/Qwen2.5-7B-Instruct:Q4_K_M", "Qwen/Qwen2.5-7B-Instruct"),
        ("qwen2.5:7b-instruct-q4_K_M", "Qwen/Qwen2.5-7B-Instruct"),
        ("org/thing-GGUF:latest", ""),
    ],
)
def test_an_id_with_the_tag_of_a_file_is_a_gguf(
    name: str, base: str, make_spec: Any, tmp_path: Path
) -> None:
    """Such an id is not a Hub id: the finding names the model that it was made from."""
    unknown = resolve_model(make_spec(model=name), folder=tmp_path)
    assert isinstance(unknown, Unknown)
    found = unknown.finding
    assert found.code == "FTC105"
    assert [step["value"] for step in found.fix] == ([base] if base else [])
    assert found.fix_safety == "unsafe"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"model": "mlx-community/Qwen2.5-7B-Instruct-4bit"}, "`Qwen/Qwen2.5-7B-Instruct`"),
        ({"model": "org/own"}, "`org/own`"),
        ({"base_model_name_or_path": "org/own", "model": "x"}, "`org/own`"),
        ({"model": 3}, "name its base model and"),
        ([], "name its base model and"),
    ],
)
def test_an_adapter_names_its_base(
    config: object, said: str, make_spec: Any, tmp_path: Path
) -> None:
    """That of MLX has it under another key, and is often made on a quantized copy."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model/adapter_config.json").write_text(json.dumps(config), encoding="utf-8")
    unknown = resolve_model(make_spec(model="./model"), folder=tmp_path)
    assert isinstance(unknown, Unknown)
    found = unknown.finding
    assert found.code == "FTC104"
    assert said in found.help
    mlx = isinstance(config, dict) and "base_model_name_or_path" not in config
    assert ("MLX" in found.message) == mlx
