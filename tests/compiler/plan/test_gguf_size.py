"""Predicted file sizes, held to llama.cpp: its own quantizer, and the sizes that it publishes."""

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.architectures.architecture import Shape, is_convertible, read_shape
from ftc.compiler.knowledge.exports.gguf_types import file_type
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.plan.gguf.size import choose_types, predict_bytes
from ftc.compiler.plan.gguf.tensors import list_tensors
from ftc.compiler.resolve.facts import TokenizerFacts
from ftc.spec.sections import GgufType

KINDS: tuple[GgufType, ...] = get_args(GgufType)
CASES = json.loads(
    (Path(__file__).parents[1] / "knowledge" / "architecture_cases.json").read_text()
)
LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
INNER = ("intermediate_size", "n_inner", "ffn_hidden_size", "moe_intermediate_size")
# What the pinned converter cannot read as transformers saves it, so that there is no file.
UNREADABLE = frozenset(
    {"Cohere2ForCausalLM", "GPTNeoXForCausalLM", "Ministral3ForCausalLM", "FalconForCausalLM"}
)
DEEP = frozenset(
    {"LlamaForCausalLM", "Qwen2ForCausalLM", "GPT2LMHeadModel", "Phi3ForCausalLM"}
    | {"Gemma2ForCausalLM", "MixtralForCausalLM", "Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM"}
)


def tokenizer_of(**facts: Any) -> TokenizerFacts:
    """Return a tokenizer of which as much is known as said."""
    unknown = {field.name: None for field in fields(TokenizerFacts)}
    return TokenizerFacts(**{**unknown, "family": "llama3", "gguf_bytes": 0, **facts})


def shape_of(name: str) -> Shape:
    """Return the shape of a model of the table."""
    model = find_model(name)
    assert model is not None
    return model.shape


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"IQ4_NL", "IQ4_XS"}])
def test_llama_has_the_published_bits_per_weight(kind: GgufType) -> None:
    """Llama 3.1 8B, tensors alone: the table of tools/quantize/README.md to its last digit.

    IQ4_NL and IQ4_XS are published without an importance matrix, which makes them 0.5 % larger.
    """
    shape = shape_of("meta-llama/Llama-3.1-8B")
    bare = tokenizer_of(vocabulary_tokens=shape.vocab)
    bits = 8 * predict_bytes(shape, bare, kind) / shape.parameters
    assert bits == pytest.approx(file_type(kind).bits_per_weight, abs=0.0002)


def test_files_of_llama_are_as_large_as_those_published() -> None:
    """4,920,739,232 bytes of Llama 3.1 8B as Q4_K_M, vocabulary and all, to a ten-thousandth."""
    shape = shape_of("meta-llama/Llama-3.1-8B")
    known = tokenizer_of(vocabulary_tokens=128256, gguf_bytes=None)
    assert predict_bytes(shape, known, "Q4_K_M") == pytest.approx(4_920_739_232, rel=1e-4)


def test_an_unknown_architecture_has_a_size() -> None:
    """Without a list of tensors the bits per weight of the type stand in."""
    shape = replace(shape_of("meta-llama/Llama-3.1-8B"), linear_shapes={})
    size = predict_bytes(shape, tokenizer_of(vocabulary_tokens=shape.vocab), "Q8_0")
    assert size == pytest.approx(shape.parameters * 8.5 / 8, rel=0.001)


def test_every_architecture_lists_its_tensors() -> None:
    """What converts has a name in a GGUF for each linear module; no weight is counted twice."""
    for name, rows in CASES.items():
        for row in rows:
            shape = read_shape(row["config"])
            assert shape is not None
            tensors = list_tensors(shape)
            assert tensors or not is_convertible(name)
            assert len({tensor.name for tensor in tensors}) == len(tensors)
            assert sum(tensor.weights for tensor in tensors) <= shape.parameters


@pytest.fixture(scope="module")
def llama_cpp_folder(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack llama.cpp's converter."""
    folder = tmp_path_factory.mktemp("llama.cpp")
    with tarfile.open(sdist) as archive:
        for member in archive:
            _, _, name = member.name.partition("/vendor/llama.cpp/")
            if name.startswith(("conversion/", "gguf-py/")) and member.isfile():
                archive.extract(member.replace(name=name), folder, filter="data")
    return folder


def configurations() -> Mapping[str, Mapping[str, Any]]:
    """Name a model of each architecture whose rows no block divides, and deep ones of some.

    Eighteen layers are enough for every rule that counts them, but for that of the 70B models.
    """
    named: dict[str, Mapping[str, Any]] = {}
    for name, rows in CASES.items():
        if not is_convertible(name) or name in UNREADABLE:
            continue
        named[f"{name}, narrow"] = rows[0]["config"]
        if name not in DEEP:
            continue
        named[f"{name}, untied"] = rows[1]["config"]
        deep = dict(rows[1]["config"])
        deep |= {"vocab_size": 512, "tie_word_embeddings": True}
        deep |= {key: 512 for key in INNER if key in deep}
        deep |= {key: 18 for key in LAYERS if key in deep}
        named[f"{name}, deep"] = deep
    for name in ("LlamaForCausalLM", "Qwen2ForCausalLM"):
        named[f"{name}, 80 layers"] = {**named[f"{name}, deep"], "num_hidden_layers": 80}
    return named


@pytest.fixture(scope="module")
def examined(
    llama_cpp_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Mapping[str, Any]]:
    """Return what the real converter and quantizer make of all of them."""
    pytest.importorskip("llama_cpp")
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("examined")
    asked = {"configs": configurations(), "kinds": KINDS}
    (folder / "configs.json").write_text(json.dumps(asked))
    script = Path(__file__).with_name("quantize_shapes.py")
    paths = [script, llama_cpp_folder, folder / "configs.json", folder / "result.json"]
    subprocess.run([sys.executable, *paths], check=True, capture_output=True)
    found: Mapping[str, Mapping[str, Any]] = json.loads((folder / "result.json").read_text())
    return found


@pytest.mark.prove
def test_tensors_types_and_sizes_are_llama_cpps(
    examined: Mapping[str, Mapping[str, Any]],
) -> None:
    """Every matrix has its name, size and, in each of 29 kinds of file, its type; files 1 % off.

    The files hold no vocabulary, and most are smaller than two megabytes: what is not counted to
    the byte weighs more in them than in any real one.
    """
    assert {name: row["failure"] for name, row in examined.items() if "failure" in row} == {}
    decisions = 0
    for name, row in examined.items():
        shape = read_shape(configurations()[name])
        assert shape is not None
        mine = {f"{t.name}.weight": [t.columns, t.weights] for t in list_tensors(shape)}
        real = {key: [columns, weights] for key, (columns, weights, _) in row["tensors"].items()}
        others = {key: row["tensors"][key][2] for key in set(real) - set(mine)}
        assert {key: real.get(key) for key in mine} == mine, name
        assert set(others.values()) <= {"F32"}, name
        for kind, types in row["types"].items():
            chosen = {f"{tensor.name}.weight": of for tensor, of in choose_types(shape, kind)}
            assert chosen == {key: types[key] for key in chosen}, (name, kind)
            decisions += len(chosen)
        bare = tokenizer_of(vocabulary_tokens=shape.vocab)
        for kind, size in row["bytes"].items():
            assert predict_bytes(shape, bare, kind) == pytest.approx(size, rel=0.01), (name, kind)
    assert decisions > 40_000
