"""The definitions of misencoded, repaired, blank and duplicate text."""

import pytest

from ftc.compiler.resolve.cleaning import (
    clean_text,
    fold,
    has_control,
    is_blank,
    is_misencoded,
    repair_encoding,
)

SOUND = [
    "plain",
    "¿Dónde está mi tarjeta? Ñandú, çedilla, àèéíòóúïü·l",
    "« à l'été »",
    "naïve café — “quoted” … 5 €",
    "Größe, Århus, ÅNGSTRÖM, SÃO PAULO",
    "日本語 русский ελληνικά 👍",
    "CAFÉ\u2019S À LA CARTE",
]


def misread(text: str, wrong: str) -> str:
    """Decode UTF-8 byte by byte in another encoding, undefined bytes as control characters."""
    letters = (bytes([byte]) for byte in text.encode("utf-8"))
    return "".join(letter.decode(wrong, "ignore") or letter.decode("latin-1") for letter in letters)


@pytest.mark.parametrize("text", SOUND)
def test_sound_text_is_left_alone(text: str) -> None:
    """Accents, quotes and other scripts are no damage."""
    assert not is_misencoded(text)
    assert repair_encoding(text) == text


@pytest.mark.parametrize("text", [text for text in SOUND if not text.isascii()])
@pytest.mark.parametrize("wrong", ["cp1252", "latin-1"])
def test_text_read_in_the_wrong_encoding_is_repaired(text: str, wrong: str) -> None:
    """UTF-8 read as cp1252 or latin-1 comes back, where every byte survived the reading."""
    damaged = misread(text, wrong)
    if is_misencoded(damaged):
        assert repair_encoding(damaged) == text
    else:
        assert any(ord(letter) > 0x17F for letter in text), "only other scripts may be missed"


def test_lost_letters_are_counted_and_kept() -> None:
    """U+FFFD tells that a letter is gone; nothing brings it back."""
    assert is_misencoded("caf\ufffd")
    assert repair_encoding("caf\ufffd") == "caf\ufffd"
    assert repair_encoding("cafÃ© 日本") == "cafÃ© 日本"


def test_cleaning_repairs_only_when_asked_and_always_strips() -> None:
    """White space at the ends goes in either case."""
    assert clean_text(" cafÃ©\n", repair=True) == "café"
    assert clean_text(" cafÃ©\n", repair=False) == "cafÃ©"


def test_blank_and_folded() -> None:
    """No-break spaces are blank; white space and Unicode forms make no difference."""
    assert is_blank(" \n\u00a0\t")
    assert not is_blank(".")
    assert fold("a  b cafe\u0301") == fold(" a\nb café")
    assert fold("A") != fold("a")


def test_control_characters() -> None:
    """Tabs and line ends are text; other control characters and a byte order mark are damage."""
    assert not has_control("one\ttwo\r\nthree café")
    for damage in ("a\x00b", "\x1b[31m", "\ufeffstart"):
        assert has_control(damage)
