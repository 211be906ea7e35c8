"""Finds the data: a file beside the spec, or the cached files of a Hub data set."""

import re
import stat
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final, Literal

from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.data import findings as data_faults
from ftc.compiler.resolve.data.stream import (
    FirstRows,
    WideTextError,
    fetch_first_rows,
)
from ftc.compiler.resolve.facts import Unknown
from ftc.compiler.resolve.hub.cache import (
    cached_commit,
    is_offline,
    is_pinned,
    snapshot_folder,
)
from ftc.compiler.resolve.hub.client import (
    OFFLINE,
    Repository,
    Trouble,
    describe,
    fetch_described,
    keep_description,
    kept_description,
)
from ftc.compiler.resolve.local_paths import (
    at,
    has_variable,
    is_file,
    is_path,
    read_pointer,
    relative,
)
from ftc.compiler.resolve.patches import patch_field
from ftc.compiler.resolve.rows.line_layout import find_other_layout
from ftc.compiler.resolve.rows.reader import Row, UnreadableError, find_other_kind, read_table
from ftc.compiler.resolve.rows.table import FORMATS, TableFile, find_json, inspect_file
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import FileFormat, Spec
from ftc.spec.sources import WholeSource
from ftc.spec.values.hub_page import find_repository

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_FIRST_CHARACTERS: Final = 200
#: What is between the names of files in one text; a name may hold a space.
_BETWEEN: Final = (re.compile("[,;+|]"), re.compile(r"[,;\s]+"))
_MOST_LISTED: Final = 1000
_MOST_NAMED: Final = 3


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
    """Find the file or fetch the data set; the spec or the extension gives its format."""
    name = source.source
    suffix = PurePosixPath(name).suffix.lower()
    hub = "/" in name and suffix not in FORMATS and not is_path(name, folder=folder)
    if hub:
        return _find_stream(source) if source.streaming else _find_data_set(source)
    path = at(name, folder=folder)
    if not is_file(path):
        return _no_file(spec, source, path, folder)
    try:
        pointer = read_pointer(path)
    except PermissionError as error:
        return data_faults.unreadable(source, error)
    if pointer is not None:
        return data_faults.pointed(source, pointer)
    chosen = source.format if source.format != "auto" else FORMATS.get(suffix)
    if chosen is None:
        return data_faults.no_format(source, path)
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
    """Choose a data set's files by the subset's folder, the split's name and one format.

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
    """Query the Hub for the files and fetch them, or use the cache if the Hub is unreachable."""
    found = _ask(data)
    if isinstance(found, Trouble):
        return _undescribed(data) or _explain(data, found)
    chosen = choose_files(list(found.files), data)
    if chosen is None:
        return _no_split(data, list(found.files))
    place = fetch_described(data.source, data.revision, found, chosen[0], "dataset")
    if isinstance(place, Trouble):
        return _explain(data, place)
    return _of_hub(place, chosen, found.commit)


def _ask(data: WholeSource) -> Repository | Trouble:
    """Return the Hub's description of a data set, or the last one that was stored.

    Of a commit that is enough; of a branch or tag it is where the Hub cannot be asked. What can no
    longer be had from the Hub can still be read in the cache, but not streamed.
    """
    kept = kept_description(data.source, data.revision, "dataset")
    if kept is not None and (is_pinned(data.revision) or is_offline()):
        return kept
    if is_offline():
        return OFFLINE
    found = describe(data.source, data.revision, "dataset")
    if isinstance(found, Trouble) and kept is not None and (found.passes or not data.streaming):
        return kept
    return found


def _find_stream(data: WholeSource) -> DataFiles | Finding:
    """Query the Hub and fetch the first rows of a few files, or use the cache."""
    source, found = data.source, _ask(data)
    if isinstance(found, Trouble):
        return _explain(data, found)
    chosen = choose_files(list(found.files), data)
    if chosen is None:
        return _no_split(data, list(found.files))
    names, kind = chosen
    if kind == "json":
        return _unstreamable(data, "json")
    try:
        sizes = {name: found.files[name] for name in names}
        first = fetch_first_rows(source, found.commit, sizes, kind)
    except WideTextError:
        return _unstreamable(data, "wide")
    except UnreadableError as error:
        return data_faults.broken(data, kind, error.reason)
    except ImportError:
        return data_faults.no_reader(data)
    if isinstance(first, Trouble):
        return _explain(data, first)
    keep_description(source, data.revision, found, "dataset")
    return replace(_of_hub(Path(), chosen, found.commit), paths=first.paths, first=first)


def _unstreamable(data: WholeSource, kind: Literal["json", "wide"]) -> Finding:
    return explanations.UNSTREAMABLE.finding(
        message=kind, pointer=data.at("streaming"), name=data.source
    )


def _undescribed(data: WholeSource) -> DataFiles | None:
    """Return the files that another tool downloaded, which may be incomplete."""
    commit = cached_commit(data.source, data.revision, "dataset")
    if commit is None:
        return None
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
        is_folder = stat.S_ISDIR(path.stat().st_mode)
        inside = _list_data(path.rglob("*")) if is_folder else []
    except PermissionError as error:
        return data_faults.unreadable(source, error)
    except (OSError, ValueError):  # missing, or a name that is invalid on any disk
        if matching := _match(path):
            return _several(spec, source, matching, folder, kind="pattern")
        if joined := _part_names(source.source, folder):
            return _several(spec, source, joined, folder, kind="joined")
        if any(map(_is_text, _glob(path))):
            return explanations.NO_FILE.finding(
                message="pattern", help="texts", pointer=source.at("source"), name=source.source
            )
        return _missing_file(spec, source, path, folder)
    if inside:
        return _several(spec, source, inside, folder, kind="folder")
    texts = is_folder and any(map(_is_text, islice(path.rglob("*"), _MOST_LISTED)))
    return explanations.NO_FILE.finding(
        message="folder" if is_folder else "irregular",
        help="texts" if texts else "folder",
        pointer=source.at("source"),
        name=source.source,
    )


def _part_names(text: str, folder: Path) -> list[Path]:
    """Return the files that one text names together, `a.csv, b.csv`; none for other texts."""
    for between in _BETWEEN:
        paths = [at(name.strip(), folder=folder) for name in between.split(text) if name.strip()]
        if len(paths) > 1 and all(map(is_file, paths)):
            return paths
    return []


def _match(pattern: Path) -> list[Path]:
    """Return the data files that match a name with wildcards; none for any other name."""
    return _list_data(_glob(pattern))


def _glob(pattern: Path) -> list[Path]:
    """Return the first files that match a pattern such as `*.txt`."""
    if not set(pattern.name) & set("*?["):
        return []
    with suppress(OSError, ValueError):
        return list(islice(pattern.parent.glob(pattern.name), _MOST_LISTED))
    return []


def _list_data(paths: Iterable[Path]) -> list[Path]:
    """Return those of the first paths that are data files."""
    first = islice(paths, _MOST_LISTED)
    return sorted(path for path in first if path.suffix.lower() in FORMATS and _has_rows(path))


def _is_text(path: Path) -> bool:
    """Return whether a file contains text, by its first bytes."""
    with suppress(OSError):
        if path.is_file() and not path.name.startswith("."):
            with path.open("rb") as file:
                start = file.read(_FIRST_CHARACTERS)
            return bool(start.strip()) and b"\0" not in start
    return False


def _several(
    spec: Spec,
    source: WholeSource,
    found: Sequence[Path],
    folder: Path,
    *,
    kind: Literal["folder", "pattern", "joined"],
) -> Finding:
    """Ask to name one file or a list of all files, and propose both."""
    names = [name for path in found if (name := relative(path, folder=folder))]
    chosen = choose_files(names, source)  # as of a data set of the Hub: the files of one split
    is_clear = len({_format(name) for name in names}) == 1
    return explanations.NO_FILE.finding(
        message=kind,
        help="one" if len(names) == 1 else "several",
        pointer=source.at("source"),
        fix=_name_all(spec, source, chosen[0]) if chosen and is_clear else (),
        name=source.source,
        files=names[:_MOST_NAMED],
        count=len(names),
    )


def _name_all(
    spec: Spec, source: WholeSource, names: Sequence[str]
) -> tuple[Mapping[str, Any], ...]:
    """Return the patch that names the file, or all files where there are several."""
    if len(names) == 1:
        return _rename(spec, source, names[0])
    if source.pointer != "/data" or not names:
        return ()
    listed = [{"source": name} for name in names]
    return (
        {"op": "add", "path": "/data/sources", "value": listed},
        {"op": "remove", "path": "/data/source"},
    )


def _missing_file(spec: Spec, source: WholeSource, path: Path, folder: Path) -> Finding:
    if (repository := find_repository(source.source, "dataset")) is not None:
        found = explanations.NO_FILE.finding(
            message="address",
            help="id",
            pointer=source.at("source"),
            fix=_rename(spec, source, repository),
            name=source.source,
            id=repository,
        )
        return replace(found, fix_safety="safe")
    if _ADDRESS.match(source.source):
        return explanations.NO_FILE.finding(
            message="address", help="address", pointer=source.at("source"), name=source.source
        )
    if has_variable(source.source):
        return explanations.NO_FILE.finding(
            help="variable", pointer=source.at("source"), name=source.source
        )
    suffixes = {*FORMATS, *([path.suffix.lower()] if source.format != "auto" else [])}
    name = None
    # a path from another machine: the file may have been copied beside the spec
    copied = folder / PureWindowsPath(source.source).name
    for meant in dict.fromkeys((path, copied)):
        if near := _find_near(meant, suffixes):
            name = relative(near, folder=folder)
            break
    return explanations.NO_FILE.finding(
        help="near" if name else "",
        pointer=source.at("source"),
        fix=_rename(spec, source, name) if name else (),
        name=source.source,
        near=name or "",
    )


def _find_near(path: Path, suffixes: Collection[str]) -> Path | None:
    """Return the data file whose stem is most similar to that of a missing file beside it."""
    try:
        beside = sorted(item for item in path.parent.iterdir() if item.suffix.lower() in suffixes)
    except OSError:
        return None
    stems = {item.stem: item for item in beside if _has_rows(item)}
    near = get_close_matches(path.stem, stems, n=1)
    return stems[near[0]] if near else None


def _has_rows(path: Path) -> bool:
    """Return whether a file may be data: an object of JSON is more likely a spec or a plan."""
    if path.suffix.lower() != ".json":
        return path.is_file()
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_FIRST_CHARACTERS).lstrip("\ufeff \t\r\n").startswith("[")
    return False


def _rename(spec: Spec, source: WholeSource, name: str) -> tuple[Mapping[str, Any], ...]:
    """Return the patch that names another file."""
    if source.pointer == "/data":
        return patch_field(spec, "data", "source", name)
    return ({"op": "replace", "path": source.at("source"), "value": name},)


def _no_split(data: WholeSource, names: Sequence[str]) -> Finding:
    files = [name for name in sorted(names) if PurePosixPath(name).suffix.lower() in FORMATS]
    return explanations.NO_SPLIT.finding(
        message="subset" if data.subset else "",
        help="" if files else "none",
        pointer=data.at("subset" if data.subset else "split"),
        name=data.source,
        split=data.split or "",
        subset=data.subset or "",
        files=files[:5],
    )


def _explain(data: WholeSource, trouble: Trouble) -> Finding:
    source = data.source
    if trouble.reason in ("missing", "revision"):
        return explanations.DATASET_NOT_FOUND.finding(
            message="revision" if data.revision else "",
            pointer=data.at("source"),
            name=source,
            revision=data.revision or "",
        )
    if trouble.reason == "gated":
        return explanations.GATED_DATASET.finding(
            pointer=data.at("source"), name=source, detail=trouble.detail
        )
    return explanations.DATASET_UNREACHABLE.finding(
        pointer=data.at("source"), name=source, detail=trouble.detail
    )


def inspect_files(source: WholeSource, found: DataFiles) -> list[TableFile] | Unknown:
    """Return the files with their formats, or Unknown if one is not a table."""
    if found.format != "parquet":
        for path in found.paths:
            if kind := find_other_kind(path):
                return Unknown(finding=data_faults.other_kind(source, kind, path))
    if found.format == "csv" and (shown := find_json(found.paths[0])):
        return Unknown(finding=data_faults.no_csv(source, shown))
    files = []
    for path in found.paths:
        file = inspect_file(path, found.format)
        if not isinstance(file, TableFile):
            return Unknown(finding=data_faults.binary(source, file))
        files.append(file)
    if found.format == "jsonl" and (other := find_other_layout(files[0])):
        return Unknown(finding=data_faults.other_layout(source, other))
    return files


def open_tables(
    files: Sequence[TableFile], repeated: Counter[str] | None = None
) -> tuple[tuple[str, ...], Iterator[Iterator[Row | None]]]:
    """Return the rows of each file; the first one names the columns.

    `repeated` counts the keys that objects have twice, as the rows are read.
    """
    first = read_table(files[0], repeated)
    others = (read_table(file, repeated).rows for file in files[1:])
    return first.columns, chain((first.rows,), others)


def read_again(files: Sequence[TableFile]) -> Iterator[Row | None]:
    """Return the rows from the first one, for a look before they are counted."""
    return chain.from_iterable(open_tables(files)[1])
