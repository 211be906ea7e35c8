"""Cleans texts: repairs their encoding, strips them, and folds them to compare them.

The compiler counts rows with these functions, and prepare.py cleans rows with them. Standard
library only.
"""

import re
import unicodedata
from hashlib import blake2b
from typing import Final

#: The characters that cp1252 has for bytes between 0x80 and 0x9F, each with its byte.
_CP1252_BYTES: Final = {
    ord(letter): letter.encode("cp1252")[0]
    for letter in bytes(range(0x80, 0xA0)).decode("cp1252", "ignore")
}
_CONTINUATION: Final = "".join(map(chr, [*range(0x80, 0xC0), *_CP1252_BYTES]))

#: UTF-8 read as cp1252 or latin-1: the lead bytes of accented Latin, Greek and Cyrillic letters,
#: of punctuation and of emoji, each with the continuation bytes it needs; or U+FFFD.
MISENCODED: Final = re.compile(
    f"[ÂÃÄÅÎÏÐÑ][{_CONTINUATION}]|[âï][{_CONTINUATION}]{{2}}|ð[{_CONTINUATION}]{{3}}|\ufffd"
)
#: The first characters of all these sequences: one class of characters is searched faster.
_LEADS: Final = re.compile("[ÂÃÄÅÎÏÐÑâïð\ufffd]")


def is_whole(text: str) -> bool:
    """Return whether the text can be encoded; JSON can hold half of a surrogate pair."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def is_misencoded(text: str) -> bool:
    """Return whether the text holds mojibake or a character that a wrong encoding lost."""
    return not text.isascii() and bool(_LEADS.search(text) and MISENCODED.search(text))


def repair_encoding(text: str) -> str:
    """Return the text read as UTF-8 again if it then has fewer misencoded sequences.

    This is the inverse of decoding UTF-8 bytes as cp1252, with latin-1 for the five bytes that
    cp1252 does not define. Other text comes back unchanged.
    """
    if not is_misencoded(text):
        return text
    try:
        repaired = text.translate(_CP1252_BYTES).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text
    return repaired if _count_damage(repaired) < _count_damage(text) else text


def clean_text(text: str, *, repair: bool) -> str:
    """Return the text as it is trained on: repaired if `repair` is set, and stripped.

    Line ends become a single line feed.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (repair_encoding(text) if repair and not text.isascii() else text).strip()


def is_blank(text: str) -> bool:
    """Return whether the text is empty or white space."""
    return not text.strip()


def fold(text: str) -> str:
    """Return the form by which texts are compared: NFC, every run of white space one space."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split())


def key_of(text: str) -> int:
    """Return a 64-bit hash; among a million texts the chance of a collision is 1 in 40 million."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _count_damage(text: str) -> int:
    return len(MISENCODED.findall(text))
