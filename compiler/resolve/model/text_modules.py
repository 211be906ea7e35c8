"""The modules after a sentence-transformers model: how its tokens become one vector."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.facts import TextModules

MODULES_FILE: Final = "modules.json"
#: Where sentence-transformers writes the settings of the pooling.
POOLING_FILE: Final = "1_Pooling/config.json"
#: The keys of older files, and the word for each that newer ones have.
_OLDER_KEYS: Final[Mapping[str, str]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_PLAIN: Final = ("Transformer", "Pooling", "Normalize", "Dropout")


def read_text_modules(folder: Path) -> TextModules | None:
    """Return what `modules.json` lists; None without that file, or if it cannot be read."""
    try:
        modules = json.loads((folder / MODULES_FILE).read_bytes())
        kinds = {str(module["type"]).rpartition(".")[2]: str(module["path"]) for module in modules}
        path = kinds.get("Pooling")
        found = {} if path is None else json.loads((folder / path / "config.json").read_bytes())
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    others = tuple(kind for kind in kinds if kind not in _PLAIN)
    return TextModules(poolings=_list_poolings(found), others=others)


def _list_poolings(config: Mapping[str, Any]) -> tuple[str, ...]:
    said = config.get("pooling_mode")
    if said is None:
        return tuple(word for key, word in _OLDER_KEYS.items() if config.get(key) is True)
    return tuple(map(str, said)) if isinstance(said, list) else (str(said),)
