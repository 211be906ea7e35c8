"""Reads revisions: a commit hash, or a branch or tag after the word: "Qwen/Qwen3-8B a 3f2a9c1"."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import QUOTES
from ftc.tui.understanding.text.message import Message

#: A hash has digits and letters, and at least seven of them.
_HASH: Final = r"(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}"
_IN: Final = r"(?:(?:at|on|in|from|to|a|al|en|de|del)\s|@\s?)?(?:(?:the|la|el)\s|l')?"
_WORD: Final = r"(?:branch|branca|rama|git tag|tag|commit|sha|revision|revisio|rev)"
_REVISION: Final = re.compile(
    rf"(?<![\w./@-])(?:(?:{_WORD}\s(?:(?:of|for|del?|de)\s(?:the\s|el\s|la\s)?\w+\s)?)?{_IN}{QUOTES}?"
    rf"(?P<hash>{_HASH}){QUOTES}?|{_IN}{_WORD}(?:\s?[=:]\s?|\s+(?:(?:is|es)\s+)?){QUOTES}?"
    rf"(?P<named>(?:(?:refs|pr|release|feature)/)?[a-z0-9][\w.-]*\w|main){QUOTES}?)"
    r"(?=\s*(?:$|[,;:!?)\n]|\.(?:\s|$)|\s))"
)
#: Words after "tag" or "commit" that are not revisions: "the tag of", "commit to main".
_NO_NAME: Final = frozenset(
    {"of", "to", "the", "that", "is", "it", "and", "for", "in", "on", "per", "que", "del", "de"}
    | {"la", "el", "es", "as", "or", "to", "from", "los", "les", "els", "both", "fixed", "id"}
)
_PLAIN: Final = frozenset({"main", "master", "dev", "develop", "stable", "latest"})
_POINTER: Final = "/model/revision"
_CODED: Final = re.compile(r"[\d_.-]")


def read_revisions(message: Message) -> Iterator[Change]:
    """Yield each revision as the model's; `belonging` moves it to the owner named before it."""
    for match in list(_REVISION.finditer(message.folded)):
        named = match["named"]
        if named is not None and (
            named in _NO_NAME or not (_CODED.search(named) or named in _PLAIN)
        ):
            continue
        if message.denied(match.start()):
            continue
        value = message.words(*match.span("named" if named else "hash"))
        words = message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer=_POINTER, value=value, words=words)
