"""The assistant's sentences in three languages, from catalogues."""

import json
import locale
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from string import Formatter
from typing import Any, Final, Literal, get_args

from ftc.spec.message import Message, name_language
from ftc.spec.schema import fields

Language = Literal["en", "ca", "es"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
_GIBI: Final = 1024**3
_MEBI: Final = 1024**2
_HOUR: Final = 3600
_MINUTE: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """Returns sentences of the catalogue; each key has a sentence in every language."""

    language: Language = "en"

    def say(self, key: str, **values: Any) -> str:
        """Return a sentence with its values; raises KeyError for a key that does not exist.

        `{rows:row|rows}` becomes the first word for one, and the second for any other number.
        """
        shown = {name: (value, self.show(value)) for name, value in values.items()}
        return _Sentence().vformat(read_catalogue(self.language)[key], (), shown)

    def ask(self, pointer: str) -> str:
        """Return the question of a field."""
        return self._of_field(pointer, "ask")

    def why(self, pointer: str) -> str:
        """Return the reason for a field's question."""
        return self._of_field(pointer, "why")

    def label(self, pointer: str, value: str) -> str:
        """Return the label of an answer to a field's question: the value, perhaps with words."""
        words = read_catalogue(self.language).get(f"option.{pointer}.{value}")
        return value if words is None else f"{value} ({words})"

    def show(self, value: Any) -> str:
        """Return a value in the language's format: `1,234` or `1.234`."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return str(value)
        if isinstance(value, float) and value == int(value):
            value = int(value)
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
        return text if self.language == "en" else text.translate(str.maketrans(",.", ".,"))

    def percent(self, share: float) -> str:
        """Return a share as a percentage with one decimal: `2.8%`, or `2,8 %`."""
        space = "" if self.language == "en" else " "
        return f"{self.show(round(share * 100, 1))}{space}%"

    def size(self, count_bytes: int) -> str:
        """Return a size in GiB, or in MiB below one."""
        if abs(count_bytes) < _GIBI:
            return f"{self.show(round(count_bytes / _MEBI))} MiB"
        return f"{self.show(round(count_bytes / _GIBI, 1))} GiB"

    def duration(self, seconds: float) -> str:
        """Return a rounded duration, in seconds, minutes or hours."""
        if seconds < 2 * _MINUTE:
            return self.say("time.seconds", count=max(1, round(seconds)))
        if seconds < 2 * _HOUR:
            return self.say("time.minutes", count=round(seconds / _MINUTE))
        return self.say("time.hours", count=round(seconds / _HOUR, 1))

    def name_language(self, code: str) -> str:
        """Return the name of a language, or its code if the name is unknown."""
        name = name_language(code)
        return name.render(self.language) if isinstance(name, Message) else name

    def _of_field(self, pointer: str, key: str) -> str:
        if self.language == "en":
            return str(_questions()[pointer][key])
        return read_catalogue(self.language)[f"field.{pointer}.{key}"]


class _Sentence(Formatter):
    """Fills in values that have their text with them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return the value's text, or the word that fits the number."""
        number, text = value
        one, bar, other = format_spec.partition("|")
        return str(text) if not bar else one if number == 1 else other


@cache
def read_catalogue(language: Language) -> Mapping[str, str]:
    """Return the sentences of a language by key."""
    path = files("ftc.tui") / "catalogue" / f"{language}.json"
    catalogue: Mapping[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return catalogue


def find_language(wanted: str | None = None) -> Language:
    """Return the requested language, or the locale's; English if it is not supported."""
    said = wanted or os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES")
    said = said or os.environ.get("LANG") or locale.getlocale()[0] or ""
    short = said[:2].lower()
    return next((language for language in LANGUAGES if language == short), "en")


@cache
def _questions() -> Mapping[str, Mapping[str, str]]:
    return {field.pointer: field.schema["x-question"] for field in fields()}
