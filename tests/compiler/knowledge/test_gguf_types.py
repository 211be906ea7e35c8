"""The table of GGUF types, held to the language, to the runtime and to its sources."""

import json
import re
import tarfile
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from ftc.compiler.knowledge.exports.gguf_types import (
    block_weights,
    file_type,
    header_bytes_per_token,
    tensor_bytes,
    wants_matrix,
)
from ftc.compiler.knowledge.text.tokenizers import tokenizer_families
from ftc.spec.schema import read_schema
from ftc.spec.sections import GgufType

KINDS: tuple[GgufType, ...] = get_args(GgufType)
TABLE: dict[str, Any] = json.loads(
    (files("ftc.compiler.knowledge.exports") / "gguf_types.json").read_text(encoding="utf-8")
)


def test_the_language_says_each_type_three_times_alike() -> None:
    """The short form, the long form and the typed spec list the same types, and so the table."""
    schema = read_schema()
    short = schema["properties"]["export"]["anyOf"][0]
    long = schema["$defs"]["export"]["properties"]["types"]
    for form in (short, long):
        assert tuple(form["items"]["enum"]) == KINDS
        assert form["maxItems"] == len(KINDS)
    assert tuple(TABLE["types"]) == KINDS


def test_the_runtime_has_each_type() -> None:
    """The pinned runtime has a number for each type that a spec can ask for."""
    llama_cpp = pytest.importorskip("llama_cpp")
    for kind in KINDS:
        assert hasattr(llama_cpp, f"LLAMA_FTYPE_MOSTLY_{kind}")


def test_blocks_are_those_of_the_library() -> None:
    """Weights and bytes of a block, as the library `gguf` knows them."""
    gguf = pytest.importorskip("gguf")
    for name, layout in TABLE["tensors"].items():
        known = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
        assert (layout["block"], layout["bytes"]) == known
    assert block_weights("Q4_K") == 256
    assert tensor_bytes("Q4_K", 512) == 288


def test_default_types_and_needed_matrices_are_the_sources(sdist: Path) -> None:
    """The type of most weights, and what llama.cpp refuses without a matrix, in its own code."""
    source = read_source(sdist)
    chosen = body(source, "llama_ftype_get_default_type")
    pairs = re.findall(r"((?:case LLAMA_FTYPE_\w+:\s*)+)return GGML_TYPE_(\w+);", chosen)
    defaults = {
        kind: tensor
        for cases, tensor in pairs
        for kind in re.findall(r"LLAMA_FTYPE_MOSTLY_(\w+):", cases)
    }
    assert {kind: file_type(kind).tensor for kind in KINDS} == {k: defaults[k] for k in KINDS}
    refused = body(source, "tensor_requires_imatrix").partition("return true;")[0]
    tensors = set(re.findall(r"case GGML_TYPE_(\w+):", refused))
    needed = {kind for kind in KINDS if file_type(kind).matrix == "needed"}
    # IQ3_XS gives a type of `tensors` to queries and keys, Q2_K_S is named apart.
    assert needed == {k for k in KINDS if file_type(k).tensor in tensors} | {"IQ3_XS", "Q2_K_S"}


def test_a_matrix_is_for_what_loses_without() -> None:
    """Every type of less than four bits a weight wants one, and the i-quants; the others do not."""
    for kind in KINDS:
        small = file_type(kind).bits_per_weight < 4.4
        assert wants_matrix(kind) == (small or kind.startswith("IQ"))


def test_headers_of_every_family() -> None:
    """A family of the table has its own size; an unknown one is taken to be the largest."""
    assert set(TABLE["vocabularies"]) == set(tokenizer_families())
    assert header_bytes_per_token("llama2") < header_bytes_per_token("qwen2")
    assert header_bytes_per_token("no such family") == max(TABLE["vocabularies"].values())


def read_source(sdist: Path) -> str:
    """Read llama-quant.cpp of the pinned version."""
    with tarfile.open(sdist) as archive:
        member = next(m for m in archive if m.name.endswith("/llama.cpp/src/llama-quant.cpp"))
        file = archive.extractfile(member)
        assert file is not None
        return file.read().decode()


def body(source: str, function: str) -> str:
    """Return a function's text, up to the brace that closes it at the start of a line."""
    start = re.search(rf"^\S.*\b{function}\(.*\{{$", source, re.MULTILINE)
    assert start is not None
    return source[start.start() :].partition("\n}")[0]
