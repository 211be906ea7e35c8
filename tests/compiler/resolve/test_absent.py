"""Weights whose names the class does not read are reported; so are packed weights."""

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.detail_facts import AbsentTensor
from ftc.compiler.resolve.facts import ModelFacts
from ftc.compiler.resolve.model.config import Config, read_config
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.weight_files.misfit import find_absent
from ftc.compiler.resolve.model.weight_files.weights import read_header

HEAD = "lm_head.weight"
LAYER = "model.layers.0.self_attn.q_proj.weight"

Edit = Callable[[dict[str, Any]], dict[str, Any]]


def write_header(path: Path, header: dict[str, Any]) -> None:
    """Write a safetensors file with this header and tensors of zeros."""
    text = json.dumps(header).encode()
    end = max(tensor["data_offsets"][1] for tensor in header.values())
    with path.open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        stream.truncate(8 + len(text) + end)


def resolve_edited(
    make_spec: Any, model: Path, folder: Path, edit: Edit, spec: Any = None, **changes: Any
) -> ModelFacts:
    """Return the facts of a copy of the quickstart's model with other tensors."""
    copy = folder / "model"
    shutil.copytree(model, copy)
    path = copy / "config.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | changes), encoding="utf-8")
    weights = copy / "model.safetensors"
    header = dict(read_header(weights) or {})
    header.pop("__metadata__", None)
    write_header(weights, edit(header))
    found = resolve_model(make_spec(**(spec or {})), folder=folder)
    assert isinstance(found, ModelFacts), found
    return found


def prefixed(prefix: str) -> Edit:
    """Return an edit that puts a prefix before all names."""
    return lambda header: {prefix + name: tensor for name, tensor in header.items()}


def without_head(header: dict[str, Any]) -> dict[str, Any]:
    """Return all tensors except the output head."""
    return {name: tensor for name, tensor in header.items() if name != HEAD}


@pytest.mark.parametrize(
    "prefix", ["_orig_mod.", "module.", "base_model.model.", "language_model."]
)
def test_other_names_of_the_layers_are_told(
    make_spec: Any, model: Path, tmp_path: Path, prefix: str
) -> None:
    """Transformers finds none of these tensors, and fills the layers with random values."""
    absent = resolve_edited(make_spec, model, tmp_path, prefixed(prefix)).absent
    assert absent is not None
    assert absent.tensor == LAYER
    assert absent.held.startswith(prefix)


@pytest.mark.parametrize("named", ["qkv_proj", "k_norm"])
def test_a_module_under_another_name_is_told(
    make_spec: Any, model: Path, tmp_path: Path, named: str
) -> None:
    """Other tools write three modules as one; a norm beside them is no other name of one."""
    new = LAYER.replace("q_proj", named)
    absent = resolve_edited(
        make_spec,
        model,
        tmp_path,
        lambda header: {new if name == LAYER else name: tensor for name, tensor in header.items()},
    ).absent
    assert absent == (AbsentTensor(tensor=LAYER, held=new) if "proj" in named else None)


def test_a_base_model_has_no_prefix(make_spec: Any, model: Path, tmp_path: Path) -> None:
    """`AutoModel` saves `layers.0...`, which a causal class reads too."""

    def unprefixed(header: dict[str, Any]) -> dict[str, Any]:
        return {name.removeprefix("model."): tensor for name, tensor in header.items()}

    assert resolve_edited(make_spec, model, tmp_path, unprefixed).absent is None


def test_an_absent_head_is_told(make_spec: Any, model: Path, tmp_path: Path) -> None:
    """Unless it is tied to the embeddings, transformers fills it with random values."""
    found = resolve_edited(make_spec, model, tmp_path, without_head, tie_word_embeddings=False)
    assert found.absent == AbsentTensor(tensor=HEAD, held="")


@pytest.mark.parametrize(
    ("spec", "tied"),
    [({}, True), ({"objective": "embed"}, False), ({"objective": "classification"}, False)],
)
def test_a_head_that_nobody_reads_may_be_absent(
    make_spec: Any, model: Path, tmp_path: Path, spec: dict[str, Any], *, tied: bool
) -> None:
    """Vectors need no head, scores have one of their own, and tied embeddings are the head."""
    found = resolve_edited(make_spec, model, tmp_path, without_head, spec, tie_word_embeddings=tied)
    assert found.absent is None


@pytest.mark.parametrize(("dtype", "packed"), [("F8_E4M3", False), ("I32", True), ("BF16", False)])
def test_packed_weights_are_quantized_without_a_word_of_it(
    make_spec: Any, model: Path, tmp_path: Path, dtype: str, *, packed: bool
) -> None:
    """A matrix of integers is quantized; one of 8-bit floats is where it has scales."""

    def pack(header: dict[str, Any]) -> dict[str, Any]:
        return {
            name: {**tensor, "dtype": dtype} if "proj" in name else tensor
            for name, tensor in header.items()
        }

    found = resolve_edited(make_spec, model, tmp_path, pack)
    assert found.quantized == (dtype if packed else None)


@pytest.mark.parametrize(
    ("name", "is_read"),
    [
        ("encoder.layer.0.attention.self.query.weight", True),
        ("roberta.encoder.layer.0.attention.self.query.weight", True),
        ("_orig_mod.encoder.layer.0.attention.self.query.weight", False),
        ("roberta.encoder.layers.0.mixer.Wqkv.weight", False),
    ],
)
def test_an_encoder_reads_the_layers_of_its_class(
    tmp_path: Path, name: str, *, is_read: bool
) -> None:
    """The last one belongs to a repository's own code; its layers would get random values."""
    config = {"architectures": ["XLMRobertaModel"], "model_type": "xlm-roberta", "auto_map": {}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    found = read_config(tmp_path, "a model", head="vectors")
    assert isinstance(found, Config)
    absent = find_absent(found, [name], "vectors")
    told = AbsentTensor(tensor="encoder.layer.0.attention.self.query.weight", held=name)
    assert absent == (None if is_read else told)


@pytest.mark.parametrize("copied", [True, False])
def test_a_tied_config_beside_another_head(
    make_spec: Any, model: Path, tmp_path: Path, *, copied: bool
) -> None:
    """Transformers ties a head that equals the embedding, and keeps one that differs."""
    copy = tmp_path / "model"
    shutil.copytree(model, copy)
    config = json.loads((copy / "config.json").read_bytes()) | {"tie_word_embeddings": True}
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    path = copy / "model.safetensors"
    header, content = dict(read_header(path) or {}), bytearray(path.read_bytes())
    data = len(content) - max(t["data_offsets"][1] for n, t in header.items() if n[0] != "_")
    begin, end = header["model.embed_tokens.weight"]["data_offsets"]
    first, last = header[HEAD]["data_offsets"]
    assert last - first == end - begin
    content[data + first : data + last] = content[data + begin : data + end]
    if not copied:
        content[data + last - 2 : data + last] = b"\x12\x34"
    path.write_bytes(content)
    facts = resolve_model(make_spec(), folder=tmp_path)
    assert isinstance(facts, ModelFacts)
    assert facts.shape is not None
    assert (facts.shape.tied, facts.has_other_head) == (copied, not copied)
    assert facts.parameters == facts.shape.parameters
