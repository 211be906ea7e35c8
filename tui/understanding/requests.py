"""Reads requests: actions and information that a message asks for, other than changes."""

import re
from typing import Final, cast

from ftc.tui.languages.voice import LANGUAGES
from ftc.tui.understanding.reading import Request, RequestKind
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold

#: Requests that are the whole message, which may repeat the request, as in "ok do it".
_WHOLE: Final = tuple(
    (kind, re.compile(rf"{any_of(words)}(?:[, ]+{any_of(words)})*"))
    for kind, words in WORDS["requests"].items()
)
#: Requests with a topic, which the rest of the message names.
_ABOUT: Final = tuple(
    (kind, re.compile(pattern))
    for kind, words in WORDS["requests_about"].items()
    for language in LANGUAGES
    for pattern in words[language]
)
_PARTS: Final = re.compile(r"\s*[,;.!?]+[\s\u00bf\u00a1]*|\s+(?:and|i|y)\s+")
_POLITE: Final = re.compile(rf"^{any_of(WORDS['polite'])}[, ]+|[, ]+{any_of(WORDS['polite'])}$")

#: An order to compile after the changes of a message; "lora, bf16, compile" is a list of settings.
_LAST_ACT: Final = re.compile(
    rf"(?:(?<=\w)[.;!\n]+\s+|,?\s+(?:{any_of(WORDS['joins'])}\s+)+)"
    rf"(?:{any_of(WORDS['polite'])}[, ]+)?"
    rf"{any_of(WORDS['compiles'])}(?:[, ]+{any_of(WORDS['again'])})*[\s.!]*$"
)
#: What stands before a request that corrects it: "I was wrong, undo that".
_EXCUSE: Final = re.compile(rf"^{any_of(WORDS['excuses'])}[ ,.;:!]+(?=\S)")

#: The requests for another plan, which a question can make too: "how can I use less memory?".
_GOALS: Final = tuple(each for each in _WHOLE if each[0] in {"cheaper", "faster", "lighter"})
_WAYS: Final = re.compile(
    rf"^(?:so |and |but )?{any_of(WORDS['ways'])}\s+|[ ,;:.!\u00bf-]+{any_of(WORDS['what_now'])}$"
)


def read_request(message: Message) -> Request | None:
    """Return the request that the whole message makes, or None; `/quit` is `quit`."""
    text, start = _trimmed(message)
    for kind, pattern in _WHOLE:
        if pattern.fullmatch(text.removeprefix("/")):
            return Request(kind=cast("RequestKind", kind))
    for kind, pattern in _ABOUT:
        match = pattern.fullmatch(text)
        if match:
            about = _about(message, match, start)
            return Request(kind=cast("RequestKind", kind), about=about)
    return _read_several(text) or _read_goal(text)


def _read_goal(text: str) -> Request | None:
    """Return the goal of a question about a way to reach it, or None."""
    wanted, count = _WAYS.subn("", text)
    kinds = [kind for kind, pattern in _GOALS if count and pattern.fullmatch(wanted)]
    return Request(kind=cast("RequestKind", kinds[0])) if kinds else None


def split_act(text: str) -> tuple[str, Request | None]:
    """Return the text before an order to compile at its end, and the order, if there is one."""
    match = _LAST_ACT.search(fold(text))
    return (text, None) if match is None else (text[: match.start()], Request(kind="compile"))


def _read_several(text: str) -> Request | None:
    """Return the last of several requests: "ok, compile it"; None if a part is not a request."""
    parts = _PARTS.split(text)
    kinds = [kind for part in parts for kind, pattern in _WHOLE if pattern.fullmatch(part)]
    if len(parts) == 1 or len(kinds) != len(parts):
        return None
    return Request(kind=cast("RequestKind", kinds[-1]))


def _trimmed(message: Message) -> tuple[str, int]:
    """Return the folded message without surrounding punctuation, and its start."""
    text = message.folded
    bare = text.strip(" \t\n.!?,;:\u00bf\u00a1") or text.strip()
    start = text.find(bare)
    polite = _EXCUSE.sub("", _POLITE.sub("", bare))
    return polite, start + max(bare.find(polite), 0)


def _about(message: Message, match: re.Match[str], start: int) -> str:
    if match["about"] is None:
        return ""
    return message.words(start + match.start("about"), start + match.end("about"))
