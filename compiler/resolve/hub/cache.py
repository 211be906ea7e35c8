"""The Hub's cache on this disk: which commit a revision is, and the folder of its files.

The layout is documented by huggingface_hub: `models--owner--name/refs/<revision>` holds a commit,
`snapshots/<commit>/` its files. It is read here so that no library has to be imported for it.
"""

import os
import re
from pathlib import Path
from typing import Final, Literal, TypeGuard

Kind = Literal["model", "dataset"]

COMMIT: Final = re.compile(r"[0-9a-f]{40}")


def cache_folder() -> Path:
    """Return the folder of the Hub's cache: HF_HUB_CACHE, HF_HOME/hub, or the default."""
    if named := os.environ.get("HF_HUB_CACHE"):
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(os.path.expandvars(home)).expanduser() / "hub"


def is_offline() -> bool:
    """Return whether the Hub's variables forbid the network."""
    said = os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or ""
    return said.upper() in {"1", "ON", "YES", "TRUE"}


def is_pinned(revision: str | None) -> TypeGuard[str]:
    """Return whether a revision is a commit, whose files never change."""
    return revision is not None and COMMIT.fullmatch(revision) is not None


def cached_commit(repository: str, revision: str | None, kind: Kind) -> str | None:
    """Return the commit of a revision in the cache; None where it has none."""
    folder = repository_folder(repository, kind)
    if is_pinned(revision):
        return revision if (folder / "snapshots" / revision).is_dir() else None
    try:
        commit = (folder / "refs" / (revision or "main")).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return commit if COMMIT.fullmatch(commit) else None


def snapshot_folder(repository: str, commit: str, kind: Kind) -> Path:
    """Return the folder in which the cache keeps the files of a commit."""
    return repository_folder(repository, kind) / "snapshots" / commit


def has_repository(repository: str, kind: Kind) -> bool:
    """Return whether any part of a repository has been downloaded."""
    return repository_folder(repository, kind).is_dir()


def snapshots(repository: str, kind: Kind) -> tuple[Path, ...]:
    """Return the folders of all commits that the cache has of a repository."""
    return tuple(sorted((repository_folder(repository, kind) / "snapshots").glob("*")))


def repository_folder(repository: str, kind: Kind) -> Path:
    """Return the folder in the cache of a repository."""
    return cache_folder() / "--".join([f"{kind}s", *repository.split("/")])


def cached_weights(repository: str) -> int:
    """Return the bytes of the weights in the cache of a model that was downloaded before."""
    folder = repository_folder(repository, "model")
    files = (file for file in folder.glob("snapshots/*/*.safetensors") if file.is_file())
    return sum({file.resolve(): file.stat().st_size for file in files}.values())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of the cache atomically; its folder is created."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
