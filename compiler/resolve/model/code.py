"""The Python files of a model's own, which its `auto_map` names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["list_code"]

#: The files that have an `auto_map`, and what is loaded by each.
_LOADED: Final = {
    "config.json": ("AutoConfig", "AutoModelForCausalLM", "AutoTokenizer"),
    "tokenizer_config.json": ("AutoTokenizer",),
}
_ELSEWHERE: Final = "--"  # between another repository and the name of a class in it


def list_code(folder: Path) -> tuple[str, ...]:
    """Return the Python files that transformers runs for a model whose code is trusted."""
    named = (name for file, keys in _LOADED.items() for name in _list(folder / file, keys))
    files = (name.rpartition(".")[0] for name in named if _ELSEWHERE not in name)
    return tuple(dict.fromkeys(f"{file}.py" for file in files if file))


def _list(path: Path, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the classes that a file names; of the two of a tokenizer the second is loaded."""
    try:
        data: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return
    said = data.get("auto_map") if isinstance(data, dict) else None
    if not isinstance(said, dict):
        return
    for key in keys:
        value = said.get(key)
        names = [name for name in value if isinstance(name, str)] if isinstance(value, list) else ()
        name = names[-1] if names else value
        if isinstance(name, str):
            yield name
