"""Parts of a message that set nothing: logs, settings that are only shown, retracted parts.

"{'loss': 0.4, 'epoch': 2.0} ... why does it stop?", "the wiki says: ... is that right?", "rank 8.
Hm, no, forget I said anything". Such parts are blanked before the message is read, so that every
other word keeps its place.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from ftc.tui.understanding.doubts.undone import begins_anew, find_undone
from ftc.tui.understanding.text.lexicon import NUMBER, any_of
from ftc.tui.understanding.text.message import Message, Span, fold
from ftc.tui.understanding.text.sentences import is_question, split_sentences
from ftc.tui.understanding.text.word_tables import word_table

_ASIDE: Final[Mapping[str, Any]] = word_table("aside")
_GAP: Final = r"[\s,.;:!\u2026()\u2013\u2014-]*"
_PERSON: Final = re.compile(rf"(?<![\w-]){any_of(_ASIDE['person'])}(?![\w-])")
#: A line of program output.
_PRINTED: Final = re.compile(
    r"^[ \t]*(?:"
    r"\{[^{}\n]*['\"](?:loss|eval_\w+|grad_norm|train_\w+)['\"]\s*:[^{}\n]*\}"
    r"|(?:[\w.]+\.)?\w*(?:Error|Exception|Warning|Interrupt)\b:.*"
    r"|(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\n]*|\[\d\d:\d\d:\d\d\][^\n]*)"
    r"|\[?(?:WARNING|WARN|ERROR|INFO|DEBUG|CRITICAL|FATAL|rank\d+)\]?(?:\s*[:|-]|\s+\[)[^\n]*"
    r"|Traceback \(most recent call last\):?.*|File \"[^\"\n]+\", line \d+.*"
    r"|(?:srun|slurmstepd|sbatch|nvcc|pip|bash|zsh): (?:error|warning|fatal)[^\n]*"
    r"|[^\n]*\b\d+%\|[^|\n]*\|[^\n]*"
    r"|\|[^\n]*\|"
    r")[ \t]*$",
    re.MULTILINE,
)
#: A dictionary from a log, or an out-of-memory message, inside a sentence.
_OF_MEMORY: Final = re.compile(
    r"(?i)\{[^{}\n]*['\"](?:loss|eval_\w+|grad_norm|train_\w+)['\"]\s*:[^{}\n]*\}"
    r"|(?:torch\.(?:cuda\.)?)?OutOfMemoryError\b:?|CUDA out of memory\.?"
    r"|Tried to allocate [\d.]+ ?[GMK]i?B\.?"
    r"|GPU \d+ has a total capacity of [\d.]+ ?[GMK]i?B(?: of which [\d.]+ ?[GMK]i?B is free)?\.?"
    r"|(?:Of the allocated memory )?[\d.]+ ?[GMK]i?B (?:is allocated by PyTorch|is free"
    r"|is reserved by PyTorch[^.\n]*|memory in use)\b\.?"
)
_DENIED_AT_ONCE: Final = re.compile(
    r"(?P<sign>^\s*|[.!]\s+|[,;|]\s*|\s[/-]\s)?(?<![^\s\u00bf])"
    r"(?P<asked>(?:[^\s,;|?!\n]+ ){0,3}[^\s,;|?!\n]+)\?\s*"
    r"(?:no|nope|nah|naa|whatever|tampoco|da igual|tant se val|que va|no way|not a chance"
    r"|absolutely not|ni (?:hablar|pensarlo|parlar-ne|pensar-hi|loc[oa]|boig|boja)"
    r"|de (?:ninguna|cap) manera)\s*(?:[,.;/-]\s*|$)"
)
#: "Five epochs? No, three": the writer answers the question with another number.
_ANSWERED: Final = re.compile(
    r"(?i)(?P<mark>\u00bf?)(?P<asked>[^\u00bf?\n]{1,40})"
    rf"\?(?=\s*(?:no|nah|nope)\s*[,:]?\s+{NUMBER}\s*(?:$|[.,;!]))"
)
_SETTING: Final = re.compile(
    r"^[ \t]*(?:[-*] )?[\"']?-{0,2}[A-Za-z_][\w.-]*[\"']?\s*(?:[:=]\s*|\s(?=[\d\"'])"
    r"|:$)\S*[^\n?]{0,60}$",
    re.MULTILINE,
)
_KEY: Final = re.compile(r"[\"']?-{0,2}\w+[_-]\w+[\"']?\s*[:=]|[\"']?\w+[\"']?\s*[:=]\s*[\d\"'\[]")
_SHOWN: Final = re.compile(rf"\b{any_of(_ASIDE['shown'])}\b")
_COPIED: Final = re.compile(rf"\b{any_of(_ASIDE['copied'])}(?!\w)")
_PRONOUN: Final = re.compile(
    r"[\s\u00bf]*(?:(?:is|does|would|will|can|what'?s|what is) )?(?:it|that|this|eso|esto|ese|esa"
    r"|aixo|allo"
    r"|aquest|aquesta)\b"
)
#: "no era lora sin\u00f3 qlora", "not 3 epochs but 5": only the second value stays.
_CONTRAST: Final = re.compile(
    r"(?P<no>\b(?:no (?:es|era|son|eran|eren|sera|seran)(?: pas)?|no|not|it (?:isn|wasn)'?t)\s)"
    r"(?!(?:only|just|nomes|solo|solament|solamente|tan)\b)"
    r"(?P<first>(?:[^\s.,;:!?]+\s){0,3}?[^\s.,;:!?]+),?"
    r"(?P<but>\s(?:sino(?: que (?:es|era|son|eran|eren))?|but(?: rather)?)\s(?:(?:el|la|els|les"
    r"|los|las|un|una"
    r"|the|an?|de|d')\s)*)(?P<second>[^\s,;!?]+)"
)
#: "raise it from 3 to 6 percent": the number before the change.
_MOVED: Final = re.compile(
    r"\b(?:pas[aeo]|pass[ai]|canvi[ae]|cambi[ae]|puj[ae]|sub[ae]|baix[ai]|baj[ae]|raise|lower|bump|move|change|drop|go|bring"
    r"|take|reduc\w+|increas\w+|(?:has|have|ha|han) (?:gone|dropped|risen|fallen|bajado|subido"
    r"|baixat|pujat))\S*"
    r"(?:(?!\b(?:to|al?|hasta|fins|or|o)\b)[^.;,!?\n\d]){0,30}?"
    r"\s(?P<from>(?:de|del|from)\s(?:the\s|el\s)?\d+(?:[.,]\d+)*(?:e-?\d+)?k?\s?(?:%|[a-z]{3,12})?)\s"
    r"(?=(?:al?|to|hasta|fins a)\s(?:el\s)?\.?\d)"
)
_DIGIT: Final = re.compile(r"\d")
_BLANK: Final = re.compile(r"[^\n]")
#: A time of the day: "on Friday at 19:45", "8:30 pm". A duration has seconds.
_CLOCK: Final = re.compile(
    r"(?<![\w:.,])(?:(?:at|by|until|till|since|around|before|after|from|las?|les?|nits?|noches?)\s+"
    r"(?:[01]?\d|2[0-3])(?::[0-5]\d(?![\d:])(?:\s?[ap]m\b)?|\s?[ap]m\b)"
    r"|(?:[01]?\d|2[0-3])(?::[0-5]\d)?\s?[ap]m\b)"
)


def set_aside(text: str) -> str:
    """Return a message of the same length, with spaces for the parts that set nothing."""
    kept = _ANSWERED.sub(lambda found: f"{' ' * len(found['mark'])}{found['asked']},", text)
    parts = (_contrasted, _moved, _printed, _shown, _topics, _times, _answered)
    for start, end in [span for find in parts for span in find(kept)]:
        kept = _blanked(kept, start, end)
    for start, end in find_undone(kept):
        kept = _blanked(kept, start, end)
    return kept


def find_ignored(text: str) -> Sequence[Span]:
    """Return the statements of people whom the message ignores: "ignore him".

    That is the sentence up to these words, and the sentence before it.
    """
    found = []
    for match in _PERSON.finditer(fold(text)):
        before = [each for each in split_sentences(text) if each.start < match.start()]
        own = text[before[-1].start : match.start()] if before else ""
        alone = len(re.findall(r"\w+", own)) < _FEW
        first = before[-2 if alone and len(before) > 1 else -1].start if before else match.start()
        found.append((first, match.start()))
    return found


#: The minimum number of words that form a separate part before words that undo.
_FEW: Final = 3


def _blanked(text: str, start: int, end: int) -> str:
    return text[:start] + _BLANK.sub(" ", text[start:end]) + text[end:]


def _printed(text: str) -> Iterator[Span]:
    """Yield the lines of program output, and out-of-memory messages inside a sentence."""
    for match in _PRINTED.finditer(text):
        yield match.span()
    for match in _OF_MEMORY.finditer(text):
        yield match.span()


def _contrasted(text: str) -> Iterator[Span]:
    """Yield the value that another one replaces, with its negation: "no era lora sin\u00f3 qlora".

    The noun of a replaced number stays. The English "but" contrasts only numbers.
    """
    folded = fold(text)
    for match in _CONTRAST.finditer(folded):
        message = Message(match["first"])
        numbers = list(re.finditer(NUMBER, message.folded))
        numbered = bool(numbers) and _DIGIT.search(Message(match["second"]).folded) is not None
        if not numbered and not match["but"].lstrip().startswith("sino"):
            continue
        if not numbered:
            yield match.start(), match.start("second")
            continue
        last = numbers[-1].span()
        start, end = message.origin[last[0]][0], message.origin[last[1] - 1][1]
        first = match.start("first")
        yield match.span("no")
        yield first + start, first + end
        yield match.span("but")


def _moved(text: str) -> Iterator[Span]:
    """Yield the number from which a value is changed: "raise it from 3 to 6 percent"."""
    for match in _MOVED.finditer(fold(text)):
        yield match.span("from")


def _times(text: str) -> Iterator[Span]:
    """Yield the times of the day, whose numbers set nothing."""
    for match in _CLOCK.finditer(fold(text)):
        yield match.span()


def _shown(text: str) -> Iterator[Span]:
    """Yield lines of settings that are only shown: somebody else's, or part of a question.

    Lines that the message asks to use are not among them.
    """
    lines = [match.span() for match in re.finditer(r"[^\n]+", text)]
    given = [
        span
        for span in lines
        if _SETTING.fullmatch(text, *span) and _KEY.search(text, *span) is not None
    ]
    if not given or len(given) == len(lines):
        return
    before = text[: given[0][0]]
    after = text[given[-1][1] :]
    asked = after.strip() != "" and all(map(is_question, _sentences(after)))
    if _COPIED.search(fold(before)) or (_COPIED.search(fold(after)) and not asked):
        return
    told = _SHOWN.search(fold(before.strip().rpartition("\n")[2])) is not None
    if asked or (told and after.strip() != ""):
        yield from given


def _topics(text: str) -> Iterator[Span]:
    """Yield isolated names before a question about them: "Qwen3-4B-Base... what's Base?".

    The question repeats a part of the name, or begins with a pronoun for it.
    """
    for topic, question in pairwise(split_sentences(text)):
        named = text[topic.start : topic.end].rstrip()
        if topic.asks or not question.asks or not named.endswith(("...", "\u2026", ":")):
            continue
        words = re.findall(r"[\w.]+", fold(named))
        asked = fold(text[question.start : question.end])
        parts = {part.strip(".") for part in words if len(part.strip(".")) > 1}
        repeats = parts & {each.strip(".") for each in re.findall(r"[\w.]+", asked)}
        if len(named.split()) <= _FEW and (repeats or _PRONOUN.match(asked)):
            yield topic.start, topic.end


def _answered(text: str) -> Iterator[Span]:
    """Yield questions that the writer immediately denies: "ipo? no", "corpus.txt? no, b.csv".

    The range starts after the last sign. If that text is a sentence, only its last word is yielded.
    """
    for match in _DENIED_AT_ONCE.finditer(folded := fold(text)):
        if begins_anew(folded, match.end("asked")):  # "too? no, forget all that" undoes more
            continue
        asked = match["asked"]
        short = len(asked.split()) <= _FEW and match["sign"] is not None
        start = match.start("asked") if short else match.end("asked") - len(asked.split()[-1])
        yield start, match.end()


def _sentences(text: str) -> Sequence[str]:
    return [text[each.start : each.end] for each in split_sentences(text)]
