"""Parts of a message that request nothing now: quotations and future plans.

"The blog said: 'rank 16 and dropout 0.1 will do'", "once the second card arrives I'll try ZeRO-3".
The assistant asks about a value in such a part instead of setting it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from ftc.tui.understanding.bare import DESCRIBED
from ftc.tui.understanding.certainty import CONDITION, OWN_CONDITION, USING, is_endorsed
from ftc.tui.understanding.elsewhere import (
    drop_unheeded,
    find_elsewhere,
    find_past,
    find_people,
)
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import (
    SENTENCE_END,
    Message,
    Span,
    find_around,
    find_places,
    fold,
)
from ftc.tui.understanding.text.sentences import split_sentences
from ftc.tui.understanding.text.word_tables import word_table

_HEARSAY: Final[Mapping[str, Any]] = word_table("hearsay")
_SOMEDAY: Final = re.compile(rf"(?<![\w-]){any_of(_HEARSAY['someday'])}(?!\w)")
#: A reminder or a note about another spec.
_ANOTHER_SPEC: Final = re.compile(rf"(?<![\w-]){any_of(_HEARSAY['another_spec'])}(?!\w)")
#: "next year we'll buy two A100, for now set 2 epochs": what follows is for this run.
_NOW: Final = re.compile(
    r"[,:(]\s*(?:(?:and|but|so|i|y|pero) )?(?:for (?:now|the moment)|right now|now|today|meanwhile"
    r"|ara(?: per ara| mateix)?|de moment|avui|mentrestant|ahora(?: mismo)?|por ahora|de momento"
    r"|hoy|mientras(?: tanto)?)\b"
)
#: A concession is not a request: "even though the tutorial sets beta2 to 0.95".
_CONCESSIVE: Final = re.compile(
    rf"(?<![\w-]){any_of(_HEARSAY['concessive'])}"
    r"(?! (?:with|without|preferably|better|con|sin|mejor|amb|sense|millor|only|solo|nomes)\b)"
    r"(?=\s+\w)"
)
#: A question that refers to the text before it: "is that so?".
_ASKS_BACK: Final = re.compile(rf"(?<!\w){any_of(_HEARSAY['asks_back'])}(?!\w)")
_ABOUT: Final = re.compile(rf"(?<![\w-]){any_of(_HEARSAY['about'])}(?!\w)")
#: An action of somebody else: "my boss trained hers", "el perito usó", "el professor va posar".
#: Spanish marks the past tense with an accent, which folding removes.
_PAST: Final = re.compile(
    r"(?i)\b\w{2,}(?:(?<!ci)(?<!si)\u00f3|aron|ieron)\b"
    r"|\b(?:va|van)\s+(?!a\b|b\u00e9\b|(?:entre|sobre|sempre)\b)\w{2,}(?:ar|er|ir|re)\b|\b\w{3,}(?:ava|aven|aban)\b"
    r"|\b(?!(?:it|them|model|run|thing|weights?|i|we|is|are|was|were|be|been|get|got|the|a|an|to|and"
    r"|or|not|already|just|lm|llm|projector|tower|encoder|vit|backbone|heads?|layers?|blocks?"
    r"|embeddings|adapters?|experts)\b)[a-z]{2,}(?:'s)? (?:once |always |just |also )?"
    r"(?:trained|used|ran|tried|recommended|suggested|swears? by|swore by|went with"
    r"|got away with|preferred)\b"
)
_CLAUSE_END: Final = re.compile(r"[!?;:,\n]|\.(?=\s|$)|\b(?:but|pero)\b")
#: "and" goes on with a report, unless a new demand follows.
_REPORT_END: Final = re.compile(
    rf"[!?;:,\n]|\.(?=\s|$)|\b(?:but|pero|so|and (?:{any_of(WORDS['put'])}))\b"
)
#: Quoted words, at least three of them: a sentence, and no name.
_QUOTED: Final = re.compile(
    r"[\u201c\u00ab](?P<marked>[^\u201d\u00bb\n]*)[\u201d\u00bb]|(?<!\w)\"(?P<plain>[^\"\n]*)\"(?!\w)"
    r"|(?<!\w)'(?P<single>[^'\n]*)'(?!\w)"
)
_CONDITION_END: Final = re.compile(
    r"[!?;:,\n]|\.(?=\s|$)|\b(?:then|but|and|llavors|aleshores|pero|entonces|i|y)\b"
)
#: Fields whose own words are conditions: "stop if it does not improve", "cut what is too long".
_OWN_CONDITION: Final = (*OWN_CONDITION, "/data/max_length", "/data/cleaning")
_FEWEST_WORDS: Final = 3
#: "rank -8"
_SIGNED: Final = re.compile(r"[\s:=]-\d[^-]*$")
_MINUS: Final = re.compile(r"(?:^|(?<=[\s:=]))(?:(?:minus|menos|menys|negative)\s+|-)$")

_BUT: Final = re.compile(r"\b(?:but|except|menys|menos|excepte|excepto|salvo)\s+\S+$")
_ALL_BUT: Final = re.compile(
    r"\b(?:all|everything|tot|todo|todos|tots) (?:but|except|menys|menos|excepte|excepto|salvo)\s+$"
)
_SOURCE, _SOURCES = "/data/source", "/data/sources"
_OBJECTIVE: Final = "/objective/type"
_INTRODUCED: Final = re.compile(
    r"\b(?:i'?m|i am|my name is|this is|soy|me llamo|mi nombre es|soc|som|em dic|el meu nom es)"
    r"\s+(?:(?:en|na|la|el)\s+)?(?P<name>[a-z]+)\b"
)
_NAME: Final = re.compile(r"[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+")

_Said = Sequence[Change | Choice]


def prefer_own(text: str, told: _Said) -> list[Change | Choice]:
    """Drop hearsay about a field that the message sets elsewhere."""
    told = drop_unheeded(text, told)
    spans = find_hearsay(text)
    told = [_without_heard(text, each, find_people(text)) for each in told]
    own = {each.pointer for each in told if not _is_hearsay(text, each, spans)}
    return [each for each in told if each.pointer not in own or not _is_hearsay(text, each, spans)]


def _without_heard(text: str, said: Change | Choice, spans: Sequence[Span]) -> Change | Choice:
    """Return a list without the members of other people: "W4A16, NVFP4 is what Tom uses"."""
    if said.pointer == _SOURCES:
        spans = find_hearsay(text)
    if not (spans and isinstance(said, Change) and isinstance(said.value, list)):
        return said
    folded = fold(text)
    places = find_places(text, said.words)
    heard = [
        each
        for each in said.value
        for name in (re.sub(r"\\?[ _-]", "[ _-]?", re.escape(fold(str(each)))),)
        for start, end in places
        for place in (re.search(name, folded[start:end]),)
        if place is not None
        if any(first <= start + place.start() < last for first, last in spans)
    ]
    left = [each for each in said.value if each not in heard]
    if heard and not left:
        return ask_about(said)
    if said.pointer == _SOURCES and heard and len(left) == 1:
        return Change(pointer=_SOURCE, value=left[0], words=str(left[0]))
    return replace(said, value=left) if heard else said


def doubt_hearsay(text: str, told: _Said) -> list[Change | Choice]:
    """Replace each value that is only hearsay by a question."""
    spans = find_hearsay(text)
    if (asked := _find_back_question(text)) is not None:
        return [_doubted_by(each, text, spans, asked) for each in told]
    return [
        ask_about(each) if isinstance(each, Change) and _is_hearsay(text, each, spans) else each
        for each in told
    ]


def _find_back_question(text: str) -> int | None:
    """Return the start of a final question about the text before it: "is that so?"."""
    last = [*split_sentences(text)][-1:]
    if not last or not last[0].asks or text[last[0].end :].strip():
        return None
    start = max(last[0].start, text.rfind(",", last[0].start, last[0].end) + 1)
    question = fold(text[start : last[0].end])
    refers = not re.search(r"\d", question) and _ASKS_BACK.search(question)
    return start if refers else None


def _doubted_by(
    said: Change | Choice, text: str, spans: Sequence[Span], end: int
) -> Change | Choice:
    """Return a question for a value of hearsay if the message ends in a question about it."""
    inside = any(
        first <= start < last and start < end
        for start, _ in find_places(text, said.words)[:1]
        for first, last in spans
    )
    hearsay = inside or _is_hearsay(text, said, spans)
    return ask_about(said) if isinstance(said, Change) and hearsay else said


def strike_names(message: Message) -> None:
    """Cross out the names of people who introduce themselves: "soy Lora", "I'm Adam"."""
    for match in list(_INTRODUCED.finditer(message.folded)):
        if _NAME.fullmatch(message.words(*match.span("name"))):
            message.cross_out(*match.span("name"))


@lru_cache(maxsize=8)
def find_hearsay(text: str) -> Sequence[Span]:
    """Return the ranges of a text that request nothing now."""
    folded = fold(text)
    return [
        *_dreams(text),
        *_conditions(folded),
        *find_elsewhere(text),
        *_clauses(folded, _ABOUT),
        *_clauses(folded, _CONCESSIVE),
        *(find_around(_REPORT_END, folded, match.span()) for match in _PAST.finditer(text)),
    ]


def _clauses(folded: str, opening: re.Pattern[str]) -> Iterator[Span]:
    """Yield the rest of each clause from the words of a pattern."""
    for match in opening.finditer(folded):
        yield match.start(), find_around(_CLAUSE_END, folded, match.span())[1]


def _dreams(text: str) -> Iterator[Span]:
    """Yield quotations and sentences about the future, which do not request even an objective."""
    folded = fold(text)
    yield from find_quotations(text)
    for pattern in (_SOMEDAY, _ANOTHER_SPEC):
        for match in pattern.finditer(folded):
            start, end = find_around(SENTENCE_END, folded, match.span())
            now = _NOW.search(folded, match.end(), end)
            yield start, end if now is None else now.start()


def _conditions(folded: str) -> Iterator[Span]:
    """Yield the span of each condition, or of its whole sentence if the condition begins it.

    "if the 14B turns out too large", "if the loss does not fall, raise the rate to 5e-4".
    """
    for match in CONDITION.finditer(folded):
        first, last = find_around(SENTENCE_END, folded, match.span())
        leads = not folded[first : match.start()].strip()
        end = find_around(_CONDITION_END, folded, match.span())[1]
        yield match.start(), last if leads and folded[end : end + 1] == "," else end


def find_quotations(text: str) -> Iterator[Span]:
    """Yield the ranges of quotations of several words, with their quotation marks."""
    for match in _QUOTED.finditer(text):
        if (
            len((match["marked"] or match["plain"] or match["single"] or "").split())
            >= _FEWEST_WORDS
        ):
            yield match.span()


def _is_hearsay(text: str, said: Change | Choice, spans: Sequence[Span]) -> bool:
    if said.pointer == _OBJECTIVE:
        spans = [*_dreams(text), *find_past(text)]
    elif said.pointer.startswith("/hardware/"):  # other people own and lend machines
        spans = [span for span in spans if span not in find_people(text)]
    elif said.pointer.startswith(DESCRIBED):
        return False
    elif said.pointer.startswith(_OWN_CONDITION):
        spans = [*find_quotations(text), *find_elsewhere(text), *_clauses(fold(text), _ABOUT)]
    folded = fold(text)
    return any(
        _is_negative(folded, start, said)
        or _is_excepted(folded, (start, end), said)
        or _only_runs(folded, (start, end), said)
        or (
            any(first <= start and end <= last for first, last in spans)
            and not is_endorsed(folded, end)
        )
        for start, end in find_places(text, said.words)[:1]
    )


def _only_runs(folded: str, place: Span, said: Change | Choice) -> bool:
    """Return whether a machine only runs the result: "I want to run it on a laptop later"."""
    clause = folded[slice(*find_around(_CLAUSE_END, folded, place))]
    return said.pointer.startswith("/hardware/") and USING.search(clause) is not None


def _is_excepted(folded: str, place: Span, said: Change | Choice) -> bool:
    """Return whether a value is the exception: "any optimizer but SGD"."""
    start, end = place
    named = isinstance(said, Change) and isinstance(said.value, str)
    return (named and not said.pointer.startswith("/hardware/")) and (
        _BUT.search(folded[start:end]) is not None or _ALL_BUT.search(folded[:start]) is not None
    )


def _is_negative(folded: str, start: int, said: Change | Choice) -> bool:
    """Return whether a minus stands before a number: "minus three epochs", "-3 epochs"."""
    number = isinstance(said, Change) and type(said.value) in (int, float)
    signed = _SIGNED.search(said.words) is not None
    return number and (signed or _MINUS.search(folded[:start]) is not None)
