"""The Hub's cache on this disk: which commit a revision is, and the folder of its files.

The layout is documented by huggingface_hub: `models--owner--name/refs/<revision>` holds a commit,
`snapshots/<commit>/` its files. It is read here so that no library has to be imported for it.
"""

import os
import re
from pathlib import Path
from typing import Final, Literal

Kind = Literal["model", "dataset"]

COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """Return where files of the Hub are kept: HF_HUB_CACHE, HF_HOME/hub, or the usual place."""
    if named := os.environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def is_offline() -> bool:
    """Tell whether the user forbids the network, by the Hub's own variables."""
    said = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return said.upper() in {"1", "ON", "YES", "TRUE"}


def cached_commit(repository: str, revision: str | None, kind: Kind) -> str | None:
    """Return the commit that the cache knows a revision by; None where it has none of it."""
    folder = _repository_folder(repository, kind)
    if revision is not None and COMMIT.fullmatch(revision):
        return revision if (folder / "snapshots" / revision).is_dir() else None
    try:
        commit = (folder / "refs" / (revision or "main")).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return commit if COMMIT.fullmatch(commit) else None


def remember_commit(repository: str, revision: str | None, commit: str, kind: Kind) -> None:
    """Note which commit a branch or tag is, as a download by that name would."""
    if revision is None or not COMMIT.fullmatch(revision):
        path = _repository_folder(repository, kind) / "refs" / (revision or "main")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(commit, encoding="ascii")


def snapshot_folder(repository: str, commit: str, kind: Kind) -> Path:
    """Return the folder in which the cache keeps the files of a commit."""
    return _repository_folder(repository, kind) / "snapshots" / commit


def has_repository(repository: str, kind: Kind) -> bool:
    """Tell whether any part of a repository was ever downloaded."""
    return _repository_folder(repository, kind).is_dir()


def snapshots(repository: str, kind: Kind) -> tuple[Path, ...]:
    """Return the folders of all commits that the cache has of a repository."""
    return tuple(sorted((_repository_folder(repository, kind) / "snapshots").glob("*")))


def _repository_folder(repository: str, kind: Kind) -> Path:
    return cache_folder() / "--".join([f"{kind}s", *repository.split("/")])
