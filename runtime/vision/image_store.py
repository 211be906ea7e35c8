"""Stores images that are not files: bytes in a data file, and downloads.

Each is stored unchanged in a file named after a hash. Training opens one image at a time;
from a parquet file it would have to read a whole group of rows.
"""

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from ..files import read_json, write_json
from ..read.image_rows import Reference, StoredImage
from ..read.rows import Fault
from .images import MOST_BYTES, measure, reading, refer

FOLDER: Final = "images"  # in run/data
NOTE: Final = "images.json"  # in run/data: where the other images are
_SECONDS: Final = 30
_AGENT: Final = {"User-Agent": "Mozilla/5.0 (compatible; fine-tuning data)"}


def keep_bytes(data: bytes, *, store: Path) -> StoredImage:
    """Keep an image; return its reference, or its fault instead."""
    reference = refer(data)
    if "stored" in reference:
        _write(store / reference["stored"], lambda: data)
    return reference


def keep_download(reference: Reference, *, store: Path) -> Reference | Fault:
    """Keep the image at an address; return its reference, or what is wrong.

    An image is downloaded once; if the download is not an image, the next run tries again.
    """
    url = reference["url"]
    name = sha256(url.encode()).hexdigest()
    place = store / name
    size = measure(place) if place.is_file() else "image_missing"
    if isinstance(size, str):
        try:
            data = _download(url)
        except (OSError, ValueError, HTTPException):
            return "image_missing"
        size = measure(data)
        if isinstance(size, str):
            return size
        place.unlink(missing_ok=True)
        _write(place, lambda: data)
    return {"stored": name, "width": size[0], "height": size[1]}


def find_store(data: Path) -> Path:
    """Return the folder of images that are kept; `data` is run/data."""
    return data / FOLDER


def find_root(paths: Iterable[Path]) -> Path:
    """Return the folder that all of these files are in or below."""
    return Path(os.path.commonpath([path.resolve().parent for path in paths]))


def note_folder(data: Path, folder: Path, rows: Iterable[Path] = ()) -> Path:
    """Write the folder, relative to run/data, and the names of the image files; return the note.

    `rows` are the files of the splits, whose rows have the references.
    """
    names = sorted({name for path in rows for name in _list_names(path)})
    write_json(data / NOTE, {"folder": os.path.relpath(folder, data), "files": names})
    return data / NOTE


def _list_names(rows: Path) -> Iterator[str]:
    """Yield the paths in the references of a split's rows."""
    with rows.open(encoding="utf-8") as file:
        for line in file:
            references = json.loads(line).get("images") or "[]"
            yield from (each["path"] for each in json.loads(references) if "path" in each)


def list_pictures(data: Path) -> list[Path]:
    """Return the files of the images that rows refer to; none before prepare.py noted them.

    They are inputs of each stage that reads them: another picture of the same name is other data.
    """
    if not (data / NOTE).is_file():
        return []
    noted = read_json(data / NOTE)
    return [Path(os.path.normpath(data / noted["folder"] / name)) for name in noted["files"]]


def find_images(data: Path) -> Callable[[Reference], Any]:
    """Return a function that opens the image of a reference; `data` is run/data."""
    noted = read_json(data / NOTE)
    return reading(data / noted["folder"], find_store(data))


def _download(url: str) -> bytes:
    """Return what an address of http or https returns; `read_with_images` refuses all others."""
    request = Request(url, headers=_AGENT)  # noqa: S310 - see above
    with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - see above
        data: bytes = answer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(url)
    return data


def _write(path: Path, make: Callable[[], bytes]) -> None:
    """Write a file that is not there, whole or not at all: several processes may write it."""
    if path.is_file():
        return
    data = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    Path(name).replace(path)
