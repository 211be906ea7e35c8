"""Asks about roles of columns that the model of roles finds unlikely."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from ftc.tui.understanding.columns.column_roles import role_of_name
from ftc.tui.understanding.learned.roles import SECTION, find_names
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.message import fold
from ftc.tui.understanding.text.ordinary import read_words

#: Roles whose words belong to another role in some row formats.
_SAME: Final[Mapping[str, tuple[str, ...]]] = {
    f"{SECTION}text": (f"{SECTION}prompt",),
    f"{SECTION}prompt": (f"{SECTION}text", f"{SECTION}instruction"),
    f"{SECTION}completion": (f"{SECTION}output",),
    f"{SECTION}instruction": (f"{SECTION}prompt",),
    f"{SECTION}input": (f"{SECTION}prompt", f"{SECTION}instruction"),
    f"{SECTION}output": (f"{SECTION}completion",),
}
#: The minimum probability of a role shown by words, and of a role suggested by a name or its
#: position, chosen on held-out messages.
_LEAST_TOLD: Final = 0.05
_LEAST_GUESSED: Final = 0.3
#: If another name's probability of a role is larger by this margin, the role belongs to that name.
_MUCH: Final = 0.4
#: The minimum probability of another role.
_SURELY: Final = 0.75

_PLURAL: Final = re.compile(r"[^s]s$")
#: Request words and function words, which name no column.
_WORDS: Final = ("grammar", "request", "lead", "determiner")


@lru_cache(maxsize=8)
def _weigh_names(text: str, columns: tuple[str, ...]) -> Mapping[str, Mapping[str, float]]:
    """Return the probabilities of the roles of all names in a message."""
    return {each.text: each.weigh() for each in find_names(text, columns)}


def doubt_role(
    column: Change, text: str, columns: tuple[str, ...], *, told: bool
) -> Change | Choice:
    """Return a column, or a question about it if the model finds its role unlikely.

    A name that is the word for its role is enough, but its plural may describe the rows: "with
    questions and answers". A role is also unlikely if the model gives it to another name with a
    much higher probability. `told` means that the words around the name show the role, and not the
    name or its position; `columns` are the columns of the data.
    """
    shares = _weigh_names(text, columns)
    return ask_about(column) if _is_unlikely(column, shares, told=told) else column


def _is_unlikely(column: Change, shares: Mapping[str, Mapping[str, float]], *, told: bool) -> bool:
    name = fold(str(column.value))
    if role_of_name(name) == column.pointer.removeprefix(SECTION):
        return not told and _PLURAL.search(name) is not None
    if column.value not in shares:
        return not told and name in read_words(_WORDS)
    roles = (column.pointer, *_SAME.get(column.pointer, ()))
    weights = shares[str(column.value)]
    own = max(weights.get(role, 0.0) for role in roles)
    other = max(share for role, share in weights.items() if role not in roles)
    others = (each for name, each in shares.items() if name != column.value)
    rival = max((each.get(column.pointer, 0.0) for each in others), default=0.0)
    if rival - own > _MUCH and rival > _SURELY:
        return True
    return other > _SURELY and own < (_LEAST_TOLD if told else _LEAST_GUESSED)
