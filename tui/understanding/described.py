"""Finds the objective from a message's description of its goal and its rows.

"For each question we have a better answer and a worse one" asks for preferences without the word. A
goal is enough; a hint of it counts only with matching rows. If two objectives are described, or if
there is only a hint, ftc asks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import any_of
from ftc.tui.understanding.text.message import Message, Span, find_places, find_words, fold
from ftc.tui.understanding.text.word_tables import word_table

_TABLE: Final[Mapping[str, Mapping[str, Any]]] = word_table("described")
#: Classes of words; two of them in one sentence describe a goal: "which department it belongs to".
_CLASSES: Final = "classes"
_PAIRS: Final = "pairs"
_QUESTION: Final = re.compile(r"(?<![^.;:!?\n])[^.;:!?\n]*\?")
_SENTENCE: Final = re.compile(r"(?:[^.;:!?\n]|\.(?=\S))+")
_POINTER: Final = "/objective/type"
_COLUMNS: Final = "/data/columns/"
#: Labels about which the message says something other than that they are predicted.
_NO_GOAL: Final = re.compile(
    r"\b(?:(?:smooth|suavi[tz])\w* (?:(?:of|the|les|las|els|los) )*(?:labels?|etiquet\w+)"
    r"|(?:estratific|stratif)\w+[^.;,!?\n]{0,40}|[^.;,!?\n]{0,40}(?:estratific|stratif)\w+)"
)
_TOOLS: Final = ("/hardware/", "/tracking/", "/launch/", "/distribution/")
#: Between a machine and the statement about it: "the A100 node belongs to".
_NEXT_WORDS: Final = re.compile(r"(?:\s+[^\W\d]+){0,2}\s+")
_TEACHER: Final = "/objective/teacher/id"
#: The weight of each part of a description.
_WEIGHTS: Final[Mapping[str, int]] = {"goal": 2, "hint": 1, "data": 1}
#: Rows that only this objective has, if each question has both answers.
_TELLING_ROWS: Final = frozenset({"dpo", "kto"})
_COMPARED: Final = re.compile(
    r"\b(?:each|every|per|both|two|pairs?|cada|dues|dos|parelles?|parells?|pares?|parejas?|better"
    r"|worse|millors?|pitjors?|mejor|peor|prefer\w*|prefier\w*)\b"
)
#: A generated text, so that "plain text" describes the format of the answers.
_MADE: Final = re.compile(
    r"\b(?:summar\w+|resum\w*|translat\w+|tradu\w+|explain\w*|expli\w+|correct\w*|corrige"
    r"|corregi\w*|corrij\w+|answer(?:s|ing)?(?! (?:either|or))|reply"
    r"|replies|contesti\w*|contest[ae]n?|responda|respongui)\b"
)
_ENOUGH: Final = 2
#: A model that talks or writes; the same words are then the topic of its texts.
_TALKS: Final = re.compile(
    r"\b(?:(?:to|should|must|that|and|can|will) (?:explains?|writes?|answers?|repl(?:y|ies)|talks?"
    r"|summari[sz]es?|translates?)|^(?:explain|write|answer)|tutor\w*|(?:chat ?)?bots?|pupils?"
    r"|assistants?|assistents?|asistentes?|que (?:expliqui|explique|escrigui|escriba|contesti"
    r"|conteste|redacti|redacte|resumeixi|resuma|tradueixi|traduzca))\b"
)


def read_described(
    message: Message,
    draft: Mapping[str, Any],
    said: Sequence[Change | Choice],
    columns: Sequence[Span],
) -> Iterator[Change | Choice]:
    """Yield the objective that the message describes, unless the draft or `said` has one.

    The names of columns, whose ranges are `columns`, describe nothing.
    """
    if value_at(draft, _POINTER) is not None or any(each.pointer == _POINTER for each in said):
        return
    teacher = next((each for each in said if each.pointer == _TEACHER), None)
    if isinstance(teacher, Change):
        yield Change(pointer=_POINTER, value="distill", words=teacher.words)
        return
    parts: dict[tuple[str, str], int] = {}
    spans: dict[str, Span] = {}
    asked = [match.span() for match in _QUESTION.finditer(message.plain)]
    other = [match.span() for match in _NO_GOAL.finditer(message.plain)]
    text = _without(message.plain, [*asked, *other, *columns, *_columns(message.plain, said)])
    others = [*_of_tools(message.written, said)]
    for objective, part, start, end in _find_parts(text):
        place = message.origin[start][0], message.origin[end - 1][1]
        about_tool = " " in text[start:end] and any(
            place[0] <= first <= place[1] or _NEXT_WORDS.fullmatch(message.written, last, place[0])
            for first, last in others
        )
        if not (about_tool or message.denied(start)):
            parts[objective, part] = _weigh(objective, part, text)
            spans.setdefault(objective, (start, end))
    scores: dict[str, int] = {}
    for (objective, _), weight in parts.items():
        scores[objective] = scores.get(objective, 0) + weight
    if not scores:
        return
    best = max(scores.values())
    likeliest = [objective for objective, score in scores.items() if score == best]
    words = message.words(*spans[likeliest[0]])
    if best >= _ENOUGH and len(likeliest) == 1:
        yield Change(pointer=_POINTER, value=likeliest[0], words=words)
    elif best >= _ENOUGH:
        yield Choice(pointer=_POINTER, values=tuple(likeliest), words=words)


def with_described(message: Message, draft: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the draft with the objective that the message describes, if it has none.

    Fields that only this objective has are then read: "a reward when the number is right".
    """
    found = [each for each in read_described(message, draft, (), ()) if isinstance(each, Change)]
    if len(found) != 1:
        return draft
    section = draft.get("objective")
    own = section if isinstance(section, Mapping) else {}
    return {**draft, "objective": {**own, "type": found[0].value}}


def _of_tools(text: str, said: Sequence[Change | Choice]) -> Iterator[Span]:
    """Yield the words about machines and trackers, which say nothing about the rows."""
    for each in said:
        if each.pointer.startswith(_TOOLS):
            yield from find_places(text, each.words)


def _columns(text: str, said: Sequence[Change | Choice]) -> Iterator[Span]:
    """Yield the range of each column's name in the words that gave its role."""
    for each in said:
        if isinstance(each, Change) and each.pointer.startswith(_COLUMNS):
            first = max(0, find_words(text, fold(each.words)))
            place = text.rfind(fold(str(each.value)), first, first + len(each.words))
            if place >= 0:
                yield place, place + len(str(each.value))


def _without(text: str, spans: Sequence[Span]) -> str:
    """Return a text with the letters of some ranges replaced by underscores."""
    for start, end in spans:
        text = f"{text[:start]}{'_' * (end - start)}{text[end:]}"
    return text


def _weigh(objective: str, part: str, text: str) -> int:
    """Return the weight of a part of a description in the whole message."""
    if objective == "cpt" and part == "hint" and _MADE.search(text):
        return 0
    if part == "goal" and objective != "distill" and _TALKS.search(text):
        return _WEIGHTS["hint"]
    if part == "data" and objective in _TELLING_ROWS and _COMPARED.search(text):
        return _ENOUGH
    return _WEIGHTS[part]


def _find_parts(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield the parts of descriptions in a text: the objective, the kind of the part, its place."""
    for sentence in _SENTENCE.finditer(text):
        first, last = sentence.span()
        for objective, part, pattern in _patterns():
            if (match := pattern.search(text, first, last)) is not None:
                yield objective, part, match.start(), match.end()
        said = {name: pattern.search(text, first, last) for name, pattern in _classes().items()}
        for objective, parts in _TABLE.items():
            for one, other in parts.get(_PAIRS, ()):
                found = [match.span() for match in (said[one], said[other]) if match is not None]
                if len(found) == len((one, other)):
                    yield objective, "goal", min(found)[0], max(end for _, end in found)


@cache
def _classes() -> Mapping[str, re.Pattern[str]]:
    return {
        name: re.compile(rf"(?<!\w){any_of(entry)}(?!\w)")
        for name, entry in _TABLE[_CLASSES].items()
    }


@cache
def _patterns() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    return tuple(
        (objective, part, re.compile(rf"(?<!\w){any_of(entry)}(?!\w)"))
        for objective, parts in _TABLE.items()
        for part, entry in parts.items()
        if objective != _CLASSES and part != _PAIRS
    )
