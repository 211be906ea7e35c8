"""The objective from what a message says of its goal and of its rows, where it does not name one.

"For each question we have a better answer and a worse one" asks for preferences without the word.
A goal is enough; a hint of it counts only with rows that agree. Where two objectives are described,
or a hint stands alone, ftc asks.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from ftc.tui.understanding.lexicon import any_of
from ftc.tui.understanding.message import Message, Span
from ftc.tui.understanding.reading import Change, Choice, value_at

_TABLE: Final[Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]] = json.loads(
    (files("ftc.tui.understanding") / "described.json").read_text(encoding="utf-8")
)
_POINTER: Final = "/objective/type"
_TEACHER: Final = "/objective/teacher/id"
#: How much each part of a description tells.
_WEIGHTS: Final[Mapping[str, int]] = {"goal": 2, "hint": 1, "data": 1}
#: Rows that no other objective has.
_TELLING_ROWS: Final = frozenset({"dpo", "kto"})
_ENOUGH: Final = 2


def read_described(
    message: Message, draft: Mapping[str, Any], said: Sequence[Change | Choice]
) -> Iterator[Change | Choice]:
    """Yield the objective that the message describes, unless the draft or `said` has one."""
    if value_at(draft, _POINTER) is not None or any(each.pointer == _POINTER for each in said):
        return
    teacher = next((each for each in said if each.pointer == _TEACHER), None)
    if isinstance(teacher, Change):
        yield Change(pointer=_POINTER, value="distill", words=teacher.words)
        return
    scores: dict[str, int] = {}
    spans: dict[str, Span] = {}
    for objective, part, pattern in _patterns():
        match = pattern.search(message.plain)
        if match is None or message.denied(match.start()):
            continue
        weight = 2 if part == "data" and objective in _TELLING_ROWS else _WEIGHTS[part]
        scores[objective] = scores.get(objective, 0) + weight
        spans.setdefault(objective, match.span())
    if not scores:
        return
    best = max(scores.values())
    likeliest = [objective for objective, score in scores.items() if score == best]
    words = message.words(*spans[likeliest[0]])
    if best >= _ENOUGH and len(likeliest) == 1:
        yield Change(pointer=_POINTER, value=likeliest[0], words=words)
    elif best >= _ENOUGH:
        yield Choice(pointer=_POINTER, values=tuple(likeliest), words=words)


@cache
def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (objective, part, re.compile(rf"(?<!\w){any_of(entry)}(?!\w)"))
        for objective, parts in _TABLE.items()
        for part, entry in parts.items()
    )
