"""Finds the model's small files: in a folder, in the cache, or on the Hub through the cache."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from ftc.compiler.resolve.facts import ModelFacts, TokenizerFacts
from ftc.compiler.resolve.hub.cache import (
    cached_commit,
    is_offline,
    is_pinned,
    snapshot_folder,
    snapshots,
)
from ftc.compiler.resolve.hub.client import (
    OFFLINE,
    Repository,
    Trouble,
    describe,
    fetch_described,
    kept_description,
)
from ftc.compiler.resolve.local_paths import LfsPointer, at, is_path, read_pointer
from ftc.compiler.resolve.model.chain import base_of, find_first_run
from ftc.compiler.resolve.model.config import CONFIG_FILE, PARAMS_FILE, QUANTIZED_FILE
from ftc.compiler.resolve.model.generation import GENERATION_FILE
from ftc.compiler.resolve.model.text_modules import (
    MODULES_FILE,
    POOLING_FILE,
    PURPOSE_FILE,
)
from ftc.compiler.resolve.model.tokenizer_files import (
    CONFIG_FILE as TOKENIZER_CONFIG_FILE,
)
from ftc.compiler.resolve.model.tokenizer_files import (
    MAP_FILE,
    SENTENCEPIECE_FILE,
    TEMPLATE_FILE,
    TEMPLATE_FILES,
    TOKENIZER_FILE,
    hash_file,
    hash_template,
    read_tokenizer_config,
)
from ftc.compiler.resolve.model.vision import PROCESSOR_FILES
from ftc.compiler.resolve.model.weight_files.weights import INDEX_FILE
from ftc.spec.sections import Model

#: All that is ever fetched of a model: never its weights, never its code.
WANTED: Final = (
    CONFIG_FILE,
    QUANTIZED_FILE,
    PARAMS_FILE,
    TOKENIZER_FILE,
    TOKENIZER_CONFIG_FILE,
    SENTENCEPIECE_FILE,
    TEMPLATE_FILE,
    INDEX_FILE,
    MAP_FILE,
    "added_tokens.json",
    "adapter_config.json",
    GENERATION_FILE,
    MODULES_FILE,
    POOLING_FILE,
    PURPOSE_FILE,
    *PROCESSOR_FILES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A folder with the model's files; `repository` is what the Hub said, now or at a download."""

    path: Path
    origin: Literal["folder", "hub"]
    commit: str | None = None
    repository: Repository | None = None


def find_model_folder(model: Model, *, folder: Path) -> ModelFolder | Trouble:
    """Find the files of a pinned commit that is cached completely, else on the Hub, else cached.

    A commit that another tool downloaded to the cache is used only if the Hub cannot be reached: it
    may lack files, and has no description.
    """
    name = model.id
    if is_path(name, folder=folder):
        first = find_first_run(model, folder=folder)
        path = at(name, folder=folder) if first is None else first.merged
        return ModelFolder(path=path, origin="folder")
    revision = model.revision
    cached = _from_cache(name, revision)
    if is_pinned(revision) and cached is not None and cached.repository is not None:
        return cached
    if is_offline():
        found: ModelFolder | Trouble = OFFLINE
    else:
        found = _from_hub(name, revision)
    return cached if isinstance(found, Trouble) and cached is not None else found


def find_tokenizer_folder(model: Model, facts: TokenizerFacts, *, folder: Path) -> Path | None:
    """Find the folder that holds the tokenizer of these facts again, without any network.

    Commits of one repository often share a `tokenizer.json`, so the chat template must match too.
    """
    first = find_first_run(model, folder=folder)
    if first is not None:
        places: tuple[Path, ...] = (first.merged, *_places(base_of(first) or "", first.folder))
    else:
        places = _places(model.id, folder)
    return next((place for place in places if _is_of(facts, place)), None)


def find_pointers(folder: Path) -> tuple[LfsPointer, ...]:
    """Return the files of a model that are pointers of git-lfs, the weights first."""
    weights = [*folder.glob("*.safetensors"), *folder.glob("*.bin")]
    paths = [*sorted(weights), *(folder / name for name in WANTED)]
    return tuple(pointer for path in paths if (pointer := read_pointer(path)) is not None)


def _is_of(facts: TokenizerFacts, place: Path) -> bool:
    path = place / TOKENIZER_FILE
    if not path.is_file() or hash_file(path) != facts.sha256:
        return False
    if facts.template_from_spec:
        return True
    return hash_template(read_tokenizer_config(place).template) == facts.template_sha256


def _places(name: str, folder: Path) -> tuple[Path, ...]:
    """Return the folders on this disk that may have a model's files."""
    if is_path(name, folder=folder):
        return (at(name, folder=folder),)
    return tuple(snapshots(name, "model"))


def located_folder(model: ModelFacts, *, folder: Path) -> Path:
    """Return the folder that a model's facts were read from; not for facts of the table."""
    if model.path is not None:
        return folder / model.path
    return snapshot_folder(model.id, model.revision or "", "model")


def _from_cache(name: str, revision: str | None) -> ModelFolder | None:
    said = kept_description(name, revision, "model")
    commit = cached_commit(name, revision, "model") if said is None else said.commit
    if commit is None:
        return None
    path = snapshot_folder(name, commit, "model")
    needed = [CONFIG_FILE] if said is None else _wanted(said)
    if not all((path / file).is_file() for file in needed):
        return None
    return ModelFolder(path=path, origin="hub", commit=commit, repository=said)


def _from_hub(name: str, revision: str | None) -> ModelFolder | Trouble:
    repository = describe(name, revision, "model")
    if isinstance(repository, Trouble):
        return repository
    path = fetch_described(name, revision, repository, _wanted(repository), "model")
    if isinstance(path, Trouble):
        return path
    return ModelFolder(path=path, origin="hub", commit=repository.commit, repository=repository)


def _wanted(repository: Repository) -> list[str]:
    templates = [file for file in repository.files if TEMPLATE_FILES.fullmatch(file)]
    return [*(file for file in WANTED if file in repository.files), *sorted(templates)]
