"""Caches the facts of large data files in the user's cache folder.

A file's name is a hash of everything that the facts depend on: the bytes of the data, the parts of
the spec, the facts and files of the tokenizer, and ftc's own code. So an entry never becomes
invalid, and deleting it only costs time.
"""

import os
import platform
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from functools import cache
from hashlib import file_digest, sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import msgspec

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve.data.files import DataFiles, find_data_files
from ftc.compiler.resolve.facts import DataFacts, ModelFacts, TokenizerFacts, Unknown
from ftc.compiler.resolve.model.folder import find_tokenizer_folder
from ftc.spec.sections import Spec
from ftc.spec.sources import list_sources

#: Smaller files are read again, which takes at most a second.
LEAST_BYTES: Final = 1024 * 1024
MOST_FILES: Final = 200
MOST_BYTES: Final = 64 * 1024 * 1024
#: Libraries that read rows, templates or tokens.
_LIBRARIES: Final = ("jinja2", "tokenizers", "sentencepiece", "pyarrow")
_OWN_CODE: Final = ("compiler/knowledge", "compiler/resolve", "runtime", "spec")
_WEIGHTS: Final = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack", ".onnx")
#: Fields of `data` that the facts do not depend on.
_PLANNED: Final = frozenset({"max_length", "splits"})
_ENDING: Final = ".json"


def kept_folder() -> Path:
    """Return the folder of kept facts: in FTC_CACHE, or in the user's cache folder."""
    if named := os.environ.get("FTC_CACHE"):
        return Path(named).expanduser() / "data"
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expandvars(home)).expanduser() / "ftc" / "data"


def find_key(
    spec: Spec, *, folder: Path, tokenizer: TokenizerFacts | Unknown, model: object
) -> str | None:
    """Return the name of an entry, or None for data whose facts are not kept.

    These are small files, data of the Hub, and what may rest on more files: images, tools, and
    functions that reward. A field of the data that is left out of a wrong spec counts as such.
    """
    objective = spec.objective
    if OBJECTIVES[objective.type].rewards:
        return None
    if not isinstance(model, ModelFacts) or model.vision is not None:
        return None
    if not isinstance(tokenizer, TokenizerFacts) or objective.tools:
        return None
    found = [find_data_files(spec, each, folder=folder) for each in list_sources(spec.data)]
    files = [each for each in found if isinstance(each, DataFiles) and each.origin == "file"]
    paths = [path for each in files for path in each.paths]
    try:
        size = sum(path.stat().st_size for path in paths)
        if len(files) < len(found) or size < LEAST_BYTES:
            return None
        place = find_tokenizer_folder(spec.model, tokenizer, folder=folder)
        held = _list_files(place) if place is not None else ()
        digests = [(path.name, _hash_file(path)) for path in (*paths, *held)]
    except OSError:
        return None
    names = [field.name for field in fields(spec.data) if field.name not in _PLANNED]
    data = {name: getattr(spec.data, name) for name in names if hasattr(spec.data, name)}
    rest = (spec.model, objective, data, tokenizer, model, [each.relative for each in files])
    plain = msgspec.json.encode((rest, digests, _hash_reader()), order="deterministic")
    return sha256(plain).hexdigest()


def recall(key: str) -> DataFacts | None:
    """Return the facts of an entry, or None without a readable entry."""
    path = kept_folder() / f"{key}{_ENDING}"
    try:
        facts = msgspec.json.decode(path.read_bytes(), type=DataFacts)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    with suppress(OSError):
        os.utime(path)  # the entries that are used least go first
    return facts


def keep(key: str, facts: DataFacts) -> None:
    """Write an entry atomically, and remove the least recently used; disk errors are ignored.

    Facts that would not be the same when they are read are not kept.
    """
    written = msgspec.json.encode(facts)
    if len(written) > MOST_BYTES or msgspec.json.decode(written, type=DataFacts) != facts:
        return
    folder = kept_folder()
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".part", delete=False) as file:
            file.write(written)
        Path(file.name).replace(folder / f"{key}{_ENDING}")
        _remove_oldest(folder)


def _remove_oldest(folder: Path) -> None:
    """Remove entries, the least lately used first, until the others are few and small enough."""
    entries: list[tuple[float, int, Path]] = []
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            about = path.stat()
            entries.append((about.st_mtime, about.st_size, path))
    total = 0
    for number, (_, size, path) in enumerate(sorted(entries, reverse=True), 1):
        total += size
        if number > MOST_FILES or total > MOST_BYTES:
            path.unlink(missing_ok=True)


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files beside a tokenizer that may change what it does, in a fixed order."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix.lower() not in _WEIGHTS:
            yield path


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


@cache
def _hash_reader() -> str:
    """Return a hash of what reads the data: the modules of ftc, Python, and the libraries."""
    root = Path(__file__).resolve().parents[3]
    named: list[Any] = [platform.python_version(), *map(_version, _LIBRARIES)]
    for place in _OWN_CODE:
        named += [(str(path.relative_to(root)), _hash_file(path)) for path in _sources(root, place)]
    return sha256(msgspec.json.encode(named)).hexdigest()


def _sources(root: Path, place: str) -> Iterable[Path]:
    return sorted(path for path in (root / place).rglob("*") if path.suffix in (".py", ".json"))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
