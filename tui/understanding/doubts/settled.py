"""Resolves a doubt with a later clause: "rank 32 earlier, but scrap that, 16 is plenty".

The clause has only a value and words of decision. The value is a number if the field is numeric,
words that the reader understands as a value of the field, or a part of a name that replaces a part
of the same form: "Mistral 7B v0.2... well, the v0.3".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.certainty import REVISED
from ftc.tui.understanding.doubts.hearsay import find_hearsay
from ftc.tui.understanding.fields.relative import read_factor, scale
from ftc.tui.understanding.learned.linked import numeric
from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.lexicon import CORRECTING, NUMBER, any_of
from ftc.tui.understanding.text.message import (
    SENTENCE_END,
    Message,
    Span,
    find_around,
    find_places,
    fold,
)
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.word_tables import word_table

_SAID: Final[Mapping[str, Any]] = word_table("settled")
_THE: Final = r"(?:(?:the|a|an|el|la|els|les|los|las|un|una)\s+)?"
_OPEN: Final = rf"(?P<open>(?:{any_of(_SAID['open'])}[\s,]+)*)"
_CLOSE: Final = rf"(?P<close>(?:\s+{any_of(_SAID['close'])})*)"
_NUMBERED: Final = re.compile(
    rf"\s*{_OPEN}{_THE}(?P<value>{NUMBER})(?P<share>\s?%)?(?P<unit>\s+[a-z]+)??{_CLOSE}\s*(?:of"
    rf" them)?\s*"
)
#: "I'll take double that", "with one more".
_RELATED: Final = re.compile(
    rf"\s*{_OPEN}(?:(?P<number>{NUMBER})\s+(?:[a-z]+\s+)?(?:(?P<more>more|mes|mas)|less|fewer|menys|menos)"
    r"|(?P<factor>\S+(?: \S+){0,3}?)(?: (?:as (?:much|many|long|high|often|big)|that|of (?:that|it"
    rf"|those)|d'aixo|de eso))?){_CLOSE}\s*"
)
_WORDED: Final = re.compile(rf"\s*{_OPEN}(?P<value>{_THE}\S+(?: \S+)?){_CLOSE}\s*")
_ALONE: Final = re.compile(rf"{_THE}\S+")
_CLAUSE_END: Final = re.compile(
    r"(?<=\s)(?=(?i:em quedo amb|ens quedem amb|me quedo con|nos quedamos con|(?:i'?ll"
    r"|we'?ll) (?:settle for"
    r"|go with|stick with|stay with)|i'?m going with)\s)"
    r"|\s[-\u2013\u2014]\s"
    r"|\b(?:and|but|so|pero|i|y|asi que|aixi que)\b(?! (?:mitja|mig|medi[ao]|a half)\b)"
    r"|[!?;:()\n\u2026]|[.,](?!\d)"
)
_DENIES: Final = re.compile(
    r"\b(?:no|not|ni)[\s,]+(?:(?:cada|every|each|after|with|amb|con|al?|als|en"
    r"|at|to)\s+)?$"
)
_COLUMNS: Final = "/data/columns/"
#: An interruption right after a value: "16 ... oh wait".
BROKEN_OFF: Final = re.compile(rf"\s*(?:\.{{2,}}|\u2026)|{CORRECTING}")
#: "four... sorry, five": the text before the second number.
_CORRECTED: Final = re.compile(rf"{CORRECTING}$")
#: "I have a 3B too" retracts nothing.
_BESIDE: Final = re.compile(r"\b(?:too|also|as well|tambe|tambien)\b")
#: "venga, 4": a word of decision before the last of several numbers.
_LED: Final = re.compile(rf"(?<!\w){any_of(_SAID['led'])}[\s,]+$")
#: A part of a name with a number in it: "7B", "v0.2".
_PART: Final = re.compile(r"[A-Za-z]*\d+(?:\.\d+)*[A-Za-z]*")

Said = Change | Choice
Reader = Callable[[str], Sequence[Change]]


def settle_later(text: str, told: Sequence[Said], read: Reader) -> list[Said]:
    """Return the values, with the value of a later clause for the one field in doubt.

    Nothing changes if several fields are in doubt and none is broken off, or if no clause decides
    the field. `read` returns the changes in a text.
    """
    target = _find_target(text, told)
    if target is None:
        return list(told)
    settled = None
    others = [each for each in told if each.pointer != target.pointer]
    for start, end in _clauses(text, target):
        if any(_is_part(text, (start, end), each) for each in others):
            continue
        last = isinstance(target, Choice) and not text[end:].strip(" .!\n")
        before = fold(text[:start])
        last = last or (settled is not None and _CORRECTED.search(before) is not None)
        last = last or _LED.search(before) is not None
        settled = _settled(text[start:end], target, read, last=last) or settled
    if settled is None:
        return list(told)
    settled = _whole(settled, target)
    inside = find_places(text, settled.words)[:1]
    return [*(each for each in others if not _is_in(text, each, inside)), settled]


def _whole(settled: Change, target: Said) -> Change:
    """Return the whole list in doubt if a clause repeats only a part of it: "Q5, plus an F16"."""
    values = target.values if isinstance(target, Choice) else (target.value,)
    part, whole = settled.value, values[0] if len(values) == 1 else None
    if not (isinstance(part, list) and isinstance(whole, list)):
        return settled
    if not all(each in whole for each in part):
        return settled
    return Change(pointer=settled.pointer, value=whole, words=target.words)


def _find_target(text: str, told: Sequence[Said]) -> Said | None:
    """Return the value in doubt: the interrupted one, or the only one.

    If several in one sentence are in doubt, it is the only number.
    """
    doubted = [each for each in told if _is_doubted(text, each)]
    broken = [each for each in doubted if _is_broken_off(text, each)]
    withheld = [each for each in doubted if isinstance(each, Choice) and each.values]
    for found in (broken, withheld or doubted, _numbers_of_one(text, withheld)):
        if len({each.pointer for each in found}) == 1:
            return found[0]
    return None


def _numbers_of_one(text: str, withheld: Sequence[Choice]) -> Sequence[Choice]:
    """Return the numbers among the values if all values are in one sentence, else nothing."""
    folded, known = fold(text), {field.pointer for field in numeric()}
    places = [find_places(text, each.words)[0] for each in withheld]
    sentences = {find_around(SENTENCE_END, folded, place) for place in places}
    return [each for each in withheld if each.pointer in known] if len(sentences) == 1 else ()


def _is_broken_off(text: str, said: Said) -> bool:
    """Return whether correcting words or three dots directly follow a value."""
    folded = fold(text)
    return any(BROKEN_OFF.match(folded, end) for _, end in find_places(text, said.words)[:1])


def _is_part(text: str, clause: Span, said: Said) -> bool:
    """Return whether a clause is the end of another value's words."""
    return isinstance(said, Change) and any(
        start < clause[0] and clause[1] <= end for start, end in find_places(text, said.words)
    )


def _is_in(text: str, said: Said, spans: Sequence[Span]) -> bool:
    """Return whether a change is in one of the ranges, or a question ends in one."""
    places = find_places(text, said.words)
    if isinstance(said, Choice):
        return any(start < last <= end for _, last in places for start, end in spans)
    return bool(places) and any(
        all(start <= first and last <= end for first, last in places) for start, end in spans
    )


def _is_doubted(text: str, said: Said) -> bool:
    """Return whether a field is undecided, or was set before words that revise it."""
    if said.pointer.startswith(_COLUMNS):
        return False
    if isinstance(said, Choice):
        return said.why in (UNSURE, "") and bool(find_places(text, said.words))
    if isinstance(said.value, list):
        return False  # corrections of lists have their own reader
    places = find_places(text, said.words)
    if not places:
        return False
    return _is_broken_off(text, said) or REVISED.search(fold(text), places[0][1]) is not None


def _clauses(text: str, target: Said) -> Iterator[Span]:
    """Yield the spans of the clauses after a field's words, without hearsay and questions."""
    begin = min((start for start, _ in find_places(text, target.words)), default=0)
    hearsay = find_hearsay(text)
    ends = [match.span() for match in _CLAUSE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    for first, end in zip(starts, [*(start for start, _ in ends), len(text)], strict=True):
        clause = text[first:end]
        start = first + len(clause) - len(clause.lstrip())
        told = any(one < end and start < other for one, other in hearsay)
        asked = text[end : end + 1] == "?"
        if start > begin and not told and not asked and clause.strip():
            yield start, end


def _settled(clause: str, target: Said, read: Reader, *, last: bool) -> Change | None:
    """Return the value that a clause gives to a field; the last clause may be only the value."""
    message = Message(clause)
    number = _NUMBERED.fullmatch(message.folded)
    if any(field.pointer == target.pointer for field in numeric()):
        if number is None:
            return _related(message, target, clause)
        others = {each.pointer for each in read(clause)} - {target.pointer}
        return None if others else _numbered(number, target, clause, last=last)
    if number is not None and not re.search(r"\d{4}", clause):
        return None
    worded = _WORDED.fullmatch(message.folded)
    if worded is None or _DENIES.search(worded["open"]):
        return None
    if not (worded["open"] or worded["close"] or _begins(worded["value"])):
        return None
    alone = _ALONE.fullmatch(worded["value"]) or worded["open"] or worded["close"]
    if _BESIDE.search(worded["value"]) or (isinstance(target, Change) and not alone):
        return None  # "the 3B failed"
    value = message.words(*worded.span("value"))
    changes = read(_with_part(target.words, value) or value)
    same = [each for each in changes if each.pointer == target.pointer]
    return same[0] if len(same) == 1 else None


def _with_part(words: str, value: str) -> str | None:
    """Return a name with a part of the same form replaced: "v0.3" replaces "v0.2"."""
    part = _PART.fullmatch(re.sub(rf"(?i)^{_THE}", "", value))
    if part is None:
        return None
    alike = [each for each in _PART.finditer(words) if _form_of(each[0]) == _form_of(part[0])]
    if len(alike) != 1 or alike[0][0].lower() == part[0].lower():
        return None
    return f"{words[: alike[0].start()]}{part[0]}{words[alike[0].end() :]}"


def _form_of(part: str) -> str:
    return re.sub(r"\d+", "0", part.lower())


def _begins(value: str) -> bool:
    """Return whether words begin with a definite article: "la 4080"."""
    return re.match(r"(?:the|el|la|els|les|los|las)\s", value) is not None


def _numbered(match: re.Match[str], target: Said, clause: str, *, last: bool) -> Change | None:
    pointer = target.pointer
    if not (match["open"] or match["close"] or last) or _DENIES.search(match["open"]):
        return None
    if match["unit"] and match["unit"].strip() not in Message(target.words).folded:
        return None
    number = read_number(match["value"].strip(), kilo=1024 if pointer.endswith("length") else 1000)
    if number is None:
        return None
    shared = match["share"] or "%" in target.words
    value = as_written(round(number / 100, 6) if shared else number)
    if not admits(pointer, value):
        return None
    return Change(pointer=pointer, value=value, words=clause.strip())


def _related(message: Message, target: Said, clause: str) -> Change | None:
    """Return a change relative to the value in doubt: "double that", "with one more"."""
    match = _RELATED.fullmatch(message.folded)
    said = target.values[:1] if isinstance(target, Choice) else (target.value,)
    now = said[0] if said else None
    if match is None or not match["open"] or isinstance(now, bool | str | list) or now is None:
        return None
    if match["number"] is not None:
        number = read_number(match["number"].strip()) or 0.0
        value = as_written(now + number if match["more"] else now - number)
    elif (factor := read_factor(match["factor"].strip())) is not None:
        value = scale(target.pointer, now, factor)
    else:
        return None
    if not admits(target.pointer, value):
        return None
    return Change(pointer=target.pointer, value=value, words=clause.strip())
