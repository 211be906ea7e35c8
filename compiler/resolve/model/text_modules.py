"""Finds how sentence-transformers uses a model: for text vectors, or for relevance scores."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.detail_facts import Purpose, TextModules

MODULES_FILE: Final = "modules.json"
#: The file in which sentence-transformers stores the class of a model.
PURPOSE_FILE: Final = "config_sentence_transformers.json"
#: The file in which sentence-transformers stores the settings of the pooling.
POOLING_FILE: Final = "1_Pooling/config.json"
#: The keys of older files, and the corresponding words of newer ones.
_OLDER_KEYS: Final[Mapping[str, str]] = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
#: Words in the names of rerankers.
_RANKER: Final = re.compile(r"\bre-?rank(?:er|ing)?\b", re.IGNORECASE)
_KIND: Final = "model_type"
_RANKING: Final = "CrossEncoder"
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


def read_purpose(folder: Path, name: str) -> Purpose | None:
    """Return the output of a model that compares texts; None for any other model.

    sentence-transformers writes the class. Older files do not have it: they are those of models
    that give vectors. Rerankers that are causal models often have no such file, but a name.
    """
    if _RANKER.search(name.rstrip("/").rpartition("/")[2]):
        return "relevance"
    modules, path = (folder / MODULES_FILE).is_file(), folder / PURPOSE_FILE
    try:
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return "vectors" if modules else None
    kind = config.get(_KIND) if isinstance(config, dict) else None
    return "relevance" if kind == _RANKING else "vectors"


def _list_poolings(config: Mapping[str, Any]) -> tuple[str, ...]:
    said = config.get("pooling_mode")
    if said is None:
        return tuple(word for key, word in _OLDER_KEYS.items() if config.get(key) is True)
    return tuple(map(str, said)) if isinstance(said, list) else (str(said),)
