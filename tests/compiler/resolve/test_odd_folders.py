"""Folders whose files transformers reads in another way than their names suggest, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.model.config import read_config
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.spec.findings.finding import Finding
from tests.compiler.resolve.resolving import code, known_model
from tests.compiler.resolve.test_model import edit_config, write_safetensors
from tests.tiny_models import write_model


@pytest.mark.parametrize(
    ("files", "unread"),
    [
        (["consolidated.safetensors"], ["consolidated.safetensors"]),
        (["consolidated.safetensors", "model.safetensors"], []),
        (["model-00001-of-00001.safetensors"], ["model-00001-of-00001.safetensors"]),
        (["consolidated.00.pth"], ["consolidated.00.pth"]),
        (["adapter_model.safetensors", "optimizer.pt"], []),
        (["pytorch_model.bin", "other.safetensors"], []),
        (["global_step5/zero_pp_rank_0_mp_rank_00_model_states.pt", "optimizer.pt"], [0]),
        (["pytorch_model_fsdp_0/__0_0.distcp", "optimizer_0/__0_0.distcp"], [0]),
        (["onnx/model.onnx", "training_args.bin"], [0]),
        (["pytorch_model_fsdp.bin", "tf_model.h5"], [1]),
        (["checkpoint-5/model.safetensors", "flax_model.msgpack"], [0]),
        (["a/b/c/model.onnx", "added_tokens.json"], []),
    ],
)
def test_weights_under_other_names_are_not_read(
    make_spec: Any, model_folder: Path, files: list[str], unread: list[str | int]
) -> None:
    """Where none has a name that transformers looks for, the facts name the files."""
    unread = [files[each] if isinstance(each, int) else each for each in unread]
    for name in files:
        (model_folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_safetensors(model_folder / name, {"layers.0.wq.weight": ("BF16", [10, 3])})
    facts = known_model(make_spec(), model_folder.parent)
    assert list(facts.unread_weights) == unread
    assert facts.pickled is ("pytorch_model.bin" in files if facts.weights_bytes else None)


def test_a_single_file_counts_before_an_index(make_spec: Any, model_folder: Path) -> None:
    """The index is not read if the single file exists; otherwise a broken index is reported."""
    index = model_folder / "model.safetensors.index.json"
    index.write_text("{")
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert "`model.safetensors.index.json`" in found.finding.message
    index.write_text('{"metadata": {}, "weight_map": {"a": "x-1.safetensors"}}')
    write_safetensors(model_folder / "model.safetensors", {"a": ("BF16", [5])})
    facts = known_model(make_spec(), model_folder.parent)
    assert (facts.missing_weights, facts.weights_bytes is None) == ((), False)


@pytest.mark.parametrize("lacking", [0, 64])
def test_fewer_parameters_than_the_class_has(
    make_spec: Any, model_folder: Path, lacking: int
) -> None:
    """They are counted, whatever the tensors are called; more are no fault."""
    shape = known_model(make_spec(), model_folder.parent).shape
    assert shape is not None
    tensors = {"model.layers.0.x": ("BF16", [shape.parameters - lacking]), "b": ("BF16", [0])}
    write_safetensors(model_folder / "model.safetensors", tensors)
    assert known_model(make_spec(), model_folder.parent).lacking_parameters == lacking


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_config_is_utf_8(make_spec: Any, model_folder: Path, encoding: str) -> None:
    """As transformers reads it, without a byte order mark."""
    path = model_folder / "config.json"
    path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC102"


def test_an_adapter_beside_a_model_is_told(make_spec: Any, model_folder: Path) -> None:
    """It would be loaded into the model that is trained."""
    (model_folder / "adapter_config.json").write_text("{}")
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC104"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"layer_types": ["full_attention"]}, True),
        ({"layer_types": ["full_attention"] * 2}, False),
        ({"layer_types": ["full_attention"] * 2, "mlp_layer_types": ["dense"]}, True),
        ({"layer_types": None, "mlp_layer_types": ["dense"]}, False),
        ({"mlp_layer_types": ["moe", "moe"]}, False),
        ({"layer_types": ["full_attention"] * 2, "mlp_layer_types": ["moe"] * 2}, True),
        ({"layer_types": ["full_attention", 2]}, True),
    ],
)
def test_kinds_of_layers_are_as_many_as_the_layers(
    make_spec: Any, model_folder: Path, changes: dict[str, Any], told: bool
) -> None:
    """AutoConfig stops at any other number of them."""
    edit_config(model_folder, **changes)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is told
    transformers = pytest.importorskip("transformers")
    try:
        transformers.AutoConfig.from_pretrained(model_folder)
    except Exception:  # noqa: BLE001 - of the validation
        assert told
    else:
        assert not told


@pytest.mark.parametrize(("kind", "told"), [("llama", True), ("gpt_neox", False)])
def test_a_padding_token_has_a_row(
    make_spec: Any, model_folder: Path, kind: str, *, told: bool
) -> None:
    """Where the class gives the token to its embedding, an id outside of it is a finding."""
    names = {"llama": "LlamaForCausalLM", "gpt_neox": "GPTNeoXForCausalLM"}
    edit_config(model_folder, architectures=[names[kind]], model_type=kind, pad_token_id=10**6)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is told
    edit_config(model_folder, pad_token_id=-1)
    known_model(make_spec(), model_folder.parent)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["checkpoint-9/config.json", "checkpoint-10/config.json"], "`checkpoint-10` has one"),
        (["snapshots/0a1b/config.json", "refs/main"], "`snapshots/0a1b` has one"),
        (["global_step5/mp_rank_00_model_states.pt", "latest"], "DeepSpeed"),
        (["pytorch_model_fsdp_0/__0_0.distcp"], "`torch.distributed`"),
        (["model.onnx"], "ONNX"),
        (["notes.txt"], "has no `config.json`"),
    ],
)
def test_a_folder_without_a_config(
    make_spec: Any, model_folder: Path, files: list[str], told: str
) -> None:
    """The finding names the folder below that has one, or the format of what is there."""
    (model_folder / "config.json").unlink()
    for name in files:
        (model_folder / name).parent.mkdir(parents=True, exist_ok=True)
        (model_folder / name).write_text("x")
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC101"
    assert told in found.finding.message


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"hidden_act": "swiglu"}, '`hidden_act` is `"swiglu"`'),
        ({"hidden_act": "gelu_pytorch_tanh"}, ""),
        ({"quantization_config": {}}, "names no `quant_method`"),
        ({"quantization_config": {"load_in_4bit": False, "load_in_8bit": False}}, "names no"),
        ({"quantization_config": None}, ""),
        ({"intermediate_size": 0}, "`intermediate_size` is `0`"),
        ({"intermediate_size": 0, "num_key_value_heads": -1}, "it must be at least 1"),
        ({"num_hidden_layers": "2"}, "a whole number"),
        ({"pad_token_id": -1}, ""),
        ({"id2label": ["a", "b"]}, "`id2label` is a list"),
        ({"id2label": {"0": "a"}, "num_labels": 1}, ""),
        ({"num_labels": "2"}, '`num_labels` is `"2"`'),
        ({"return_dict": False}, "`return_dict` is `false`"),
        ({"sliding_window": 0}, ""),
        ({"layer_types": ["full", "full"]}, '`layer_types[0]` is `"full"`'),
        ({"layer_types": ["full_attention", ["a"]]}, "`layer_types[1]` is a list"),
        ({"auto_map": False}, "`auto_map` is `false`"),
        ({"eos_token_id": [2, "2"]}, '`eos_token_id[1]` is `"2"`'),
        ({"eos_token_id": [[2]]}, "`eos_token_id[0]` is a list"),
        ({"eos_token_id": []}, ""),
        ({"model_type": ["llama"]}, "`model_type` is a list"),
        ({"architectures": [1]}, ""),
        ({"architectures": "LlamaForCausalLM"}, ""),
        ({"attention_dropout": {"__float__": "Infinity"}}, ""),
        ({"attention_dropout": {"__float__": "much"}}, "`attention_dropout` is an object"),
    ],
)
def test_values_that_stop_the_class(
    make_spec: Any, model_folder: Path, changes: dict[str, Any], told: str
) -> None:
    """A name that is not known, a quantization without a method, sizes below one."""
    edit_config(model_folder, **changes)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is bool(told)
    if isinstance(found, Unknown):
        assert found.finding.code == "FTC102"
        assert told in found.finding.message


@pytest.mark.parametrize(
    ("index", "files", "told"),
    [
        ({"metadata": {}, "weight_map": {"a": "./a-1.safetensors"}}, ["a-1.safetensors"], ""),
        ({"weight_map": {"a": "a-1.safetensors"}}, ["a-1.safetensors"], "not an index"),
        ({"metadata": {}, "weight_map": {}}, ["a-1.safetensors"], "not an index"),
        ({"metadata": {}, "weight_map": {"a": "a-1.safetensors"}}, [], ""),
    ],
)
def test_an_index_has_metadata_and_files(
    make_spec: Any, model_folder: Path, index: dict[str, Any], files: list[str], told: str
) -> None:
    """Both are looked up, also where the first says nothing."""
    (model_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for name in files:
        write_safetensors(model_folder / name, {"a": ("BF16", [5])})
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is bool(told)
    if isinstance(found, Unknown):
        assert told in found.finding.message


@pytest.mark.parametrize(
    ("beside", "missing"), [("A-1.safetensors", 1), ("adapter_model.safetensors", 0)]
)
def test_shards_under_other_names_are_missing(
    make_spec: Any, model_folder: Path, beside: str, missing: int
) -> None:
    """An index alone is no error, but one beside other files is."""
    index = {"metadata": {}, "weight_map": {"a": "a-1.safetensors"}}
    (model_folder / "model.safetensors.index.json").write_text(json.dumps(index))
    write_safetensors(model_folder / beside, {"a": ("BF16", [5])})
    assert len(known_model(make_spec(), model_folder.parent).missing_weights) == missing


def test_a_file_with_more_bytes_than_its_header_says(make_spec: Any, model_folder: Path) -> None:
    """The reader of safetensors refuses it, as one with fewer."""
    path = model_folder / "model.safetensors"
    write_safetensors(path, {"a": ("BF16", [5])})
    known_model(make_spec(), model_folder.parent)
    path.write_bytes(path.read_bytes() + b"x")
    assert code(resolve_model(make_spec(), folder=model_folder.parent)) == "FTC135"


@pytest.mark.parametrize(
    ("file", "auto_map", "code_file"),
    [
        ("config.json", {"AutoModelForCausalLM": "modeling_x.X"}, "modeling_x.py"),
        ("tokenizer_config.json", {"AutoTokenizer": ["slow_x.X", None]}, "slow_x.py"),
        ("tokenizer_config.json", {"AutoTokenizer": ["slow_x.X", "fast_x.X"]}, "fast_x.py"),
        ("config.json", {"AutoModelForCausalLM": "owner/name--modeling_x.X"}, ""),
        ("config.json", {"AutoModel": "modeling_x.X"}, ""),
    ],
)
def test_trusted_code_is_in_the_folder(
    make_spec: Any, model_folder: Path, file: str, auto_map: dict[str, Any], code_file: str
) -> None:
    """Where code is trusted, transformers loads it even if it has the class itself."""
    path = model_folder / file
    said = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**said, "auto_map": auto_map}))
    known_model(make_spec(), model_folder.parent)
    spec = make_spec(model={"id": "./model", "trust_remote_code": True})
    found = resolve_model(spec, folder=model_folder.parent)
    assert isinstance(found, Unknown) is bool(code_file)
    if isinstance(found, Unknown):
        assert f"lacks `{code_file}`" in found.finding.message
        (model_folder / code_file).write_text("")
        assert known_model(spec, model_folder.parent).own_code == (code_file,)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ('{"eos_token_id": [2, 5], "temperature": 0.6}', ""),
        ('{"pad_token_id": "2"}', '`pad_token_id` is `"2"`'),
        ('{"max_new_tokens": 0}', "`max_new_tokens` is `0`"),
        ('{"cache_implementation": null, "novel": [1]}', ""),
    ],
)
def test_settings_of_answers(make_spec: Any, model_folder: Path, text: str, told: str) -> None:
    """Transformers loads them with the model, and a merge reads the file of any model."""
    (model_folder / "generation_config.json").write_text(text)
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is bool(told)
    if isinstance(found, Unknown):
        assert (found.finding.code, told in found.finding.message) == ("FTC102", True)


@pytest.mark.parametrize(("active", "told"), [(4, False), (5, True)])
def test_no_more_experts_than_a_layer_has(
    make_spec: Any, model_folder: Path, active: int, *, told: bool
) -> None:
    """The router cannot choose more."""
    edit_config(
        model_folder,
        architectures=["MixtralForCausalLM"],
        model_type="mixtral",
        num_local_experts=4,
        num_experts_per_tok=active,
    )
    found = resolve_model(make_spec(), folder=model_folder.parent)
    assert isinstance(found, Unknown) is told
    if isinstance(found, Unknown):
        assert "4 experts in a layer, and gives each token to 5" in found.finding.message


@pytest.mark.parametrize(
    ("key", "value"),
    [("hidden_size", "64"), ("hidden_size", -64), ("num_attention_heads", 0), ("vocab_size", "9"),
     ("num_hidden_layers", True), ("head_dim", "32"), ("max_position_embeddings", "x")],
)  # fmt: skip
def test_a_size_that_is_none_is_told(tmp_path: Path, key: str, value: object) -> None:
    """Transformers stops at a text or a truth value where it needs a number, and at none at all."""
    path = write_model(tmp_path / "model") / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}), encoding="utf-8")
    found = read_config(tmp_path / "model", "./model")
    assert isinstance(found, Finding)
    assert (found.code, f"`{key}` is" in found.message) == ("FTC102", True)


@pytest.mark.parametrize(
    ("named", "told"),
    [({"AutoConfig": 1}, "AutoConfig"), ({"AutoModelForCausalLM": None}, "AutoModelForCausalLM"),
     ({"AutoConfig": "configuration.OwnConfig"}, None), ({"AutoTokenizer": 1}, None)],
)  # fmt: skip
def test_a_class_of_code_without_a_name_is_told(
    tmp_path: Path, named: dict[str, object], told: str | None
) -> None:
    """Transformers reads a number in it as text, also where it has the class itself."""
    path = write_model(tmp_path / "model") / "config.json"
    said = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**said, "auto_map": named}), encoding="utf-8")
    found = read_config(tmp_path / "model", "./model")
    said = found.message if isinstance(found, Finding) else ""
    assert (f"`auto_map.{told}` is" in said) is bool(said) is (told is not None)
