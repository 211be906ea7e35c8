"""Checks the end of an image file: whether it is complete, and what follows the pixels.

Standard library only; no pixel is read.
"""

import os
from collections.abc import Iterator
from typing import IO, Final

_TAIL: Final = 4096  # some programs write zeros or a few bytes after the end of a file
_JPEG_END: Final = b"\xff\xd9"  # no two bytes of compressed pixels are these
_GIF_END: Final = b";"
_PNG_HEAD: Final = 8
_TEXTS: Final = (b"tEXt", b"zTXt", b"iTXt")
#: The PNG text chunks that may contain the EXIF orientation.
_TURNING: Final = (b"Raw profile type exif\0", b"XML:com.adobe.xmp\0")


def is_complete_file(file: IO[bytes], kind: str) -> bool:
    """Return whether a file is complete; `kind` is its format in Pillow.

    True for formats whose end has no mark, such as TIFF. Pillow itself opens no incomplete WebP.
    """
    size = file.seek(0, os.SEEK_END)
    if kind in ("JPEG", "MPO", "GIF"):
        file.seek(max(0, size - _TAIL))
        tail = file.read().rstrip(b"\0")
        return tail.endswith(_GIF_END) if kind == "GIF" else _JPEG_END in tail
    if kind == "PNG":
        return any(name == b"IEND" for name, _, _ in _list_chunks(file, size))
    if kind == "BMP":
        file.seek(2)
        return int.from_bytes(file.read(4), "little") <= size
    return True


def stores_orientation_late(file: IO[bytes]) -> bool:
    """Return whether a PNG stores its orientation after the pixels.

    Pillow has to read all pixels to find it.
    """
    size, seen = file.seek(0, os.SEEK_END), False
    for name, place, length in _list_chunks(file, size):
        seen = seen or name == b"IDAT"
        if seen and name == b"eXIf":
            return True
        if seen and name in _TEXTS:
            file.seek(place)
            if file.read(min(length, 32)).startswith(_TURNING):
                return True
    return False


def _list_chunks(file: IO[bytes], size: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name, the place and the length of each whole chunk of a PNG."""
    place = _PNG_HEAD
    while place + 12 <= size:
        file.seek(place)
        head = file.read(8)
        length = int.from_bytes(head[:4], "big")
        if place + 12 + length > size:
            return
        yield head[4:], place + 8, length
        place += 12 + length
