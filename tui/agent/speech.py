"""The part of an unfinished answer that can already be shown to the user."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ftc.tui.agent.answer import strip_thoughts
from ftc.tui.agent.wire import clean

#: The call of `answer` up to the start of its text; a grammar writes the keys in this order.
_ANSWER: Final = re.compile(
    r"""\s*(?:```(?:json)?\s*)?\{\s*"tool"\s*:\s*"answer"\s*,\s*"arguments"\s*:\s*\{\s*"text"\s*:\s*"(?P<text>(?:[^"\\]|\\.)*)""",
    re.DOTALL,
)
#: A surrogate whose second half may still arrive.
_HALF: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_UNFINISHED: Final = re.compile(r"\\u[0-9a-fA-F]{0,3}\Z")
#: The opening tag of a model's reasoning, perhaps incomplete.
_TAG: Final = re.compile(r"<[a-z]{0,8}\Z")
_CALL: Final = ("{", "```")


@dataclass(slots=True, kw_only=True)
class Speech:
    """Passes on the text of a turn as it grows, and stores the text that was passed on.

    `hear` gets each new piece. The text of a turn is that of all its rounds, with blank lines
    between them.
    """

    hear: Callable[[str], None]
    most_letters: int
    earlier: str = ""
    told: str = ""

    def listen(self, raw: str) -> None:
        """Pass on the new part of the answer."""
        self._tell(self._joined(find_shown(raw)))

    def settle(self, text: str) -> None:
        """Take the final text of an answer, and pass on the rest of it."""
        self.earlier = self._joined(clean(text))
        self._tell(self.earlier)

    def _joined(self, text: str) -> str:
        between = "\n\n" if self.earlier and text else ""
        return f"{self.earlier}{between}{text}"[: self.most_letters]

    def _tell(self, text: str) -> None:
        if len(text) > len(self.told) and text.startswith(self.told):
            self.hear(text[len(self.told) :])
            self.told = text


def find_shown(raw: str) -> str:
    """Return the visible part of an unfinished answer: no reasoning, calls or partial tokens."""
    text = strip_thoughts(_TAG.sub("", raw))
    if not text.lstrip().startswith(_CALL):
        return clean(text)
    answer = _ANSWER.match(text)
    if answer is None:
        return ""
    part = _HALF.sub("", _UNFINISHED.sub("", answer["text"]))
    try:
        return clean(json.loads(f'"{part}"', strict=False))
    except ValueError:  # an invalid escape: the complete answer decides
        return ""
