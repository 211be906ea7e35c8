"""Yes-or-no questions: the planner answers them, and they change nothing."""

import re
from typing import Final

from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message

_QUESTION: Final = WORDS["questions"]
_BEGIN: Final = (
    rf"(?:^|(?<=[.!?;,:\n\u00bf])|\b{any_of(_QUESTION['join'])}\b)[\s\u00bf]*"
    rf"(?:{any_of(_QUESTION['lead'])}[\s,]+)*"
)
_ABOUT: Final = r"(?P<about>[^?\n]*?)"
_END: Final = rf"(?:[\s,]+{any_of(_QUESTION['tail'])})*[\s,]*"
_STOP: Final = r"(?:\?|[.!;](?=\s|$)|$)"
_FEW_WORDS: Final = r"[\w.+-]+(?: [\w.+-]+){0,2}"
#: "should I ...": a question, even without a question mark.
_ASKS: Final = rf"{_BEGIN}{any_of(_QUESTION['asks'])}\b{_ABOUT}{_END}{_STOP}"
#: "necessito ...?": a question only with a question mark.
_ASKS_IF_MARKED: Final = rf"{_BEGIN}{any_of(_QUESTION['asks_if_marked'])}\b{_ABOUT}{_END}\?"
#: "is ... enough".
_IS_JUDGED: Final = (
    rf"{_BEGIN}{any_of(_QUESTION['is'])}\s+(?P<about>[^?.!;\n]{{1,60}}?)\s+"
    rf"{any_of(_QUESTION['judged'])}\b[^?.!;\n]*{_STOP}"
)
#: "... es suficiente?".
_JUDGED_IF_MARKED: Final = (
    rf"{_BEGIN}(?!(?:per a|para|de) que\b)(?P<about>[^?.!;,\n]{{1,60}}?)\s+"
    rf"{any_of(_QUESTION['judged_if_marked'])}\b"
    r"[^?.!;\n]*\?"
)
#: "lora or qlora?".
_EITHER: Final = (
    rf"{_BEGIN}(?!m[ea]s o men[oy]s|more or less)"
    rf"(?P<about>{_FEW_WORDS}\s+{any_of(_QUESTION['or'])}\s+{_FEW_WORDS})\s*\?"
)
_PATTERNS: Final = tuple(
    map(re.compile, (_ASKS, _ASKS_IF_MARKED, _IS_JUDGED, _JUDGED_IF_MARKED, _EITHER))
)
_VERB: Final = re.compile(rf"^[\s,]*(?:{any_of(_QUESTION['verb'])}\b\s*)*")


def take_question(message: Message) -> str | None:
    """Return the topic of the first such question, or None; cross out all of them."""
    about: str | None = None
    for pattern in _PATTERNS:
        for match in message.take(pattern):
            start, end = match.span("about")
            start += len(_VERB.match(message.folded[start:end]).group())  # type: ignore[union-attr]
            if about is None:
                about = message.words(start, end)
    return about
