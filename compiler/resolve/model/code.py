"""The Python files of a model's own, which its `auto_map` names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.text.tokenizer_classes import has_own_tokenizer, is_known_class

__all__ = ["list_code", "needs_tokenizer_code"]

_TOKENIZER_FILE: Final = "tokenizer_config.json"
#: The files that have an `auto_map`, and what is loaded by each.
_LOADED: Final = {
    "config.json": ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer"),
    _TOKENIZER_FILE: ("AutoTokenizer",),
}
_ELSEWHERE: Final = "--"  # between another repository and the name of a class in it


def list_code(folder: Path) -> tuple[str, ...]:
    """Return the Python files that transformers runs for a model whose code is trusted."""
    named = (name for file, keys in _LOADED.items() for name in _list(folder / file, keys))
    files = (name.rpartition(".")[0] for name in named if _ELSEWHERE not in name)
    return tuple(dict.fromkeys(f"{file}.py" for file in files if file))


def needs_tokenizer_code(folder: Path, model_type: str) -> bool:
    """Return whether transformers loads the tokenizer only by code of the repository.

    It uses a class of its own where the model's type or `tokenizer_class` has one.
    """
    config = _read(folder / _TOKENIZER_FILE)
    code, name = config.get("auto_map"), config.get("tokenizer_class")
    code = code.get("AutoTokenizer") if isinstance(code, dict) else code
    known = isinstance(name, str) and is_known_class(name)
    return bool(code) and not (known or has_own_tokenizer(model_type))


def _read(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one if there is none."""
    try:
        data: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _list(path: Path, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the classes that a file names; of the two of a tokenizer the second is loaded."""
    said = _read(path).get("auto_map")
    if not isinstance(said, dict):
        return
    for key in keys:
        value = said.get(key)
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else ()
        name = names[-1] if names else value
        if isinstance(name, str):
            yield name
