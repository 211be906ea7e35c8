"""Copies the files of sentence-transformers that define the pooling of a model."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from ftc.compiler.rehearse.stage import StageFailed

_LIST: Final = "modules.json"
#: Modules without weights, whose only size is the model's width.
_WEIGHTLESS: Final = ("Transformer", "Pooling", "Normalize", "Dropout")
_WIDTHS: Final = ("embedding_dimension", "word_embedding_dimension")


def copy_modules(place: Path, folder: Path, *, width: int) -> None:
    """Copy the modules that the real model's `modules.json` lists, for a model of this width.

    Raises StageFailed if one of them has weights or is not there.
    """
    if not (place / _LIST).is_file():
        return
    for module in json.loads((place / _LIST).read_bytes()):
        kind = str(module["type"]).rpartition(".")[2]
        if kind not in _WEIGHTLESS:
            raise StageFailed(
                f"{_LIST} of the model lists a `{kind}`, of which ftc makes no miniature"
            )
        if module["path"] and kind != "Normalize":
            _copy(place / module["path"], folder / module["path"], width=width)


def _copy(place: Path, folder: Path, *, width: int) -> None:
    if not (place / "config.json").is_file():
        raise StageFailed(f"`{place.name}/config.json` of the model is missing")
    shutil.copytree(place, folder)
    path = folder / "config.json"
    config: dict[str, Any] = json.loads(path.read_bytes())
    config |= {key: width for key in _WIDTHS if key in config}
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
