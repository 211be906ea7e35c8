"""Reads regression checks: "regression gate: neutral.txt, may drop 5 % at most".

The files and the numbers in a part of the message about regressions belong to the check, and to no
other field.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.spec.schema import find_field
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_POINTER: Final = "/training/evaluation/regression"
#: A sentence, or its part up to a semicolon; a point inside a file's name does not end it.
_PART: Final = re.compile(r"(?:[^;!?\n.]|\.(?=\S))+")
_NOT: Final = r"(?:(?:must|should|can|may|do|does|will)\s?(?:n'?t|not)|never|no|nunca|mai)"
_NEGATED: Final = re.compile(_NOT)
_ABOUT: Final = re.compile(
    r"\b(?:regression\w*|regresi\w+|regressi\w+|forgetting|olvido|oblit|gates? (?:it )?on"
    r"|(?:if|when|si|quan|cuando) (?:\w+ ){0,2}?(?:forget|oblid|olvid|empitjor|empeor)\w*"
    r"|(?:if|when|si|quan|cuando) (?:\w+ ){0,2}?(?:los|drop|fall|perd|pierd|baix|baj|cai|caig)\w*"
    r"(?: by| in)? (?:more than|over|mes de|mas de)"
    rf"|{_NOT} (?:\w+ ){{0,3}}?(?:drop|fall|baix|baj|cai|caig)\w*(?: by| in)?"
    r" (?:more than|mes de|mas de)"
    rf"|{_NOT} (?:\w+ ){{0,3}}?(?:lose|forget|degrade|get worse|perd\w+|pierd\w+|oblid\w+|olvid\w+"
    r"|empitjor\w+|empeor\w+))(?!\w)"
)
#: "...; and the perplexity on wiki.txt, 2 %": the next part of the same list.
_CONTINUES: Final = re.compile(
    r"\s*(?:(?:and|plus|also|i|y|tambe|tambien)\b|(?:[^,]{0,30}?\b)?(?:ppl|perple[xj]\w+))"
    rf"(?=[^;!?\n]*{NUMBER}\s?(?:%|p\w*nts?\b|p\w*ntos?\b|pp\b))"
)
_FILE: Final = re.compile(
    r"(?<![\w./~-])(?:~?/|\.{1,2}/)?[\w./-]*\w\.(?:jsonl?|txt|csv|parquet)(?!\w)"
)
_DROP: Final = re.compile(
    rf"(?<![\w.,/-])(?P<number>{NUMBER})\s?(?P<unit>%|percent\b|per ?cent\b|por ciento\b"
    r"|(?:percentage )?points?\b|pts?\b|punts?\b|puntos?\b|pp\b)?(?![\w/]|[.,]\d)"
)
#: A bound of a score is a share; a larger number is in per cent or points.
_MOST_SHARE: Final = 1


def read_regression(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the checks of the parts that mention regressions and a file."""
    if applies(find_field(_POINTER), message, draft) is False:
        return
    checks: list[dict[str, Any]] = []
    said: list[str] = []
    for part in list(_PART.finditer(message.folded)):
        about = _ABOUT.search(part[0]) or (_CONTINUES.match(part[0]) if checks else None)
        files = list(_FILE.finditer(part[0])) if about else []
        if about is None or not files or message.denied(part.start() + about.start()):
            continue
        drops = [each.end() for each in _drops(part[0], files)]
        if not drops and _NEGATED.match(about[0]):
            continue  # "we must not lose data.csv" sets no bound
        checks += _checks(message, part, files)
        first = part.start() + min(about.start(), files[0].start())
        last = part.start() + max(files[-1].end(), *drops, 0)
        said.append(message.words(first, last))
        message.cross_out(first, last)
    if checks and admits(_POINTER, checks):
        yield Change(pointer=_POINTER, value=checks, words=", ".join(said))


def _drops(text: str, files: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the numbers of a part outside file names."""
    inside = [each.span() for each in files]
    return [
        each
        for each in _DROP.finditer(text)
        if each["number"][0].isdigit() or each["number"][0] == "." or each["unit"]
        if not any(start <= each.start() < end for start, end in inside)
    ]


def _checks(
    message: Message, part: re.Match[str], files: list[re.Match[str]]
) -> Iterator[dict[str, Any]]:
    """Yield a check for each file, with the drop after it, or else the only drop of the part.

    If the first drop precedes the first file, each drop precedes its file.
    """
    drops = _drops(part[0], files)
    ahead = bool(drops) and drops[0].start() < files[0].start()
    starts = [0, *(each.end() for each in files)]
    stops = [*(each.start() for each in files[1:]), len(part[0])]
    for file, start, stop in zip(files, starts, stops, strict=False):
        path = message.words(part.start() + file.start(), part.start() + file.end())
        check: dict[str, Any] = {"text" if path.endswith(".txt") else "prompts": path}
        first, last = (start, file.start()) if ahead else (file.end(), stop)
        own = [each for each in drops if first <= each.start() < last]
        own = own or (drops if len(drops) == 1 else [])
        number = read_number(own[0]["number"]) if own else None
        if number is not None:
            points = own[0]["unit"] or number >= _MOST_SHARE
            check["max_drop"] = as_written(round(number / 100 if points else number, 6))
        yield check
