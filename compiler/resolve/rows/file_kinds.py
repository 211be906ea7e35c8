"""What a file is by its first bytes, where its name says that it holds rows of text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

FileKind = Literal[
    "gzip", "bzip2", "xz", "zstd", "zip or xlsx", "xls", "PDF", "SQLite", "parquet", "html", "xml"
]

#: Compressed files, which hold the rows once they are unpacked.
PACKED: Final = frozenset({"gzip", "bzip2", "xz", "zstd"})
_SIGNATURES: Final[Mapping[bytes, FileKind]] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip or xlsx",
    b"\xd0\xcf\x11\xe0": "xls",
    b"%PDF-": "PDF",
    b"SQLite format 3\0": "SQLite",
    b"PAR1": "parquet",
}
_LOOKED_AT: Final = 512
_BOM: Final = b"\xef\xbb\xbf"


def find_other_kind(path: Path) -> FileKind | None:
    """Return the kind of a file that is no table of text, None where its first bytes show none."""
    with path.open("rb") as stream:
        start = stream.read(_LOOKED_AT)
    for signature, kind in _SIGNATURES.items():
        if start.startswith(signature):
            return kind
    text = start.removeprefix(_BOM).lstrip().lower()
    if text.startswith((b"<!doctype html", b"<html")):
        return "html"
    return "xml" if text.startswith(b"<?xml") else None
