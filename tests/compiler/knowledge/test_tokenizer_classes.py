"""The table of tokenizer classes is what the pinned transformers does."""

import ast
import importlib
import inspect
import json
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.text.tokenizer_classes import find_class_steps, find_loaded_class
from ftc.compiler.resolve.model.code import needs_tokenizer_code
from ftc.compiler.resolve.model.tokenizer_files import load_tokenizer
from tests.tiny_tokenizers import byte_level_tokenizer

FOLDER = Path(__file__).parents[3] / "compiler/knowledge/text"
NAME = "tokenizer_classes.json"
#: Classes of byte-level tokenizers that generating models have.
CLASSES = (
    *("GPT2Tokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer", "Qwen3_5Tokenizer"),
    *("CohereTokenizer", "RobertaTokenizer", "BartTokenizer", "CLIPTokenizer"),
)
#: What changes how a BPE looks tokens up, its vocabulary aside.
OPTIONS = ("unk_token", "fuse_unk", "byte_fallback", "ignore_merges")

#: How the names of the classes end.
ENDINGS = ("Tokenizer", "TokenizersBackend")
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


@pytest.fixture(scope="module")
def auto() -> Any:
    """Return the module of transformers that chooses a class."""
    pytest.importorskip("transformers")
    from transformers.models.auto import tokenization_auto  # noqa: PLC0415

    return tokenization_auto


def test_the_table_is_the_real_registry(auto: Any, *, update_golden: bool) -> None:
    """Names by model type, the types whose own word is not taken, and each class's steps."""
    given = auto.TOKENIZER_MAPPING_NAMES.items()
    real: dict[str, Any] = {
        "source": "transformers 5.23.0, models/auto/tokenization_auto.py, and a tokenizer of each "
        "class made from nothing",
        "distrusted": sorted(auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS),
        "registered": {
            model_type: name.removesuffix("Fast") for model_type, name in sorted(given) if name
        },
        "classes": list_classes(auto),
        "tokens": {name: found for name in list_classes(auto) if (found := tokens(auto, name))},
        "steps": {name: steps(auto.tokenizer_class_from_name(name)) for name in CLASSES},
    }
    if update_golden:
        text = json.dumps(real, indent=1, ensure_ascii=True)
        (FOLDER / NAME).write_text(text + "\n", encoding="utf-8")
    written = (files("ftc.compiler.knowledge.text") / NAME).read_text(encoding="utf-8")
    assert json.loads(written) == real


def list_classes(auto: Any) -> list[str]:
    """Return the names of all tokenizer classes, without the suffix `Fast`."""
    transformers = importlib.import_module("transformers")
    tree = ast.parse(inspect.getsource(auto.tokenizer_class_from_name))
    texts = {str(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    names = {*dir(transformers), *texts}
    names = {name for name in names if name.removesuffix("Fast").endswith(ENDINGS)}
    return sorted(
        {
            name.removesuffix("Fast")
            for name in names
            if isinstance(auto.tokenizer_class_from_name(name), type)
        }
    )


def tokens(auto: Any, name: str) -> dict[str, str]:
    """Return the special tokens of a class's own; none of one that needs a file."""
    made = auto.tokenizer_class_from_name(name) or auto.tokenizer_class_from_name(f"{name}Fast")
    try:
        special = made().special_tokens_map
    except Exception:  # noqa: BLE001 - each class needs something else
        return {}
    return {role: special[role] for role in ROLES if role in special}


def steps(tokenizer_class: Any) -> dict[str, Any]:
    """Return what a tokenizer of this class does around its vocabulary, and its BPE's options."""
    made = json.loads(tokenizer_class().backend_tokenizer.to_str())
    found = {key: made[key] for key in ("normalizer", "pre_tokenizer", "decoder")}
    return {**found, "model": {key: made["model"][key] for key in OPTIONS}}


def cases() -> Iterator[tuple[str, str | None]]:
    """Yield model types beside classes, as they are found together and as they are not."""
    for model_type in ("llama", "qwen2", "qwen3", "gpt2", "gpt_neox", "olmo2", "cohere", "phi3"):
        for name in ("GPT2Tokenizer", "Qwen2Tokenizer", "PreTrainedTokenizerFast", None):
            yield model_type, name
    yield from (("llama", "LlamaTokenizerFast"), ("starcoder2", "GPT2TokenizerFast"))
    yield from (("mistral", "LlamaTokenizer"), ("smollm3", "TokenizersBackend"))


@pytest.mark.parametrize(("model_type", "name"), list(cases()))
def test_the_steps_are_those_of_the_loaded_tokenizer(
    auto: Any, tmp_path: Path, model_type: str, name: str | None
) -> None:
    """What AutoTokenizer loads normalises and splits as the table and the file say together."""
    folder = byte_level_tokenizer(tmp_path, tokenizer_class=name or "")
    if name is None:
        path = folder / "tokenizer_config.json"
        config = json.loads(path.read_bytes())
        del config["tokenizer_class"]
        path.write_text(json.dumps(config))
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = auto.AutoTokenizer.from_pretrained(folder)
    real = json.loads(loaded.backend_tokenizer.to_str())
    saved = json.loads((folder / "tokenizer.json").read_bytes())

    loaded_class = find_loaded_class(model_type, name, byte_level=True)
    expected = find_class_steps(loaded_class) or saved

    assert real["pre_tokenizer"] == expected["pre_tokenizer"]
    assert real["normalizer"] == expected["normalizer"]


@pytest.mark.parametrize("name", ["Qwen2TokenizerFast", "NovelTokenizer", "GPTNeoXTokenizer"])
@pytest.mark.parametrize("keys", [{}, {"pad_token": None}, {"eos_token": "DROPPED"}])
def test_the_special_tokens_are_those_of_the_loaded_tokenizer(
    auto: Any, tmp_path: Path, name: str, keys: dict[str, str | None]
) -> None:
    """The class has its own where the files say nothing, and they are added to the vocabulary."""
    folder = byte_level_tokenizer(tmp_path, tokenizer_class=name)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    path = folder / "tokenizer_config.json"
    config = {**json.loads(path.read_bytes()), **keys}
    path.write_text(json.dumps({key: said for key, said in config.items() if said != "DROPPED"}))
    real = auto.AutoTokenizer.from_pretrained(folder)
    read = load_tokenizer(folder, template=None)
    assert read.special == {role: text for role, text in real.special_tokens_map.items() if text}
    assert read.tokenizer.get_vocab() == real.get_vocab()


@pytest.mark.parametrize("model_type", ["llama", "qwen2"])
@pytest.mark.parametrize("name", ["NovelTokenizer", "GPT2Tokenizer", "BloomTokenizerFast", None])
@pytest.mark.parametrize("code", [["x.X", None], {"AutoTokenizer": ["x.X", None]}, {}])
def test_a_tokenizer_that_needs_code(
    auto: Any, tmp_path: Path, model_type: str, name: str | None, code: Any
) -> None:
    """AutoTokenizer stops without trust, unless transformers has a class for the tokenizer."""
    folder = byte_level_tokenizer(tmp_path)
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    path = folder / "tokenizer_config.json"
    config = {**json.loads(path.read_bytes()), "auto_map": code, "tokenizer_class": name}
    path.write_text(json.dumps(config))
    needed = needs_tokenizer_code(folder, model_type)
    with pytest.raises(ValueError, match="trust_remote_code") if needed else nullcontext():
        auto.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
