"""The staleness of a lock: local files that changed since the facts in it were taken."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.compiler.write.pages import CHANGED_SINCE
from ftc.compiler.write.sections import Fact
from ftc.spec.finding import Finding


def find_stale(kept: Mapping[str, Fact], folder: Path) -> tuple[Finding, ...]:
    """Return a warning for each local file whose bytes are not those that the lock knows.

    `kept` are the facts taken from the lock, `folder` that of the spec. A file that is not there
    says nothing: a lock is made to stand in for it.
    """
    found = []
    model, data = kept.get("model"), kept.get("data")
    if isinstance(model, ModelFacts) and model.path is not None:
        config = folder / model.path / "config.json"
        if _differs(config, model.config_sha256):
            found.append(_finding("the model's `config.json`", "/model/id"))
    parts = (data.sources or (data,)) if isinstance(data, DataFacts) else ()
    for place, part in enumerate(parts):
        if part.path is not None and _differs(folder / part.path, part.sha256):
            pointer = "/data/source" if part is data else f"/data/sources/{place}"
            found.append(_finding(f"`{part.source}`", pointer))
    return tuple(found)


def _differs(path: Path, sha256: str) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() != sha256


def _finding(what: str, pointer: str) -> Finding:
    return CHANGED_SINCE.finding(
        message=f"{what} changed since the lock was written, and the plan rests on what it was",
        help="look again with `ftc compile --update`",
        pointer=pointer,
    )
