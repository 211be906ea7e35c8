"""Videos and audio in columns that have no role: training would use the rows without them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ftc.compiler.resolve.rows.reader import Row
from ftc.runtime.read.image_rows import find_clip_file
from ftc.spec.columns.usual_names import usual_name

Kind = Literal["video", "audio"]

#: The usual names of columns of videos and of audio, alone or before what is written of them.
_NAMED: Final = re.compile(
    r"(?:(videos?|clips?|movies?)|(audios?|speech|sounds?|recordings?|waveform|wavs?))"
    r"(?:_(?:files?|file_?names?|paths?|urls?|uris?|ids?|bytes))?"
)
#: How files begin: the bytes, and at which place they are.
_BEGINNINGS: Final[Sequence[tuple[Kind, int, tuple[bytes, ...]]]] = (
    ("audio", 8, (b"WAVE", b"M4A ", b"AIFF")),
    ("video", 4, (b"ftyp",)),
    ("video", 8, (b"AVI ",)),
    ("video", 0, (b"\x1aE\xdf\xa3", b"\0\0\x01\xba", b"FLV")),
    ("audio", 0, (b"fLaC", b"OggS", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1")),
)
_KEYS: Final = ("bytes", "path", "video", "audio", "url", "uri", "src", "file", "file_name")
#: The keys beside an array of audio in the format of `datasets`.
_RATES: Final = frozenset({"sampling_rate", "sample_rate"})
#: A name of a file without its ending, an address or an identifier: one word with a digit, a
#: slash or an underscore.
_REFERENCE: Final = re.compile(r"(?=\S*[\d/_])\S{4,}")


@dataclass(slots=True, kw_only=True)
class UnseenClips:
    """Counts the rows whose cells hold a video or audio, for each of the columns."""

    columns: Sequence[str]
    videos: Counter[str] = field(default_factory=Counter)
    audio: Counter[str] = field(default_factory=Counter)

    def watch(self, rows: Iterator[Row | None]) -> Iterator[Row | None]:
        """Yield the rows as they are, and count them."""
        named = {name: _find_named(name) for name in self.columns}
        for row in rows:
            for name, kind in named.items() if row else ():
                held = _find_clip(row.get(name), named=kind) if row else None
                if held is not None:
                    (self.videos if held == "video" else self.audio)[name] += 1
            yield row

    def found(self) -> dict[str, Any]:
        """Return the facts that the rows show."""
        counts = {"unseen_videos": self.videos, "unseen_audio": self.audio}
        return {name: dict(sorted(rows.items())) for name, rows in counts.items()}


def _find_named(column: str) -> Kind | None:
    match = _NAMED.fullmatch(usual_name(column))
    if match is None:
        return None
    return "video" if match[1] else "audio"


def _find_clip(cell: Any, *, named: Kind | None) -> Kind | None:
    """Return what a cell holds; what has no ending counts in a column that is `named`."""
    if isinstance(cell, bytes):
        return _find_beginning(cell)
    if isinstance(cell, dict):
        if cell.keys() & _RATES:
            return "audio"
        cell = [cell.get(name) for name in _KEYS]
    if isinstance(cell, list):
        return next(filter(None, (_find_clip(each, named=named) for each in cell)), None)
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if "\n" not in text and (kind := find_clip_file(text.strip("[]'\""))):
        return kind
    return named if named is not None and _REFERENCE.fullmatch(text) else None


def _find_beginning(data: bytes) -> Kind | None:
    for kind, place, signs in _BEGINNINGS:
        if data.startswith(signs, place):
            return kind
    return None
