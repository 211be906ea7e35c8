"""Finds images in columns without a role, which training would ignore."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.vision.images import find_inside
from ftc.spec.columns.usual_names import IMAGE_NAMES, usual_name

#: How files of images begin.
_BEGINNINGS: Final = (*(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*"),)
_WEBP: Final = b"WEBP"  # after the eight bytes that audio and videos may begin with as well
#: How texts that encode an image begin: data URLs, and PNG and JPEG in base64.
_ENCODED: Final = ("data:image/", "iVBORw0KGgo", "/9j/")
_ENDINGS: Final = (
    *(".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".heic", ".avif"),
)
_ADDRESSES: Final = ("http://", "https://")
_NAMES: Final = ("bytes", "path", "image", "url", "file_name")


@dataclass(slots=True, kw_only=True)
class UnseenImages:
    """Counts the rows whose cells hold images, for each of the columns; `folder` has the files.

    `seeks` is set once a text was taken for the path of a file.
    """

    columns: Sequence[str]
    folder: Path
    rows: Counter[str] = field(default_factory=Counter)
    seeks: bool = False

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows unchanged, and count them."""
        usual = {name: usual_name(name) in IMAGE_NAMES for name in self.columns}
        for row in rows:
            for name, named in usual.items() if row else ():
                if row and self._holds(row.get(name), named=named):
                    self.rows[name] += 1
            yield row

    def found(self) -> dict[str, Any]:
        """Return the facts found in the rows."""
        return {"unseen_images": dict(sorted(self.rows.items()))}

    def _holds(self, cell: Any, *, named: bool) -> bool:
        """Return whether a cell holds an image; a path must be a file unless the column is `named`.

        An address may be anything, so only that of a named column counts.
        """
        if isinstance(cell, bytes):
            return cell.startswith(_BEGINNINGS) or cell.startswith(_WEBP, 8)
        if isinstance(cell, dict):
            return any(self._holds(cell.get(name), named=named) for name in _NAMES)
        if isinstance(cell, str) and named and cell.startswith("["):
            cell = _load(cell)
        if isinstance(cell, list):
            return any(self._holds(each, named=named) for each in cell)
        return isinstance(cell, str) and self._names(cell.strip(), named=named)

    def _names(self, text: str, *, named: bool) -> bool:
        ends = text.lower().endswith(_ENDINGS)
        if text.startswith(_ENCODED) or (named and (ends or text.lower().startswith(_ADDRESSES))):
            return True
        if not text or not (ends or named):
            return False
        self.seeks = True
        return isinstance(find_inside(self.folder.resolve(), text), Path)


def _load(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
