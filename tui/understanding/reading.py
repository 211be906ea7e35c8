"""The reading of a message: changes to the draft, a request, and what was not understood."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ftc.spec.pointer import split

RequestKind = Literal[
    "advise", "changes", "cheaper", "compile", "delegate", "explain", "faster", "fit", "fix",
    "hello", "help", "judge", "later", "leave", "left", "limit", "load", "models", "no", "plan",
    "quit", "redo", "rehearse", "restart", "retry", "run", "save", "show", "thanks", "undo",
    "unsure", "watch", "what_if", "why", "yes",
]  # fmt: skip

#: The reason of a question about a value that was read but may not be meant.
UNSURE: Final = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One value of the draft: a pointer into the long form, and the words that set it.

    A value of None removes the field from the draft, so that it is planned again.
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
    """What a run may take at most: seconds, and money in the currency of the price."""

    seconds: float | None = None
    money: float | None = None

    def joined(self, other: "Limit") -> "Limit":
        """Return both limits; of two of a kind, the other's counts."""
        return Limit(
            seconds=self.seconds if other.seconds is None else other.seconds,
            money=self.money if other.money is None else other.money,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWish:
    """What is wished of a model beside its name; what is empty is not wished.

    `most` and `least` are parameters; `makers` and `without` owners on the Hub, `without` also
    words of names; `languages` are ISO 639-1 codes; `free`: a licence without conditions.
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
        """Return both wishes together; of two sizes or makers the other's counts."""
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
    """Words about a field that do not settle its value: the user has to choose, or to say one.

    `values` are what the words may mean, the likeliest first; empty if they name no valid value.
    `why` is the catalogue key of a sentence that says why they do not. `wish` limits the models.
    """

    pointer: str
    values: tuple[Any, ...]
    words: str
    why: str = ""
    wish: ModelWish | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """A pasted config or text: its number of lines, and the keys that no field takes."""

    lines: int
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names that a message may contain although they have spaces: files and columns that exist."""

    files: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a message; `rest` holds the words that no reader took.

    `refused` holds changes that the schema rejects, such as a dropout of 5. `paste` is set if the
    message is a pasted text, which is answered as such. `used` are words with another effect, such
    as a goal. `needless` would switch off what is off, and is answered.
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
        """Return the one question that the message leads to: the first open choice.

        A rejected value is asked again.
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
