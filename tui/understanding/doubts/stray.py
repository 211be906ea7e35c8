"""Doubts about a value because of unexplained words around it.

"Apparently", "imagine", "I was kidding", "it was a disaster", "not yet": such words turn a sentence
into a report, a supposition, a joke or a plan. A value in such a sentence, or in the sentence
before a comment, is not set, and ftc asks about it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ftc.tui.understanding.bare import DESCRIBED
from ftc.tui.understanding.certainty import OWN_CONDITION, is_endorsed
from ftc.tui.understanding.elsewhere import find_own, is_advice
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold
from ftc.tui.understanding.text.word_tables import word_table

_STRAY: Final[Mapping[str, Any]] = word_table("stray")
_MARKS: Final[Mapping[str, re.Pattern[str]]] = {
    kind: re.compile(rf"(?<![\w'/-]){any_of(words)}(?![\w'-])") for kind, words in _STRAY.items()
}
#: A request for an explanation that contains the mark: "and tell me why people use all".
_EXPLAINS: Final = re.compile(
    r"\b(?:(?:i|y|and|,) )?(?:explain|tell me|explica\S*|digue?s-?me|dime|dim|cuentame)\b"
)
#: Comments on the text before them.
_ON_BEFORE: Final = frozenset({"jokes", "mistakes", "later", "dismissed"})
#: Marks that also apply to the purpose of the training and to columns.
_OF_ANY: Final = frozenset({"ironic", "unasked", "supposes"})
#: "... but that was with GPT-2": all values of the sentence belong to something else.
_DISOWNED: Final = "disowned"
_MODEL: Final = "/model/"
_ORDERED: Final = ("/objective/type", "/data/columns/")
_PAUSE: Final = re.compile(r"[,.;:!?\n]")

#: The maximum number of words between the start of a sentence and a comment on the one before.
_FEW: Final = 3

Said = Change | Choice


def doubt_stray(text: str, told: Sequence[Said]) -> list[Said]:
    """Return the values, with a question for each value that nearby words put in doubt."""
    folded = fold(text)
    read = [(each, place) for each in told for place in find_places(text, each.words)]
    spans = [
        (first, last, kind)
        for first, last, kind, mark in _find_spans(text)
        if not any(_is_own(folded, mark, kind, each, place) for each, place in read)
    ]
    if not spans:
        return list(told)
    return [ask_about(each) if _is_doubted(folded, text, each, spans) else each for each in told]


@lru_cache(maxsize=8)
def _find_spans(text: str) -> Sequence[tuple[int, int, str, Span]]:
    return list(_spans(fold(text)))


def _spans(folded: str) -> Iterator[tuple[int, int, str, Span]]:
    """Yield the part of the sentence that each mark applies to, its kind, and its place.

    The part ends where the writer's own settings begin.
    """
    for kind, pattern in _MARKS.items():
        for match in pattern.finditer(folded):
            first, last = find_around(SENTENCE_END, folded, match.span())
            begins = len(folded[first : match.start()].split()) <= _FEW
            if kind in _ON_BEFORE and begins:
                before = len(folded[:first].rstrip(" .!?;\n"))
                first = find_around(SENTENCE_END, folded, (before, before))[0]
            if kind == _DISOWNED:
                yield first, last, kind, match.span()
                continue
            cuts = find_own(folded, first, last)
            start = max((end for _, end in cuts if end <= match.start()), default=first)
            stop = min((begin for begin, _ in cuts if begin >= match.end()), default=last)
            asked = _EXPLAINS.search(folded, start, match.start())
            start = asked.start() if asked else start
            colon = folded.find(":", match.end(), stop)
            stop = stop if colon < 0 else colon
            if kind != "reports" or not is_advice(folded, start, stop):
                yield start, stop, kind, match.span()


def _is_doubted(folded: str, text: str, said: Said, spans: Sequence[tuple[int, int, str]]) -> bool:
    if not isinstance(said, Change):
        return False
    any_kind = not said.pointer.startswith(DESCRIBED)
    return any(
        first <= start
        and end <= last
        and (
            any_kind
            or (kind in _OF_ANY and said.pointer.startswith(_ORDERED))
            or (kind == _DISOWNED and said.pointer.startswith(_MODEL))
        )
        and not is_endorsed(folded, end)
        for start, end in find_places(text, said.words)[:1]
        for first, last, kind in spans
    )


def _is_own(folded: str, mark: Span, kind: str, said: Said, place: Span) -> bool:
    """Return whether a mark is a part of a value: "if it comes out worse than the base, keep it".

    The mark is in the words of the value, or before them in their clause if they are a condition.
    """
    start, end = place
    if start <= mark[0] and mark[1] <= end:
        return True
    leads = mark[1] <= start and _PAUSE.search(folded, mark[1], start) is None
    return leads and kind not in _OF_ANY and said.pointer.startswith(OWN_CONDITION)
