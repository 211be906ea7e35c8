"""One example: the content of a row, in the form that cleaning and lengths use.

Rows are read and cleaned by `ftc.runtime`, as `prepare.py` of every bundle does it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from ftc.runtime.read.cleaning import is_misencoded
from ftc.runtime.read.image_rows import without_images
from ftc.runtime.read.reasoning import has_reasoning
from ftc.runtime.read.rows import Fault, ReadTurns, Turns, clean_turns, is_prompt, prompt_of
from ftc.runtime.tokens.reasoned_chats import strip

#: What may be wrong with a text that is one: see `cleaning.py`; "lost" is U+FFFD in it.
Damage = Literal["misencoded", "lost", "control"]

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """`turns` are (role, text) pairs, as `ftc.runtime.read.rows` describes them.

    `reasons`: in the data an answer has reasoning before it.
    """

    turns: Turns
    damage: tuple[Damage, ...] = ()
    reasons: bool = False

    @property
    def texts(self) -> "Example":
        """The example without its images."""
        turns = without_images(self.turns)
        return self if turns is self.turns else replace(self, turns=turns)

    @property
    def compares(self) -> bool:
        """Whether it holds two answers to its prompt."""
        return self.turns[-1][0] == "rejected"

    @property
    def prompt(self) -> Turns:
        """The turns before the answer, or before the answers that are compared."""
        return () if self.turns[0][0] == "text" else prompt_of(self.turns)

    @property
    def verdict(self) -> str:
        """What was said of the answer, "true" or "false"; empty where nothing was."""
        return self.turns[-1][1] if self.turns[-1][0] == "label" else ""

    @property
    def is_prompt(self) -> bool:
        """Whether it is a prompt without an answer."""
        return is_prompt(self.turns)

    @property
    def answer(self) -> str:
        """The text that the last turn holds; empty for a prompt without an answer."""
        return "" if self.is_prompt else self.turns[-1][1]


def read_example(
    row: Mapping[str, Any] | None,
    read: ReadTurns,
    *,
    repair: bool,
    strip_reasoning: bool = False,
) -> Example | Fault:
    """Return what the row says, cleaned; None stands for a row that could not be read.

    `read` is what `roles.make_reader` returns. With `strip_reasoning` answers lose the reasoning
    before them.
    """
    if row is None:
        return "unreadable"
    raw = read(row)
    reasons = not isinstance(raw, str) and has_reasoning(raw)
    if strip_reasoning and not isinstance(raw, str):
        raw = strip(raw)
    turns = raw if isinstance(raw, str) else clean_turns(raw, repair=repair)
    if isinstance(raw, str) or isinstance(turns, str):
        return turns  # type: ignore[return-value]  # a fault
    found: dict[Damage, bool] = {
        "misencoded": any(is_misencoded(text) for _, text in raw),
        "lost": any("\ufffd" in text for _, text in turns),
        "control": any(has_control(text) for _, text in turns),
    }
    damage = tuple(kind for kind, is_there in found.items() if is_there)
    return Example(turns=turns, damage=damage, reasons=reasons)


def has_control(text: str) -> bool:
    """Return whether the text holds a control character other than tab and line ends, or a BOM."""
    return not text.isprintable() and _CONTROL.search(text) is not None
