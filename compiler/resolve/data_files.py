"""Where the data is: a file beside the spec, or the files of a Hub data set in the cache."""

import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from ftc.compiler.resolve import data_faults, pages
from ftc.compiler.resolve.first_rows import (
    FirstRows,
    WideTextError,
    fetch_first_rows,
    list_files,
    remember_files,
)
from ftc.compiler.resolve.hub import Repository, Trouble, describe, download
from ftc.compiler.resolve.hub_cache import (
    COMMIT,
    cached_commit,
    is_offline,
    remember_commit,
    snapshot_folder,
)
from ftc.compiler.resolve.place import at, is_file, is_path, relative
from ftc.compiler.resolve.rows import UnreadableError
from ftc.compiler.resolve.said import patch_field
from ftc.compiler.resolve.table_file import FORMATS
from ftc.spec.finding import Finding
from ftc.spec.sections import FileFormat, Spec
from ftc.spec.sources import WholeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFiles:
    """Files of one format on this disk; `names` are theirs in the Hub's repository.

    Where a data set is streamed `first` says so: the paths then hold no more than its first rows.
    """

    paths: tuple[Path, ...]
    format: FileFormat
    origin: Literal["file", "hub"]
    relative: str | None
    revision: str | None
    names: tuple[str, ...]
    first: FirstRows | None = None


def find_data_files(spec: Spec, source: WholeSource, *, folder: Path) -> DataFiles | Finding:
    """Find the file or fetch the data set; its format is said, or shown by the extension."""
    name = source.source
    suffix = PurePosixPath(name).suffix.lower()
    hub = "/" in name and suffix not in FORMATS and not is_path(name, folder=folder)
    if hub:
        return _find_stream(source) if source.streaming else _find_data_set(source)
    path = at(name, folder=folder)
    if not is_file(path):
        return _no_file(spec, source, path, folder)
    chosen = source.format if source.format != "auto" else FORMATS.get(suffix)
    if chosen is None:
        return _no_format(source, suffix)
    return DataFiles(
        paths=(path,),
        format=chosen,
        origin="file",
        relative=relative(path, folder=folder),
        revision=None,
        names=(),
    )


def choose_files(
    names: Sequence[str], data: WholeSource
) -> tuple[tuple[str, ...], FileFormat] | None:
    """Choose a data set's files: of the subset's folder, of the split's name, of one format.

    A repository whose files name no split holds one, called train.
    """
    files = [name for name in sorted(names) if PurePosixPath(name).suffix.lower() in FORMATS]
    if data.subset is not None:
        files = [name for name in files if data.subset in _words(name)]
    split = [name for name in files if data.split in _words(name)]
    if not split and data.split == "train":
        others = {"test", "validation", "valid", "dev", "val"}
        split = [name for name in files if not others & _words(name)]
    for wanted in ("parquet", "jsonl", "csv", "json"):
        chosen = tuple(name for name in split if _format(name) == wanted)
        if chosen and data.format in ("auto", wanted):
            return chosen, _format(chosen[0])
    return None


def _format(name: str) -> FileFormat:
    return FORMATS[PurePosixPath(name).suffix.lower()]


def _words(name: str) -> set[str]:
    """Return the folders of a path and the words of its file name: `plain/train-0-of-2.csv`."""
    path = PurePosixPath(name)
    stem = path.stem.replace("_", "-").replace(".", "-")
    return {*path.parent.parts, path.stem, *stem.split("-")}


def _find_data_set(data: WholeSource) -> DataFiles | Finding:
    """Ask the Hub for the files and fetch them; the cache answers where it cannot be asked."""
    source = data.source
    commit = cached_commit(source, data.revision, "dataset")
    pinned = data.revision is not None and COMMIT.fullmatch(data.revision) is not None
    found: Repository | Trouble
    if is_offline() or (pinned and commit is not None):
        found = Trouble(reason="offline", detail="HF_HUB_OFFLINE is set")
    else:
        found = describe(source, data.revision, "dataset")
    if isinstance(found, Trouble):
        if commit is not None and (cached := _cached(data, commit)) is not None:
            return cached
        return _explain(data, found)
    chosen = choose_files(list(found.files), data)
    if chosen is None:
        return _no_split(data, list(found.files))
    place = download(source, found.commit, chosen[0], "dataset")
    if isinstance(place, Trouble):
        return _explain(data, place)
    remember_commit(source, data.revision, found.commit, "dataset")
    return _of_hub(place, chosen, found.commit)


def _find_stream(data: WholeSource) -> DataFiles | Finding:
    """Ask the Hub for the files and fetch the first rows of a few; the cache answers without it."""
    source, known = data.source, list_files(data.source, data.revision)
    pinned = known is not None and known.commit == data.revision
    found: Repository | Trouble
    if known is not None and (pinned or is_offline()):
        found = known
    elif is_offline():
        found = Trouble(reason="offline", detail="HF_HUB_OFFLINE is set")
    else:
        found = describe(source, data.revision, "dataset")
        if isinstance(found, Trouble) and found.passes and known is not None:
            found = known
    if isinstance(found, Trouble):
        return _explain(data, found)
    chosen = choose_files(list(found.files), data)
    if chosen is None:
        return _no_split(data, list(found.files))
    names, kind = chosen
    if kind == "json":
        return _unstreamable(data, "a JSON list is one value, of which no part can be read alone")
    try:
        sizes = {name: found.files[name] for name in names}
        first = fetch_first_rows(source, found.commit, sizes, kind)
    except WideTextError:
        return _unstreamable(data, "its letters have two bytes or more")
    except UnreadableError as error:
        return data_faults.broken(data, kind, str(error))
    except ImportError:
        return data_faults.no_reader(data)
    if isinstance(first, Trouble):
        return _explain(data, first)
    remember_files(source, data.revision, found)
    return replace(_of_hub(Path(), chosen, found.commit), paths=first.paths, first=first)


def _unstreamable(data: WholeSource, why: str) -> Finding:
    return pages.UNSTREAMABLE.finding(
        message=f"the files of `{data.source}` cannot be streamed: {why}",
        help="leave `streaming` out, or name a data set of parquet, JSON lines or CSV in UTF-8",
        pointer=data.at("streaming"),
    )


def _cached(data: WholeSource, commit: str) -> DataFiles | None:
    """Return the files of a commit that were downloaded before."""
    place = snapshot_folder(data.source, commit, "dataset")
    names = [path.relative_to(place).as_posix() for path in place.rglob("*") if path.is_file()]
    chosen = choose_files(names, data)
    return None if chosen is None else _of_hub(place, chosen, commit)


def _of_hub(place: Path, chosen: tuple[tuple[str, ...], FileFormat], commit: str) -> DataFiles:
    names, kind = chosen
    return DataFiles(
        paths=tuple(place / name for name in names),
        format=kind,
        origin="hub",
        relative=None,
        revision=commit,
        names=names,
    )


def _no_file(spec: Spec, source: WholeSource, path: Path, folder: Path) -> Finding:
    try:
        what = "a folder" if stat.S_ISDIR(path.stat().st_mode) else "no regular file"
    except PermissionError as error:
        return data_faults.unreadable(source, error)
    except (OSError, ValueError):  # not there, or a name that no disk can hold
        return _missing_file(spec, source, path, folder)
    return pages.NO_FILE.finding(
        message=f"the data `{source.source}` is {what}",
        help="name one file of rows",
        pointer=source.at("source"),
    )


def _missing_file(spec: Spec, source: WholeSource, path: Path, folder: Path) -> Finding:
    try:
        beside = sorted(item.name for item in path.parent.iterdir() if item.is_file())
    except OSError:
        beside = []
    near = get_close_matches(path.name, beside, n=1)
    instead = "write a file's path relative to the spec, or a data set of the Hub as `owner/name`"
    name = relative(path.with_name(near[0]), folder=folder) if near else None
    return pages.NO_FILE.finding(
        message=f"there is no file `{source.source}`",
        help=f"did you mean `{name}`? else {instead}" if name else instead,
        pointer=source.at("source"),
        fix=_rename(spec, source, name) if name else (),
    )


def _rename(spec: Spec, source: WholeSource, name: str) -> tuple[Mapping[str, Any], ...]:
    """Return the patch that names another file."""
    if source.pointer == "/data":
        return patch_field(spec, "data", "source", name)
    return ({"op": "replace", "path": source.at("source"), "value": name},)


def _no_format(source: WholeSource, suffix: str) -> Finding:
    what = f"the extension `{suffix}`" if suffix else "no extension"
    return pages.NO_FORMAT.finding(
        message=f"`{source.source}` has {what}, which tells no format",
        help="save it as csv, jsonl, json or parquet, or say which it is in `data.format`",
        pointer=source.at("source"),
    )


def _no_split(data: WholeSource, names: Sequence[str]) -> Finding:
    what = f"split `{data.split}`" + (f" of subset `{data.subset}`" if data.subset else "")
    files = [name for name in sorted(names) if PurePosixPath(name).suffix.lower() in FORMATS]
    held = ", ".join(f"`{name}`" for name in files[:5]) or "no such file at all"
    return pages.NO_SPLIT.finding(
        message=f"`{data.source}` has no data file for the {what}",
        help=f"name a split and a subset that its files carry: it holds {held}",
        pointer=data.at("subset" if data.subset else "split"),
    )


def _explain(data: WholeSource, trouble: Trouble) -> Finding:
    source = data.source
    if trouble.reason in ("missing", "revision"):
        at_revision = f" at revision `{data.revision}`" if data.revision else ""
        return pages.DATASET_NOT_FOUND.finding(
            message=f"the Hub has no data set `{source}`{at_revision}, or it is private",
            help="write the id as its page does, or a file's path with its extension",
            pointer=data.at("source"),
        )
    if trouble.reason == "gated":
        return pages.GATED_DATASET.finding(
            message=f"the data set `{source}` is gated: {trouble.detail}",
            help="accept its terms on its page on the Hub, then set HF_TOKEN to a token of yours",
            pointer=data.at("source"),
        )
    return pages.DATASET_UNREACHABLE.finding(
        message=f"the Hub cannot be asked for the data set `{source}` ({trouble.detail})",
        help="connect, download it beforehand, or name a local file",
        pointer=data.at("source"),
    )
