"""Decides when a stage must run again, from its sources, its inputs and its outputs.

A stage is done when its fingerprint equals the one in its record, run/done/STAGE.json, and its
outputs still have the SHA-256 in that record. The fingerprint covers

* the sources: the stage's script, every module of the bundle that it imports, directly or not, and
  every other file of the bundle, except Markdown, whose name is a string constant in one of these,
  such as "answer_schema.json". Any change of their bytes counts, even in a comment;
* the inputs: the content of the files and folders that it reads, and the values that it gets;
* the trainings that the inputs come from. Each training has an id, so the results of an earlier
  training are stale even if the weights are equal.

It does not cover the location of the bundle, clocks, the number of threads, hidden files in a
folder, and the modules in REPORTING. Standard library only.
"""

import ast
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import read_object

#: Modules that report and cannot change a result: events for `ftc watch`, the tracker, the pilot,
#: which leaves run/train alone, the verdict on a training, which runs again at every start, and the
#: report.
REPORTING = frozenset(
    {"tracking.py", "samples.py", "verdict.py", "events.py", "progress.py", "pilot.py", "report.py"}
)
LOCK = "ftc.lock.json"  # marks a folder as a bundle; its content changes no result
VERSION = 2  # of a record
RACY_NS = 2_000_000_000  # a file changed so recently can change again with the same times

Input = Path | str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A stage as it would run now: SHA-256 by path, relative to the bundle's folder."""

    fingerprint: str
    sources: Mapping[str, str]
    inputs: Mapping[str, str]
    trainings: tuple[str, ...]


# -----------------------------------------------------------------------------
# Sources


def find_sources(bundle: Path, script: str) -> list[str]:
    """Return the names of the bundle's files that a script uses, itself included."""
    names = set(_list_bundle(bundle))
    found: set[str] = set()
    left = {script}
    while left:
        name = left.pop()
        found.add(name)
        if name.endswith(".py"):
            left |= set(_list_references(bundle, name)) & names - found
    return sorted(found)


def _list_bundle(bundle: Path) -> Iterator[str]:
    for at, folders, names in os.walk(bundle):
        folder = Path(at).relative_to(bundle)
        kept = [name for name in folders if not name.startswith((".", "__"))]
        folders[:] = [name for name in kept if folder.parts or name != "run"]
        read = (name for name in names if name not in {*REPORTING, LOCK} and name[-3:] != ".md")
        yield from ((folder / name).as_posix() for name in read)


def _list_references(bundle: Path, name: str) -> Iterator[str]:
    """Yield possible file names: each imported module and each string constant."""
    package = name.split("/")[:-1]
    for node in ast.walk(ast.parse((bundle / name).read_bytes(), name)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            module = [*above, *(node.module or "").split(".")]
            start = ".".join(part for part in module if part)
            modules = [".".join(filter(None, (start, alias.name))) for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        for dotted in modules:
            parts = dotted.split(".")
            for end in range(1, len(parts) + 1):
                path = "/".join(parts[:end])
                yield from (f"{path}.py", f"{path}/__init__.py")


# -----------------------------------------------------------------------------
# Digests


def list_files(bundle: Path, item: Path) -> list[Path]:
    """Return a file, or the files of a folder without hidden files, caches and inner bundles."""
    if not item.is_dir():
        return [item] if item.is_file() else []
    found = []
    for at, folders, names in os.walk(item):
        kept = [name for name in folders if not name.startswith((".", "__"))]
        inner = {name: Path(at, name).resolve() for name in kept}
        folders[:] = [n for n, p in inner.items() if p != bundle and not (p / LOCK).is_file()]
        found += [Path(at, name) for name in names if not name.startswith(".")]
    return sorted(path for path in found if path.is_file())


def digest_files(bundle: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files, by their paths relative to the bundle's folder.

    run/digests.json caches them by size, times and inode, so that a large file is read once.
    """
    note = bundle / "run" / "digests.json"
    wanted = {os.path.relpath(path, bundle): path for path in paths}
    known, now_ns = _read_cache(note), _read_clock(note)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = ((path, known.get(name), now_ns) for name, path in wanted.items())
        found = dict(zip(wanted, pool.map(lambda job: _digest(*job), jobs), strict=True))
    new = {name: state for name, (_, state) in found.items() if state != known.get(name)}
    if new:
        kept = {name: state for name, state in {**_read_cache(note), **new}.items() if state}
        with suppress(OSError):  # a read-only folder: nothing is cached
            partial = note.with_name(f"{note.name}.{os.getpid()}")
            partial.write_text(json.dumps(kept), encoding="utf-8")
            partial.replace(note)
    return {name: digest for name, (digest, _) in found.items()}


def _digest(path: Path, known: Any, now_ns: int) -> tuple[str, list[Any] | None]:
    """Return a file's SHA-256 and its cache entry, or None if it may still be written to."""
    before = _read_state(path)
    if known is not None and known[1:] == before:
        return known[0], known
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    is_settled = _read_state(path) == before and before[2] < now_ns - RACY_NS
    return digest, [digest, *before] if is_settled else None


def _read_cache(note: Path) -> dict[str, list[Any]]:
    read = read_object(note).items()
    return {name: entry for name, entry in read if isinstance(entry, list) and entry}


def _read_state(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]


def _read_clock(note: Path) -> int:
    """Return the earlier time of two clocks: this machine's and the file system's."""
    with suppress(OSError):
        clock = note.with_name(f".clock.{os.getpid()}")
        clock.touch()
        written_ns = clock.stat().st_ctime_ns
        clock.unlink()
        return min(time.time_ns(), written_ns)
    return time.time_ns()


# -----------------------------------------------------------------------------
# A stage as it would run now


def identify(bundle: Path, script: str, *inputs: Input) -> Identity:
    """Return the stage as it would run now. A string that names a folder is a model's folder."""
    items = [as_path(item) for item in inputs]
    files = {item: list_files(bundle, item) for item in items if isinstance(item, Path)}
    read = digest_files(bundle, (path for paths in files.values() for path in paths))
    sources = digest_files(bundle, (bundle / name for name in find_sources(bundle, script)))
    parts: list[Any] = []
    for item in items:
        if isinstance(item, Path):
            named = ((path, path.relative_to(item).as_posix()) for path in files[item])
            parts.append([[name, read[os.path.relpath(path, bundle)]] for path, name in named])
        else:
            parts.append(repr(item))
    places = [found for item in files for found in _list_records(item)]
    made = [record for record, place in places if record.list_outputs(place)]
    trainings = tuple(sorted({each for record in made for each in record.read["trainings"]}))
    whole = json.dumps([sorted(sources.items()), parts, trainings])
    fingerprint = hashlib.sha256(whole.encode()).hexdigest()
    return Identity(fingerprint=fingerprint, sources=sources, inputs=read, trainings=trainings)


def as_path(item: Input) -> Input:
    """Return a string that names a folder as a path, any other item unchanged."""
    return Path(item) if isinstance(item, str) and Path(item).is_dir() else item


# -----------------------------------------------------------------------------
# Records


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a stage of a bundle recorded at its end."""

    stage: str
    bundle: Path
    read: Mapping[str, Any]

    def list_outputs(self, place: Path) -> dict[Path, str]:
        """Return the SHA-256 of the outputs that are this file or lie in this folder."""
        named = {self.bundle / name: digest for name, digest in self.read["outputs"].items()}
        return {path: x for path, x in named.items() if path == place or place in path.parents}

    def list_folders(self, place: Path) -> list[Path]:
        """Return the folders in a place that hold this stage's outputs and nothing else."""
        folders = [self.bundle / name for name in self.read["folders"]]
        if any(folder == place or folder in place.parents for folder in folders):
            return [place] if place.is_dir() else []
        return [folder for folder in folders if place in folder.parents]


def read_record(bundle: Path, stage: str) -> Record | None:
    """Return the record of a stage, or None without one of this VERSION."""
    read = read_object(bundle / "run" / "done" / f"{stage}.json")
    if read.get("version") != VERSION:
        return None
    return Record(stage=stage, bundle=bundle, read=read)


def make_record(bundle: Path, identity: Identity, outputs: Iterable[Path]) -> dict[str, Any]:
    """Return the record of a stage that has just ended, with its outputs on the disk."""
    items = list(outputs)
    files = [path for item in items for path in list_files(bundle, item)]
    return {
        "version": VERSION,
        "fingerprint": identity.fingerprint,
        "trainings": list(identity.trainings),
        "sources": dict(identity.sources),
        "inputs": dict(identity.inputs),
        "outputs": digest_files(bundle, files),
        "folders": [os.path.relpath(item, bundle) for item in items if item.is_dir()],
    }


def _list_records(item: Path) -> list[tuple[Record, Path]]:
    """Return the records of the bundle whose run folder contains a path, each with that path."""
    for path in (Path.cwd() / item, item.resolve()):
        for parent in (path, *path.parents):
            if parent.name == "run" and (parent / "done").is_dir():
                stages = sorted(note.stem for note in (parent / "done").glob("*.json"))
                records = (read_record(parent.parent, stage) for stage in stages)
                return [(record, path) for record in records if record is not None]
    return []


# -----------------------------------------------------------------------------
# What has changed since


def find_difference(record: Record, identity: Identity) -> str | None:
    """Return why a stage is stale by its record, as a clause, or None."""
    noted = record.read
    if noted["fingerprint"] == identity.fingerprint:
        return None
    for old, new in ((noted["sources"], identity.sources), (noted["inputs"], identity.inputs)):
        names = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if len(names) > 1:
            return f"{names[0]} and {len(names) - 1} more have changed"
        if names:
            return f"{names[0]} has changed"
    if noted["trainings"] != list(identity.trainings):
        return "the model was trained again"
    return "its arguments have changed"


def find_changed(record: Record, kind: str) -> str | None:
    """Return the first of the "sources" or "inputs" of a stage that is not as it was, or None.

    A missing input does not count.
    """
    known: dict[str, str] = record.read[kind]
    paths = (record.bundle / name for name in known)
    now = digest_files(record.bundle, (path for path in paths if path.is_file()))
    missing = known if kind == "inputs" else {}
    return next((name for name in known if now.get(name, missing.get(name)) != known[name]), None)


def find_changed_output(
    record: Record, place: Path, *, bundle: Path, read: Mapping[str, str] | None = None
) -> str | None:
    """Return how the outputs of a stage in one place differ from its record, as a clause, or None.

    `read` has digests that are known already.
    """
    wanted = {os.path.relpath(path, bundle): x for path, x in record.list_outputs(place).items()}
    if gone := next((name for name in wanted if not (bundle / name).is_file()), None):
        return f"{gone} is gone"
    known = read or {}
    now = {**known, **digest_files(bundle, (bundle / name for name in wanted if name not in known))}
    if changed := next((name for name in wanted if now[name] != wanted[name]), None):
        return f"{changed} has changed"
    found = (path for folder in record.list_folders(place) for path in list_files(bundle, folder))
    added = next((path for path in found if os.path.relpath(path, bundle) not in wanted), None)
    return f"{os.path.relpath(added, bundle)} was added" if added else None


def find_tampered(
    bundle: Path, inputs: Iterable[Input], read: Mapping[str, str] | None = None
) -> str | None:
    """Return a sentence if an input differs from the record of the stage that wrote it, or None."""
    for item in map(as_path, inputs):
        for record, place in _list_records(item) if isinstance(item, Path) else ():
            # Digests of a model in another bundle's run folder have other names there.
            known = read if record.bundle == bundle else None
            if said := find_changed_output(record, place, bundle=bundle, read=known):
                home = os.path.relpath(record.bundle, bundle)
                return f"{said} since stage `{record.stage}` wrote it: {home}/run.sh makes it again"
    return None
