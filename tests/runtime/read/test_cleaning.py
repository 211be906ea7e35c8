"""The definitions of misencoded, repaired, blank and duplicate text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftc.runtime.read.cleaning import (
    clean_text,
    fold,
    is_blank,
    is_misencoded,
    is_whole,
    key_of,
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


@pytest.mark.parametrize("text", ["one\r\n\r\ntwo", "one\r\rtwo", "one\n\rtwo"])
def test_lines_end_with_a_line_feed(text: str) -> None:
    """The model would learn to write carriage returns."""
    assert clean_text(text, repair=False) == "one\n\ntwo"


def test_blank_and_folded() -> None:
    """No-break spaces are blank; white space and Unicode forms make no difference."""
    assert is_blank(" \n\u00a0\t")
    assert not is_blank(".")
    assert fold("a  b cafe\u0301") == fold(" a\nb café")
    assert fold("A") != fold("a")


@given(text=st.text(max_size=8), half=st.sampled_from(["\ud83d", "\udc00"]))
def test_half_of_a_surrogate_pair_is_not_whole(text: str, half: str) -> None:
    """JSON can hold it, and no tokenizer reads it."""
    assert is_whole(text)
    assert not is_whole(f"{text}{half}x")


@given(text=st.text())
def test_cleaning_leaves_no_white_space_and_repairs_once(text: str) -> None:
    """A cleaned text is stripped, and a repair removes misencoded sequences or does nothing."""
    assert clean_text(text, repair=False) == re.sub("\r\n?", "\n", text).strip()
    repaired = repair_encoding(text)
    assert repaired == text or len(repaired) < len(text)


def test_keys_are_stable() -> None:
    """The key of a text decides its split, so it must not change between versions."""
    assert key_of("abc") == 0xD8BB14D833D59559
