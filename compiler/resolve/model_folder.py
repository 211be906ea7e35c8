"""Where the model's small files are: a folder, the cache, or the Hub by way of the cache."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ftc.compiler.resolve.chain import base_of, find_first_run
from ftc.compiler.resolve.config import CONFIG_FILE
from ftc.compiler.resolve.facts import ModelFacts
from ftc.compiler.resolve.hub import Repository, Trouble, describe, download
from ftc.compiler.resolve.hub_cache import (
    COMMIT,
    cached_commit,
    is_offline,
    remember_commit,
    snapshot_folder,
    snapshots,
)
from ftc.compiler.resolve.place import at, is_path
from ftc.compiler.resolve.tokenizer_files import (
    CONFIG_FILE as TOKENIZER_CONFIG_FILE,
)
from ftc.compiler.resolve.tokenizer_files import (
    SENTENCEPIECE_FILE,
    TEMPLATE_FILE,
    TOKENIZER_FILE,
    hash_file,
)
from ftc.compiler.resolve.weights import INDEX_FILE
from ftc.spec.sections import Spec

#: All that is ever fetched of a model: never its weights, never its code.
WANTED: Final = (
    CONFIG_FILE,
    TOKENIZER_FILE,
    TOKENIZER_CONFIG_FILE,
    SENTENCEPIECE_FILE,
    TEMPLATE_FILE,
    INDEX_FILE,
    "special_tokens_map.json",
    "added_tokens.json",
    "adapter_config.json",
    "generation_config.json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder with the model's files; `repository` is what the Hub said, where it was asked."""

    path: Path
    origin: Literal["folder", "cache", "hub"]
    commit: str | None = None
    repository: Repository | None = None


def find_model_folder(spec: Spec, *, folder: Path) -> ModelFolder | Trouble:
    """Find the files: a pinned commit in the cache first, then the Hub, then the cache."""
    name = spec.model.id
    if is_path(name, folder=folder):
        first = find_first_run(spec, folder=folder)
        path = at(name, folder=folder) if first is None else first.merged
        return ModelFolder(path=path, origin="folder")
    revision = spec.model.revision
    pinned = revision is not None and COMMIT.fullmatch(revision) is not None
    cached = _from_cache(name, revision)
    if pinned and cached is not None:
        return cached
    if is_offline():
        found: ModelFolder | Trouble = Trouble(reason="offline", detail="HF_HUB_OFFLINE is set")
    else:
        found = _from_hub(name, revision)
    return cached if isinstance(found, Trouble) and cached is not None else found


def find_tokenizer_folder(spec: Spec, *, folder: Path, sha256: str) -> Path | None:
    """Find the folder that holds the tokenizer of this hash again, without any network."""
    first = find_first_run(spec, folder=folder)
    if first is not None:
        places: tuple[Path, ...] = (first.merged, *_places(base_of(first) or "", first.folder))
    else:
        places = _places(spec.model.id, folder)
    for place in places:
        path = place / TOKENIZER_FILE
        if path.is_file() and hash_file(path) == sha256:
            return place
    return None


def _places(name: str, folder: Path) -> tuple[Path, ...]:
    """Return where the files of a model may lie on this disk."""
    if is_path(name, folder=folder):
        return (at(name, folder=folder),)
    return tuple(snapshots(name, "model"))


def located_folder(model: ModelFacts, *, folder: Path) -> Path:
    """Return the folder that a model's facts were read from; not for facts of the table."""
    if model.path is not None:
        return folder / model.path
    return snapshot_folder(model.id, model.revision or "", "model")


def _from_cache(name: str, revision: str | None) -> ModelFolder | None:
    commit = cached_commit(name, revision, "model")
    if commit is None:
        return None
    path = snapshot_folder(name, commit, "model")
    whole = (path / CONFIG_FILE).is_file()
    return ModelFolder(path=path, origin="cache", commit=commit) if whole else None


def _from_hub(name: str, revision: str | None) -> ModelFolder | Trouble:
    repository = describe(name, revision, "model")
    if isinstance(repository, Trouble):
        return repository
    wanted = [file for file in WANTED if file in repository.files]
    path = download(name, repository.commit, wanted, "model")
    if isinstance(path, Trouble):
        return path
    remember_commit(name, revision, repository.commit, "model")
    return ModelFolder(path=path, origin="hub", commit=repository.commit, repository=repository)
