"""The tables about llama.cpp's converter agree with the converter itself."""

import ast
import json
import os
import subprocess
import sys
import tarfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.exports.converter import (
    check_text,
    find_converter,
    pre_tokenizer_name,
    reads_published,
    wanted_keys,
)
from ftc.compiler.knowledge.multimodal.wrappers import wrapper_named

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "compiler/knowledge/exports"
VERSION = "the llama-cpp-python 0.3.36 source distribution"


def table(name: str, folder: str = "exports") -> dict[str, Any]:
    """Read a table as it is installed."""
    text = (files(f"ftc.compiler.knowledge.{folder}") / name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def hold(name: str, real: dict[str, Any], *, update: bool) -> None:
    """Compare a table with its source, or rewrite it."""
    if update:
        text = json.dumps(real, indent=1, ensure_ascii=True)
        (FOLDER / name).write_text(text + "\n", encoding="utf-8")
    assert table(name) == real


def test_pre_tokenizers(sdist: Path, *, update_golden: bool) -> None:
    """The check text and the name of every hash are those of `get_vocab_base_pre`."""
    text, names = pre_tokenizers(sdist)
    real = {
        "source": f"vendor/llama.cpp/conversion/base.py (get_vocab_base_pre) of {VERSION}",
        "check_text": text,
        "names": dict(sorted(names.items())),
    }
    hold("converter_pre_tokenizers.json", real, update=update_golden)
    assert check_text() == text
    assert all(pre_tokenizer_name(sha256) == name for sha256, name in names.items())
    assert pre_tokenizer_name("0" * 64) is None


def test_vocabulary_paths(converter: Path, tmp_path: Path, *, update_golden: bool) -> None:
    """Each class's `set_vocab`, run on four tokenizers, goes the way that the table says."""
    pytest.importorskip("transformers")
    pytest.importorskip("sentencepiece")
    script = Path(__file__).with_name("vocabulary_paths.py")
    ran = subprocess.run(
        [sys.executable, script, converter, tmp_path],
        env=os.environ | {"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    kinds: dict[str, list[str]] = {}
    for name, does in json.loads(ran.stdout).items():
        kinds.setdefault(json.dumps(does), []).append(name)
    real = {
        "source": f"set_vocab and filter_tensors of the classes in vendor/llama.cpp/conversion of "
        f"{VERSION}, run by tests/compiler/knowledge/vocabulary_paths.py, which says what each "
        "entry means",
        "kinds": [
            json.loads(does) | {"architectures": sorted(names)}
            for does, names in sorted(kinds.items())
        ],
    }
    hold("converter_vocabularies.json", real, update=update_golden)


@pytest.mark.prove
def test_wanted_keys(converter: Path, tmp_path: Path, *, update_golden: bool) -> None:
    """A miniature of each architecture, saved by transformers, lacks these keys and no others."""
    pytest.importorskip("transformers")
    script = Path(__file__).with_name("missing_keys.py")
    cases = Path(__file__).with_name("architecture_cases.json")
    ran = subprocess.run(
        [sys.executable, script, converter, tmp_path, cases],
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    found = json.loads(ran.stdout)
    # One with a single key head is saved as if it had as many as query heads.
    assert found.pop("FalconForCausalLM") == "RuntimeError"
    real = {
        "source": f"set_gguf_parameters of the classes in vendor/llama.cpp/conversion of {VERSION},"
        " run on what transformers 5.23.0 saves by tests/compiler/knowledge/missing_keys.py",
        "wanted": {name: key for name, key in found.items() if key is not None},
    }
    hold("converter_keys.json", real, update=update_golden)
    assert {name: wanted_keys(name) for name in ("GPT2LMHeadModel", "LlamaForCausalLM")} == {
        "GPT2LMHeadModel": ("n_ctx",),
        "LlamaForCausalLM": (),
    }


def test_every_registered_architecture_has_a_path() -> None:
    """Both tables about architectures name the same ones."""
    kinds = table("converter_vocabularies.json")["kinds"]
    names = sorted(name for kind in kinds for name in kind["architectures"])
    assert names == table("gguf_architectures.json", "architectures")["architectures"]


@pytest.mark.parametrize(
    ("architecture", "sentencepiece", "byte_fallback", "tokenizer_class", "expected"),
    [
        ("LlamaForCausalLM", True, True, "LlamaTokenizer", "scores"),
        ("LlamaForCausalLM", False, True, "LlamaTokenizer", "equal"),
        ("LlamaForCausalLM", False, False, "PreTrainedTokenizerFast", "bpe"),
        ("Qwen2ForCausalLM", False, False, "Qwen2Tokenizer", "bpe"),
        ("GPT2LMHeadModel", False, False, "GPT2Tokenizer", "bpe"),
        ("GPT2LMHeadModel", True, True, None, "bpe"),
        ("Phi3ForCausalLM", True, True, "LlamaTokenizer", "scores"),
        ("Phi3ForCausalLM", False, True, "LlamaTokenizer", "stop"),
        ("Phi3ForCausalLM", False, False, "GPT2Tokenizer", "bpe"),
        ("Phi3ForCausalLM", False, False, "TokenizersBackend", "stop"),
        ("Gemma2ForCausalLM", True, True, "GemmaTokenizer", "scores"),
        ("Gemma2ForCausalLM", False, True, "GemmaTokenizer", "stop"),
        ("Gemma3ForCausalLM", False, True, "GemmaTokenizer", "bpe"),
    ],
)
def test_paths(
    architecture: str,
    sentencepiece: bool,
    byte_fallback: bool,
    tokenizer_class: str | None,
    expected: str,
) -> None:
    """Families go the way that they are known for."""
    found = find_converter(architecture)
    assert found is not None
    path = found.path(
        sentencepiece=sentencepiece, byte_fallback=byte_fallback, name=tokenizer_class
    )
    assert path == expected


def test_what_else_a_class_does() -> None:
    """Phi-3's reads all of `tokenizer.json` and minds its ids; Gemma's leaves the head out."""
    found = {name: find_converter(f"{name}ForCausalLM") for name in ("Phi3", "Gemma", "Llama")}
    phi3, gemma, llama = found.values()
    assert phi3 is not None
    assert gemma is not None
    assert llama is not None
    assert (phi3.reads_added, phi3.refuses_beyond, phi3.drops_head) == (True, True, False)
    assert (gemma.reads_added, gemma.refuses_beyond, gemma.drops_head) == (False, False, True)
    assert (llama.reads_added, llama.refuses_beyond, llama.drops_head) == (False, False, False)
    assert find_converter("NoSuchForCausalLM") is None


def pre_tokenizers(sdist: Path) -> tuple[str, dict[str, str]]:
    """Read the check text and the hashes out of the converter's source, without running it."""
    with tarfile.open(sdist) as archive:
        member = next(m for m in archive if m.name.endswith("/llama.cpp/conversion/base.py"))
        source = archive.extractfile(member)
        assert source is not None
        tree = ast.parse(source.read())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    (function,) = (node for node in found if node.name == "get_vocab_base_pre")
    text, names = "", {}
    for node in function.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "chktxt":
            text = ast.literal_eval(node.value)
        if isinstance(node, ast.If) and ast.unparse(node.test).startswith("chkhsh == "):
            assert isinstance(node.test, ast.Compare)
            (given,) = (x for x in node.body if isinstance(x, ast.Assign))
            sha256 = ast.literal_eval(node.test.comparators[0])
            names[sha256] = ast.literal_eval(given.value)
    assert text
    return text, names


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("MiniMaxM3SparseForConditionalGeneration", {"sparse_attention_config": {"a": 1}}),
        ("Step3p7ForConditionalGeneration", {"num_attention_groups": 8}),
    ],
)
def test_keys_that_transformers_changes(name: str, keys: dict[str, Any]) -> None:
    """The converter would not find them in what transformers makes of a config.json."""
    transformers: Any = pytest.importorskip("transformers")
    kind = wrapper_named(name)
    assert kind is not None
    settings = transformers.CONFIG_MAPPING[kind.model_type](text_config=dict(keys))
    read = settings.get_text_config().to_dict()
    assert any(read.get(key) != value for key, value in keys.items())
    assert reads_published(name)
    assert not reads_published("Qwen3VLForConditionalGeneration")
