"""Values whose field depends on what they belong to: a revision, the length of an answer.

"The teacher is Qwen2.5 72B, revision main" is the teacher's revision, and with GRPO "700 tokens
each" is the length of the answers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.tui.understanding.message import find_words, fold
from ftc.tui.understanding.reading import Change, Choice, value_at

_REVISION: Final = "/model/revision"
_LENGTH, _ANSWER = "/data/max_length", "/objective/answer_tokens"
_OBJECTIVE: Final = "/objective/type"
#: What may have a revision, by the field of it.
_OWNERS: Final = (
    (
        "/objective/teacher/revision",
        re.compile(r"\b(?:teacher|professor\w*|mestre|profesor\w*|maestro)\b"),
    ),
    (
        "/data/revision",
        re.compile(
            r"\b(?:data ?sets?|data|rows|conjunt\w*|dades|files|datos|filas|subset|split|particio"
            r"|particion|configura\w*|streaming)\b"
        ),
    ),
    (_REVISION, re.compile(r"\b(?:models?|modelo|base)\b")),
)
_FIELDS: Final[Mapping[str, str]] = {
    "/objective/teacher/id": "/objective/teacher/revision",
    "/data/source": "/data/revision",
    "/data/subset": "/data/revision",
    "/data/split": "/data/revision",
    "/model/id": _REVISION,
}
_AT_REVISION: Final = re.compile(r"(?P<id>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)")
_GENERATES: Final = frozenset({"grpo", "rloo"})
_OF_ANSWERS: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|completions?|gen\w*|respost\w*|respuest\w*|each|cadascun\w*"
    r"|cada una?|new)\b"
)
#: Letters on a side of a number in which the answers may be mentioned.
_NEAR: Final = 34
_PART_END: Final = re.compile(r"[;!?\n]|\.(?=\s|$)")


def settle_owners(
    said: Sequence[Change | Choice], text: str, draft: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return what was read, with each revision and length moved to the field that it belongs to."""
    folded = fold(text)
    found = [part for each in said for part in _divided(each)]
    return [_settled(each, found, folded, draft) for each in found]


def _divided(each: Change | Choice) -> Iterator[Change | Choice]:
    """Yield an id without its revision, and the revision: "acme/chats@1f0c2d"."""
    match = _AT_REVISION.fullmatch(str(each.value)) if isinstance(each, Change) else None
    if match is None or each.pointer not in _FIELDS or not isinstance(each, Change):
        yield each
        return
    yield replace(each, value=match["id"])
    yield Change(pointer=_FIELDS[each.pointer], value=match["revision"], words=match["revision"])


def _settled(
    each: Change | Choice, said: Sequence[Change | Choice], folded: str, draft: Mapping[str, Any]
) -> Change | Choice:
    place = find_words(folded, fold(each.words))
    if place < 0:
        return each
    if each.pointer == _REVISION:
        return replace(each, pointer=_owner(place, each.words, said, folded))
    if each.pointer == _LENGTH and not any(other.pointer == _ANSWER for other in said):
        objective = next(
            (
                other.value
                for other in said
                if other.pointer == _OBJECTIVE and isinstance(other, Change)
            ),
            value_at(draft, _OBJECTIVE),
        )
        end = place + len(each.words)
        around = f"{_PART_END.split(folded[max(0, place - _NEAR) : place])[-1]}|{folded[place:end]}"
        around += f"|{re.split(r'[,;.]', folded[end : end + _NEAR])[0]}"
        if objective in _GENERATES and _OF_ANSWERS.search(around):
            return replace(each, pointer=_ANSWER)
    return each


def _owner(place: int, words: str, said: Sequence[Change | Choice], folded: str) -> str:
    """Return the field of a revision: that of the last thing named before it or in its words."""
    for pointer, pattern in _OWNERS:
        if pattern.search(fold(words)):
            return pointer
    end = place + len(words)
    sentence = _PART_END.search(folded, end)
    near = [
        (match.end(), pointer)
        for pointer, pattern in _OWNERS
        for match in pattern.finditer(folded, 0, sentence.start() if sentence else len(folded))
    ]
    near += [
        (find_words(folded, fold(each.words)) + len(each.words), _FIELDS[each.pointer])
        for each in said
        if each.pointer in _FIELDS
    ]
    before = [pair for pair in near if pair[0] <= place]
    return max(before)[1] if before else _REVISION
