"""The text lost by encoding and decoding, and harmless differences of notation."""

import pytest

from ftc.runtime.tokenizer.round_trip import compare_rows, describe, find_lost


@pytest.mark.parametrize(
    ("text", "back", "lost"),
    [
        ("the order\nis late", "theorderislate", {" ", "\n"}),
        ("the order is late", "the<unk>order<unk>is<unk>late", {" "}),
        ("1 + 2 = 3", "1+2=3", {" "}),
        ("one\ntwo", "one two", {"\n"}),
        ("one\n\n\ntwo", "one\ntwo", {"\n\n"}),
        ("if x:\n    return", "if x:\n return", {"  "}),
        ("a\tb", "a b", {"\t"}),
        ("a \U0001f600 b", "a <unk> b", {"\U0001f600"}),
        ("a \U0001f600 b", "a  b", {"\U0001f600"}),
        ("\u5927\u5bb6 hi", "hi", {"\u5927", "\u5bb6"}),
        ("caf\u00e9 ol\u00e9", "caf ol", {"\u00e9"}),
    ],
)
def test_what_is_lost(text: str, back: str, lost: set[str]) -> None:
    """White space by what it keeps apart, every other character by itself."""
    assert find_lost(text, back) == lost


@pytest.mark.parametrize(
    ("text", "back"),
    [
        ("the same", "the same"),
        ("the order", " the order"),
        (" trimmed\n", "trimmed"),
        ("caf\u00e9", "cafe\u0301"),
        ("CAF\u00c9 Stra\u00dfe", "cafe strasse"),
        ("\ufb01n \u00bd \uff21", "fin 1\u20442 A"),
        ("wide\u3000and\u00a0hard", "wide and hard"),
        ("one\r\ntwo", "one\ntwo"),
        ("zero\u200bwidth \ufeffmark \x07bell", "zerowidth mark bell"),
        ("Hello , it 's here !", "Hello, it's here!"),
        ("don't stop.", "don ' t stop ."),
        ("heart \u2764\ufe0f", "heart \u2764"),
    ],
)
def test_what_is_only_normalised(text: str, back: str) -> None:
    """As honest tokenizers do: form, case, accents, edges, invisible signs, spaces at a comma."""
    assert find_lost(text, back) == frozenset()


def test_rows_are_counted() -> None:
    """A row counts once, however many of its texts lose something, and is compared with another."""
    rows = [["a b", "c d"], ["a", "b"], ["\u00f1", "x y"]]
    letters = {"\u00f1": "?"}

    found = compare_rows(
        rows,
        encode=lambda texts: [[ord(letter) for letter in text if letter != " "] for text in texts],
        decode=lambda ids: "".join(letters.get(chr(number), chr(number)) for number in ids),
        expect=lambda texts: [[ord(letter) for letter in text] for text in texts],
    )

    assert (found.rows, found.torn_rows, found.other_rows) == (3, 2, 2)
    assert found.lost == {" ": 2, "\u00f1": 1}
    assert describe(found.lost, 1) == "spaces between words and others"
    assert describe(found.lost, 2) == "spaces between words, `\u00f1` (U+00F1)"


def test_no_row_is_counted_as_none() -> None:
    """Whoever calls it can tell that nothing was compared."""
    found = compare_rows([], encode=lambda _: [], decode=lambda _: "")

    assert (found.rows, found.torn_rows, found.other_rows, found.lost) == (0, 0, None, {})
