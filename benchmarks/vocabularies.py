"""The tokenizers of the families: rebuilt real ones, and stand-ins of the same kind.

Real: Llama 2 and 3, Qwen 2, GPT-2, StarCoder and Phi-3 from the vocabularies inside llama.cpp's
sources, Mistral from the wheel of mistral-common. Stand-ins are always marked as such.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tokenizers import Tokenizer

from benchmarks.sentencepiece_models import finish_tokenizer, train_sentencepiece
from tests.real_tokenizers import KINDS, read_members, real_tokenizer

#: The stand-in for a tokenizer that no package contains, and its name in the report.
STAND_INS: Final[Mapping[str, tuple[str, str]]] = {
    "gemma": ("gemma", "stand-in: sentencepiece of 2,048 tokens, with Gemma's special ids"),
    "olmo-2": ("gpt-2", "stand-in: GPT-2's"),
    "smollm3": ("llama-3", "stand-in: Llama 3's"),
    "qwen3": ("qwen2", "real, without the four markers that Qwen3 added to Qwen 2's"),
    "starcoder2": ("starcoder", "stand-in: StarCoder's"),
    "granite-3": ("starcoder", "stand-in: StarCoder's"),
    "falcon": ("gpt-2", "stand-in: GPT-2's"),
    "gpt-neox": ("gpt-2", "stand-in: GPT-2's"),
    "phi-2": ("gpt-2", "stand-in: GPT-2's, without Phi's tokens for runs of spaces"),
    "command-r": ("gpt-2", "stand-in: GPT-2's"),
    "glm-4": ("gpt-2", "stand-in: GPT-2's, with GLM's markers"),
    "solar": ("gpt-2", "stand-in: GPT-2's, with Solar's markers"),
}
#: Tokens that the converter looks up by name.
_MARKERS: Final[Mapping[str, Sequence[str]]] = {
    "glm-4": ("[gMASK]", "<sop>", "<|user|>", "<|assistant|>", "<|observation|>"),
    "solar": ("<unk>", "<|startoftext|>"),
}
_MISTRAL: Final[Mapping[str, str]] = {
    "mistral-v1": "tokenizer.model.v1",
    "mistral-v3": "mistral_instruct_tokenizer_240323.model.v3",
}
_GEMMA_TEMPLATE: Final = "google-gemma-2-2b-it"
_STAND_IN_TOKENS: Final = 2048


def describe_tokenizer(kind: str) -> str:
    """Return the report's description of a family's tokenizer."""
    return STAND_INS[kind][1] if kind in STAND_INS else "real"


def make_tokenizer(
    kind: str, folder: Path, *, sdist: Path, cache: Path, texts: list[str], template: str | None
) -> None:
    """Write a tokenizer's files into `folder`; `template` replaces its chat template.

    A stand-in is trained on `texts`. `cache` keeps the wheel of mistral-common, which pip downloads
    once. Raises RuntimeError if it cannot be downloaded.
    """
    markers = _MARKERS.get(kind, ())
    kind = STAND_INS.get(kind, (kind, ""))[0]
    if kind in KINDS:
        real_tokenizer(kind, folder, sdist=sdist)
        add_markers(folder / "tokenizer.json", markers)
    elif kind in _MISTRAL:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokenizer.model").write_bytes(_read_mistral(_MISTRAL[kind], cache))
        finish_tokenizer(folder, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})
    else:
        folder.mkdir(parents=True, exist_ok=True)
        named = ("<pad>", "<eos>", "<bos>", "<unk>")
        model = train_sentencepiece(
            texts,
            tokens=_STAND_IN_TOKENS,
            named=named,
            markers=("<start_of_turn>", "<end_of_turn>"),
        )
        (folder / "tokenizer.model").write_bytes(model)
        roles = ("pad_token", "eos_token", "bos_token", "unk_token")
        finish_tokenizer(
            folder, {**dict(zip(roles, named, strict=True)), "add_prefix_space": False}
        )
        template = template or _GEMMA_TEMPLATE
    if template is not None:
        file = f"templates/{template}.jinja"
        text = read_members(sdist, file)[file].decode()
        path = folder / "tokenizer_config.json"
        settings = {**json.loads(path.read_bytes()), "chat_template": text}
        path.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def add_markers(path: Path, markers: Sequence[str]) -> None:
    """Add special tokens to a tokenizer.json."""
    if markers:
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.add_special_tokens(list(markers))
        tokenizer.save(str(path))


def _read_mistral(name: str, cache: Path) -> bytes:
    """Return a `tokenizer.model` from the wheel of mistral-common, downloading it if needed."""
    cache.mkdir(parents=True, exist_ok=True)
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache)]
    if not list(cache.glob("mistral_common-*.whl")):
        done = subprocess.run([*fetch, "mistral-common"], check=False, capture_output=True)
        if done.returncode:
            raise RuntimeError("the wheel of mistral-common could not be downloaded")
    with zipfile.ZipFile(max(cache.glob("mistral_common-*.whl"))) as wheel:
        return wheel.read(f"mistral_common/data/{name}")
