"""Secrets and personal data in rows: their kinds and the rows, never the text itself."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ftc.compiler.resolve.rows.example import Example

#: Kinds of secrets: a text in each of them, searched first for speed, and the pattern.
_SECRETS: Final[tuple[tuple[str, str, re.Pattern[str]], ...]] = tuple(
    (kind, sign, re.compile(pattern))
    for kind, sign, pattern in (
        (
            "private_key",
            "PRIVATE KEY",
            r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----\s*\S{40}",
        ),
        ("api_key", "AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
        ("api_key", "AIza", r"\bAIza[0-9A-Za-z_-]{35}(?![\w-])"),
        ("api_key", "sk-", r"(?<![\w-])sk-(?:[a-z]{2,5}\d*-)*[A-Za-z0-9_]{20,}"),
        ("api_key", "_live_", r"\b[sr]k_live_[0-9A-Za-z]{16,}"),
        ("access_token", "gh", r"\bgh[pousr]_[0-9A-Za-z]{36}\b"),
        ("access_token", "github_pat_", r"\bgithub_pat_\w{50,}"),
        ("access_token", "glpat-", r"\bglpat-[\w-]{20,}"),
        ("access_token", "hf_", r"\bhf_[0-9A-Za-z]{30,}\b"),
        ("access_token", "xox", r"\bxox[abeoprs]-[0-9A-Za-z-]{20,}"),
        ("access_token", "eyJ", r"\beyJ[\w-]{15,}\.eyJ[\w-]{15,}\.[\w-]{20,}"),
        ("password", "://", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,64}:([^\s:/@]{4,64})@[\w.-]+"),
    )
)
#: Placeholders for secrets in documentation.
_PLACEHOLDER: Final = re.compile(
    r"example|sample|dummy|placeholder|changeme|redacted|passw|secret|your|token|user|hidden"
    r"|1234|abcd|xxx|\*{3}|\.{3}|\$|<|>|\{|\}|%",
    re.IGNORECASE,
)
_FEWEST_SIGNS: Final = 6  # different characters of a random key

_EMAIL: Final = re.compile(
    r"(?<![\w.+/:-])[A-Za-z0-9][\w.+-]{0,63}@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,12})\b"
)
#: Names reserved by RFC 2606, and senders that are not persons.
_NO_HOST: Final = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local)(?:\.|$)|(?:^|\.)(?:domain|email|company)\.com$",
    re.IGNORECASE,
)
_NO_PERSON: Final = re.compile(
    r"(?:no-?reply|info|support|contact|help|admin|sales|user|name|you|someone)[@+]", re.IGNORECASE
)
_PHONE: Final = re.compile(
    r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
    r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}-\d{3}-\d{4})(?![\w-])"
)
_CARD: Final = re.compile(
    r"(?<![\w.-])(?:3[47]\d{2}([ -]?)\d{6}\1\d{5}"
    r"|(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6011|65\d{2})([ -]?)\d{4}\2\d{4}\2\d{4})(?![\w-])"
)
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
#: Test numbers of payment services, and the IBANs of manuals.
_PRINTED: Final = frozenset(
    {
        "4242424242424242", "4111111111111111", "4012888888881881", "5555555555554444",
        "5105105105105100", "378282246310005", "6011111111111117", "4000056655665556",
        "GB29NWBK60161331926819", "GB82WEST12345698765432", "DE89370400440532013000",
        "FR1420041010050500013M02606", "ES9121000418450200051332", "NL91ABNA0417164300",
    }
)  # fmt: skip
#: Every telephone, card or account number has digits close together.
_LONG_NUMBER: Final = re.compile(r"\d(?:[ .()-]{0,2}\d){6}")
_MOST_ROWS: Final = 2000
_MOST_CHARS: Final = 20_000


def find_secrets(examples: Sequence[Example]) -> Mapping[str, tuple[int, ...]]:
    """Return the indices of the examples that contain each kind of secret."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, example in enumerate(examples):
        text = _text(example)
        kinds = {
            kind for kind, sign, pattern in _SECRETS if sign in text and _has_secret(pattern, text)
        }
        for kind in kinds:
            places[kind].append(place)
    return {kind: tuple(found) for kind, found in sorted(places.items())}


def find_personal(examples: Sequence[Example]) -> tuple[Mapping[str, tuple[int, ...]], int]:
    """Return the indices for each kind of personal data, and the number of examined examples."""
    some = range(0, len(examples), max(1, -(-len(examples) // _MOST_ROWS)))
    places: defaultdict[str, list[int]] = defaultdict(list)
    shaped = 0
    for place in some:
        text = _text(examples[place])
        kinds = {"email": "@" in text and _has_email(text)}
        if _LONG_NUMBER.search(text):
            cards = _list_cards(text)
            shaped += bool(cards)
            card = any(map(_passes_luhn, cards))
            kinds |= {"phone": _has_phone(text), "card": card, "iban": _has_iban(text)}
        for kind in (kind for kind, holds in kinds.items() if holds):
            places[kind].append(place)
    if 2 * len(places["card"]) <= shaped:  # one in ten numbers of any kind has the check digit
        del places["card"]
    return {kind: tuple(found) for kind, found in sorted(places.items())}, len(some)


def _text(example: Example) -> str:
    return "\n".join([text for _, text in example.turns])[:_MOST_CHARS]


def _has_secret(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a match is a secret and not a placeholder."""
    for match in pattern.finditer(text):
        secret = match[1] if match.re.groups else match[0]
        if len(set(secret)) >= min(_FEWEST_SIGNS, len(secret)) and not _PLACEHOLDER.search(secret):
            return True
    return False


def _has_email(text: str) -> bool:
    found = (match for match in _EMAIL.finditer(text) if not _NO_PERSON.match(match[0]))
    return any(not _NO_HOST.search(match[1]) for match in found)


def _has_phone(text: str) -> bool:
    numbers = (_digits(match[0]) for match in _PHONE.finditer(text))
    return any(_PHONE_MIN <= len(n) <= _PHONE_MAX and "555" not in n[-7:-4] for n in numbers)


_PHONE_MIN: Final = 9
_PHONE_MAX: Final = 15


def _list_cards(text: str) -> set[str]:
    """Return the numbers in the form of a card, except those of manuals."""
    return {_digits(match[0]) for match in _CARD.finditer(text)} - _PRINTED


def _passes_luhn(number: str) -> bool:
    doubled = (int(digit) * 2 for digit in number[-2::-2])
    total = sum(map(int, number[-1::-2])) + sum(n - 9 if n > 9 else n for n in doubled)  # noqa: PLR2004
    return total % 10 == 0 and len(set(number)) > 3  # noqa: PLR2004 - 4444 4444 4444 4448


def _has_iban(text: str) -> bool:
    return any(_passes_97(match[0].replace(" ", "")) for match in _IBAN.finditer(text))


def _passes_97(iban: str) -> bool:
    """Return whether an IBAN has its check digits (ISO 7064, modulo 97)."""
    if iban in _PRINTED or not iban.isascii():
        return False
    return int("".join(str(int(sign, 36)) for sign in iban[4:] + iban[:4])) % 97 == 1


def _digits(text: str) -> str:
    return "".join(_only_digits(text))


def _only_digits(text: str) -> Iterator[str]:
    return (sign for sign in text if sign in "0123456789")
