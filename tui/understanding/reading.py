"""The reading of a message: changes to the draft, a request, and what was not understood."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ftc.spec.pointer import split

RequestKind = Literal[
    "advise", "changes", "cheaper", "compile", "delegate", "explain", "faster", "fit", "fix",
    "hello", "help", "judge", "later", "leave", "left", "lighter", "limit", "load", "models", "no",
    "overwrite", "plan", "quit", "redo", "rehearse", "restart", "retry", "run", "save", "show",
    "thanks", "undo", "unlimit", "unsure", "watch", "what_if", "why", "yes",
]  # fmt: skip

#: The reason for a question about a value that was read but may not be meant.
UNSURE: Final = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A new value in the draft: a pointer into the long form, and the words that set it.

    None removes the field from the draft, so that it is planned again.
    """

    pointer: str
    value: Any
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that changes nothing by itself; `about` is its topic."""

    kind: RequestKind
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limits of a run: seconds, and money in the currency of the price."""

    seconds: float | None = None
    money: float | None = None

    def joined(self, other: "Limit") -> "Limit":
        """Return both limits; the other's values take precedence."""
        return Limit(
            seconds=self.seconds if other.seconds is None else other.seconds,
            money=self.money if other.money is None else other.money,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWish:
    """Wishes about a model other than its name; empty values are not wishes.

    `most` and `least` are numbers of parameters. `makers` and `without` are owners on the Hub;
    `without` also has words of names. `languages` are ISO 639-1 codes. `free` means a licence
    without conditions.
    """

    most: int | None = None
    least: int | None = None
    makers: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    without_origins: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    free: bool = False

    def joined(self, other: "ModelWish") -> "ModelWish":
        """Return both wishes together; the other's size and makers take precedence."""
        sized = other.most is not None or other.least is not None
        return ModelWish(
            most=other.most if sized else self.most,
            least=other.least if sized else self.least,
            makers=other.makers or self.makers,
            without=(*self.without, *other.without),
            origins=other.origins or self.origins,
            without_origins=(*self.without_origins, *other.without_origins),
            languages=(*self.languages, *other.languages),
            free=self.free or other.free,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Words about a field that do not determine its value: the user has to choose or name one.

    `values` are the possible meanings, the most likely first; they are empty if the words name no
    valid value. `why` is the catalogue key of the reason. `wish` limits the models.
    """

    pointer: str
    values: tuple[Any, ...]
    words: str
    why: str = ""
    wish: ModelWish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """A pasted config or text: its number of lines, and the keys without a field."""

    lines: int
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Existing files and columns, whose names in a message may have spaces."""

    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a message; `rest` holds the words that no reader took.

    `refused` holds changes that the schema rejects, such as a dropout of 5. `paste` is set if the
    message is a pasted text. `used` are words with another effect, such as a goal. `needless` are
    changes that would switch off what is already off; ftc only answers them.
    """

    changes: tuple[Change, ...] = ()
    request: Request | None = None
    choices: tuple[Choice, ...] = field(default=())
    rest: str = ""
    refused: tuple[Change, ...] = ()
    paste: Paste | None = None
    used: tuple[str, ...] = ()
    needless: tuple[Change, ...] = ()

    @property
    def asked(self) -> Choice | None:
        """Return the single question that follows the message: the first open choice.

        For a rejected value, ftc asks again.
        """
        if self.choices:
            return self.choices[0]
        wrong = self.refused[:1]
        return Choice(pointer=wrong[0].pointer, values=(), words=wrong[0].words) if wrong else None

    @property
    def empty(self) -> bool:
        """Return whether nothing was understood."""
        told = self.changes or self.choices or self.refused or self.needless
        return not (told or self.request or self.paste)


def ask_about(said: Change | Choice) -> Choice:
    """Turn a change into a question about the value; a question stays as it is."""
    if isinstance(said, Choice):
        return said
    values = () if said.value is None else (said.value,)
    return Choice(pointer=said.pointer, values=values, words=said.words, why=UNSURE)


def value_at(data: Mapping[str, Any], pointer: str) -> Any:
    """Return the value of a draft at a pointer, or None if it is not set."""
    value: Any = data
    for key in split(pointer):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
