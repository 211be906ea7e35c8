"""What cleaning means: the definitions of clean, blank, misencoded and duplicate text.

`prepare.py` of every bundle applies the same ones in the same order to each row: repair the
encoding (where the spec asks for it), strip, set blank rows aside, then duplicates.
"""

import re
import unicodedata
from typing import Final


def _undo_table() -> dict[int, int]:
    """Map each character that cp1252 has for the bytes 0x80-0x9F back to its byte."""
    pairs = ((byte, bytes([byte]).decode("cp1252", "ignore")) for byte in range(0x80, 0xA0))
    return {ord(letter): byte for byte, letter in pairs if letter}


_CP1252_BYTES: Final = _undo_table()
_CONTINUATION: Final = "".join(map(chr, [*range(0x80, 0xC0), *_CP1252_BYTES]))

#: UTF-8 read as cp1252 or latin-1: the lead bytes of accented Latin, Greek and Cyrillic letters,
#: of punctuation and of emoji, each with the continuation bytes it needs; or U+FFFD.
MISENCODED: Final = re.compile(
    f"[ÂÃÄÅÎÏÐÑ][{_CONTINUATION}]|[âï][{_CONTINUATION}]{{2}}|ð[{_CONTINUATION}]{{3}}|\ufffd"
)

#: What every misencoded sequence begins with: one class of characters, searched four times faster.
_LEADS: Final = re.compile("[ÂÃÄÅÎÏÐÑâïð\ufffd]")

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")


def is_whole(text: str) -> bool:
    """Tell whether an encoding has the text; JSON can hold half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def is_misencoded(text: str) -> bool:
    """Tell whether the text holds mojibake or a character that was lost to a wrong encoding."""
    return not text.isascii() and bool(_LEADS.search(text) and MISENCODED.search(text))


def repair_encoding(text: str) -> str:
    """Return the text read as UTF-8 again where that leaves fewer misencoded sequences in it.

    The inverse of decoding UTF-8 bytes as cp1252, with latin-1 for the five bytes that cp1252
    leaves undefined. Text that is sound, or damaged beyond that, comes back unchanged.
    """
    if not is_misencoded(text):
        return text
    try:
        repaired = text.translate(_CP1252_BYTES).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
    return repaired if _damage(repaired) < _damage(text) else text


def clean_text(text: str, *, repair: bool) -> str:
    """Return the text as it is trained on: repaired where asked for, and stripped."""
    return (repair_encoding(text) if repair and not text.isascii() else text).strip()


def has_control(text: str) -> bool:
    """Tell whether the text holds a control character other than tab and line ends, or a BOM."""
    return not text.isprintable() and _CONTROL.search(text) is not None


def is_blank(text: str) -> bool:
    """Tell whether nothing but white space is left: a row is blank if a needed text is."""
    return not text.strip()


def fold(text: str) -> str:
    """Return the form by which texts are compared: NFC, every run of white space one space."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def _damage(text: str) -> int:
    return len(MISENCODED.findall(text))
