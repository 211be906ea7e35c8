"""The message: a key of the catalogue with its values; each language has a sentence per key."""

import errno
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Final, Literal, TypeAlias

Language = Literal["en", "ca", "es"]
Value: TypeAlias = "str | int | float | Message | Sequence[str | int | Message]"
Values: TypeAlias = Mapping[str, Value]

_FOLDER: Final = Path(__file__).parent / "messages"
_GIB: Final = 1024**3
_MIB: Final = 1024**2
_RESPELT: Final = str.maketrans({",": ".", ".": ",", "%": " %"})
_JOINING: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {"and": " and ", "or": " or "},
    "ca": {"and": " i ", "or": " o "},
    "es": {"and": " y ", "or": " o "},
}


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence or a part of one: `str` of it is English.

    A template of the catalogue is a format string. Beside Python's format specifications it has
    those of `show`.
    """

    key: str
    values: Values = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the message in English."""
        return self.render("en")

    def render(self, language: Language) -> str:
        """Return the message in a language; raises KeyError for an unknown key or value."""
        shown, ticks = [], 0
        for literal, name, spec, _ in Formatter().parse(read_messages(language)[self.key]):
            ticks += literal.count("`")
            shown.append(literal)
            if name is not None:
                quoted = ticks % 2 == 1  # what stands in backticks is shown as it is written
                shown.append(show(self.values[name], spec or "", language, quoted=quoted))
        return "".join(shown)


def show(
    value: Value,
    spec: str,
    language: Language,
    *,
    quoted: bool = False,
) -> str:
    """Return a value as the language writes it.

    Numbers take Python's format specifications, `gib` and `mib` (of bytes), `count` (7.6B), `times`
    (2.5; 1,300), and `row|rows`: the word for one and the word for any other number, also where a
    message says it as its value `number`. Lists are joined by commas; they take the word before the
    last item, `and` or `or`, or `;` in place of commas, and a backtick in front of these where each
    item is quoted.
    """
    if "|" in spec:
        number = value.values.get("number") if isinstance(value, Message) else value
        one, other = spec.split("|")
        return one if number == 1 else other
    if isinstance(value, Message):
        return value.render(language)
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        text = _show_number(value, spec)
        return text if quoted or language == "en" else text.translate(_RESPELT)
    mark = "`" if spec.startswith("`") else ""
    items = [f"{mark}{show(item, '', language)}{mark}" for item in value]
    word = spec.removeprefix("`")
    if word == ";":
        return "; ".join(items)
    if not word or len(items) < 2:  # noqa: PLR2004 - one item needs no word before it
        return ", ".join(items)
    return _JOINING[language][word].join((", ".join(items[:-1]), items[-1]))


def name_language(code: str) -> Message | str:
    """Return the name of a language by its ISO 639-1 code, or the code where it has none here."""
    key = f"language.{code}"
    return Message(key) if key in read_messages("en") else code


def reason_of(error: OSError) -> Message | str:
    """Return why the system refused; in English alone where the catalogue does not know it."""
    key = f"os.{errno.errorcode.get(error.errno or 0, '')}"
    if key in read_messages("en"):
        return Message(key)
    return (error.strerror or str(error) or type(error).__name__).lower()


def _show_number(value: float, spec: str) -> str:
    if spec == "gib":
        return f"{value / _GIB:,.1f} GiB"
    if spec == "mib":
        return f"{value / _MIB:,.0f} MiB"
    if spec == "times":
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"  # noqa: PLR2004
    if spec == "count":
        return f"{value / 1e9:.2g}B" if value >= 1e9 else f"{value / 1e6:.3g}M"  # noqa: PLR2004
    return format(value, spec)


@cache
def read_messages(language: Language) -> Mapping[str, str]:
    """Return the sentences of a language by key."""
    text = (_FOLDER / f"{language}.json").read_text(encoding="utf-8")
    messages: Mapping[str, str] = json.loads(text)
    return messages
