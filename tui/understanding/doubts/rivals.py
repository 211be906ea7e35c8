"""Doubts about a value because of a rival in another part of the message.

"Alpha at 128 there, 32 does for me" has a second number, "2e-4 failed, a tenth of that" a factor,
"the card says packing: true; what does it do?" a question about what it shows. If no reader took
the rival, it is a sign that the first value is not the request.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.bare import DESCRIBED
from ftc.tui.understanding.elsewhere import find_reports
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Span, find_places, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.sentences import split_sentences
from ftc.tui.understanding.text.word_tables import word_table

_RIVALS: Final[Mapping[str, Any]] = word_table("rivals")
_NEXT: Final = rf"(?=\s*(?:$|[;:!?)\n]|[.,](?!\d)|(?:i|y|and|so) |{any_of(_RIVALS['verdict'])}\b))"
#: A number without a noun: "two is plenty", "so put 20 and we have some room".
_TYPES: Final = "/export/types"
_ALSO: Final = re.compile(r"\b(?:also|as well|tambe|tambien)\b")
_OTHER: Final = re.compile(
    rf"(?:(?:(?<=[.,;:!?] )|(?<![\w'-]){any_of(_RIVALS['lead'])}\s+"
    r"(?:(?:an?|the|un|una|el|la)\s+)?)"
    rf"(?P<number>{NUMBER})\s?%?{_NEXT})"
    rf"|(?<![\w.,-])(?P<enough>{NUMBER})\s?%?\s+{any_of(_RIVALS['verdict'])}(?!\w)"
)
_DENIED: Final = re.compile(r"\b(?:not|no|no pas|never|ni)\s+\Z")
_FACTOR: Final = re.compile(rf"(?<![\w'-]){any_of(_RIVALS['factor'])}(?![\w'])")
_ASKS_OF: Final = re.compile(rf"(?<![\w'-]){any_of(_RIVALS['asks_of'])}")
_BESIDES: Final = re.compile(rf"(?<![\w'-]){any_of(_RIVALS['besides'])}(?![\w'])")
#: The text between a number of cards and "in total".
_TOTAL_OF_CARDS: Final = re.compile(r"[^.;!?\n\d]{0,60}")
_TOTAL: Final = re.compile(rf"(?<![\w'-]){any_of(_RIVALS['total'])}(?![\w'])")
_ORDER: Final = re.compile(rf"\b(?:{any_of(WORDS['put'])}|{any_of(WORDS['acts'])})\b")
_RETRACTED: Final = re.compile(
    rf"(?:[.,;:!?\u2026\n-]|\bbut|\bpero)[^.;:!?\n]{{0,24}}?(?<![\w'-]){any_of(_RIVALS['retracts'])}"
    r"\s+(?:(?:the|that|el|la|els|les|los|las|l')\s*)(?P<name>[\w-]+)(?!\w)"
)
_AGREES: Final = re.compile(r"\W*(?:yes|yeah|yep|ok|okay|sure|si|vale|va|clar|claro|please)\b")
_SHORTEST: Final = 2
_LONG: Final = 6
_THE: Final = r"(?:(?:the|el|la|els|les|los|las)\s+|l')?"
_TOO: Final = r",?\s+(?:too|as well|also|tambe|tambien)\b"
#: Columns, and words that give one the name of an instruction's: "`client` goes to input".
_ROLES: Final = frozenset({"/data/columns/prompt", "/data/columns/completion"})
_OTHER_ROLE: Final = re.compile(
    r"\b(?:goes (?:in|to|into|under)|(?:va|van|ira) (?:a|en|com a|como))\s+(?:the |l'|el )?"
    r"[\"'`\u00ab]?(?:input|output|instruction)\b"
)
_COUNT, _NODES = "/hardware/count", "/hardware/nodes"

Said = Change | Choice


def doubt_rivals(text: str, told: Sequence[Said]) -> list[Said]:
    """Return the values, with a question for each value that is followed by a rival."""
    folded = fold(text)
    kept = [_shared(folded, each, told) for each in _without_retracted(folded, told)]
    used = [span for each in kept for span in find_places(text, each.words)]
    used += [(each.start, each.end) for each in split_sentences(text) if each.asks]
    doubted = {*_outnumbered(folded, text, kept, used), *_asked_about(folded, text, kept)}
    return [ask_about(each) if each.pointer in doubted else each for each in kept]


def doubt_asked(text: str, told: Sequence[Said], about: str | None) -> list[Said]:
    """Return the values, with a question for each that only repeats a word of a question.

    "Stratify? The only thing stratified here is the rock": a remark, unless it orders or agrees.
    """
    topic = re.findall(r"\w+", fold(about or ""))
    if len(topic) != 1 or len(topic[0]) < _LONG:
        return list(told)
    stem = topic[0][:_LONG]
    after = fold(text).partition("?")[2]
    if _ORDER.search(after) or _AGREES.match(after):
        return list(told)
    return [ask_about(each) if fold(each.words).startswith(stem) else each for each in told]


def doubt_added(text: str, told: Sequence[Said]) -> list[Said]:
    """Return the values, with a question for each list and column that is added to another one.

    "Besides that, a Q6_K", "... and the head too": the other part has not been read.
    """
    folded = fold(text)
    return [ask_about(each) if _is_added(folded, each) else each for each in told]


def _is_added(folded: str, said: Said) -> bool:
    if not isinstance(said, Change):
        return False
    if said.pointer in _ROLES:
        return _OTHER_ROLE.search(folded) is not None
    if said.pointer.startswith(DESCRIBED) or not isinstance(said.value, list):
        return False
    if _BESIDES.search(folded):  # "besides what comes out, also a Q6_K": added to the draft's
        return said.pointer != _TYPES or len(said.value) == 1 or _ALSO.search(folded) is None
    words = re.sub(rf"{_TOO}$", "", fold(said.words))
    too = rf"\b(?:and|i|y)\s+{_THE}{re.escape(words)}{_TOO}"
    return len(said.value) == 1 and re.search(too, folded) is not None


def _outnumbered(
    folded: str, text: str, told: Sequence[Said], used: Sequence[Span]
) -> Iterator[str]:
    """Yield the field of the last value before each unread number or factor."""
    for match in (*_OTHER.finditer(folded), *_FACTOR.finditer(folded)):
        group = next((name for name, value in match.groupdict().items() if value), 0)
        place = match.span(group)
        if _DENIED.search(folded, 0, match.start()):
            continue  # "down to 10% of that, not to 0"
        reported = find_reports(text)  # "my boss says that 1 is plenty"
        if any(start < place[1] and place[0] < end for start, end in (*used, *reported)):
            continue
        number = read_number(match[group].strip()) if group else None
        behind = [
            (find_places(text, each.words)[0][1], each)
            for each in told
            if _may_be_number(each) and find_places(text, each.words)
        ]
        before = [pair for pair in behind if pair[0] <= place[0]]
        last = max(before, key=lambda pair: pair[0])[1] if before else None
        if isinstance(last, Change) and (number is None or _is_of_kind(last, number)):
            yield last.pointer


def _may_be_number(said: Said) -> bool:
    """Return whether a number may belong to a field: its value is a number or unknown."""
    if said.pointer.startswith(DESCRIBED):
        return False
    return _is_number(said.value) if isinstance(said, Change) else not said.values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_of_kind(said: Change, number: float) -> bool:
    """Return whether a field accepts a number, or that number of percent."""
    values = (number, number / 100) if isinstance(said.value, float) else (number,)
    return number != said.value and any(admits(said.pointer, as_written(each)) for each in values)


def _asked_about(folded: str, text: str, told: Sequence[Said]) -> Iterator[str]:
    """Yield the fields that the message only shows in order to ask about them.

    The sentence before the question has no order.
    """
    sentences = list(split_sentences(text))
    for index, question in enumerate(sentences):
        if not question.asks or _ASKS_OF.search(folded, question.start, question.end) is None:
            continue
        shown = (0, question.start)
        if index == 0 or _ORDER.search(folded, *shown):
            continue
        for each in told:
            places = find_places(text, each.words)[:1]
            if not each.pointer.startswith((*DESCRIBED, "/hardware/")) and any(
                start < shown[1] for start, _ in places
            ):
                yield each.pointer


def _without_retracted(folded: str, told: Sequence[Said]) -> Iterator[Said]:
    """Yield the values; lists lose the members that later words retract."""
    named = [match["name"] for match in _RETRACTED.finditer(folded)]
    for each in told:
        if not (isinstance(each, Change) and isinstance(each.value, list)):
            yield each
            continue
        gone = [
            item
            for name in named
            if len(name) >= _SHORTEST
            for item in _called(each.value, name)
            if folded.count(_plain(name)) > 1 or folded.count(name) > 1
        ]
        left = [item for item in each.value if item not in gone]
        yield replace(each, value=left) if left and gone else each


def _called(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return the one value that begins with a name, or none."""
    found = [each for each in values if _plain(str(each)).startswith(_plain(name))]
    return found if len(found) == 1 else ()


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", fold(name))


def _shared(folded: str, said: Said, told: Sequence[Said]) -> Said:
    """Return the number of cards per machine if the message gives the total of all machines."""
    nodes = [each.value for each in told if isinstance(each, Change) and each.pointer == _NODES]
    if not isinstance(said, Change) or said.pointer != _COUNT:
        return said
    start = folded.find(fold(said.words))
    near = _TOTAL_OF_CARDS.match(folded, max(0, start) + len(said.words))
    if near is None or _TOTAL.search(near[0]) is None:
        return said
    if not (nodes and isinstance(said.value, int) and _is_number(nodes[0])):
        return said
    each, rest = divmod(said.value, nodes[0])
    return replace(said, value=each) if each and not rest else said
