"""Texts of a message that may name a column, each with its shape.

They are quoted, do not look like ordinary words, or are in the position of a column.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.knowledge.objectives import ABBREVIATED
from ftc.spec.schema import fixed_values
from ftc.tui.understanding.text.message import Span, fold

_LETTER: Final = r"[^\W\d_]"
_BIG: Final = r"[A-Z\u00c0-\u00d6\u00d8-\u00de]"
_QUOTED: Final = re.compile(
    r"(?<![^\W_])(?:'(?P<a>[^'\n]{1,40})'|\"(?P<b>[^\"\n]{1,40})\"|`(?P<c>[^`\n]{1,40})`"
    r"|\u00ab(?P<d>[^\u00bb\n]{1,40})\u00bb"
    r"|[\u201c\u2018](?P<e>[^\u201d\u2019\n]{1,40})[\u201d\u2019])"
    r"(?![^\W_])"
)
#: A name that is not a word: "user_text", "PlayerLine", "OK_resp", "q1", "TIPO-AVERIA".
_CODE: Final = re.compile(
    rf"(?<![\w./\\@-])(?:{_LETTER}[^\W_]*(?:_\w+)+|{_LETTER}+\d{{1,2}}|[a-z]+[A-Z]\w*"
    rf"|[A-Z][a-z]+[A-Z]\w*|[A-Z]{{2,}}(?:[_-]\w+)*|[a-z]+-[a-z]+)(?![\w/\\@]|[.-]\w)"
)
_COLUMN: Final = (
    r"(?:columns?|columna|columnes|columnas|colunma|fields?|camps?|campos?|cols?\.?)(?!\w)"
    r"(?: (?:called|named|no\.|es diu|es diuen|se llama|se llaman|anomenad[ae]s?|llamad[ao]s?"
    r"|is|are|es|son)(?!\w))?"
)
_WORD: Final = rf"{_LETTER}[\w'\u2019-]*"
_SMALL: Final = r"(?:(?![A-Z\u00c0-\u00de])[^\W\d_]['\w]*)"
_NO_TAIL: Final = (
    "goes?|comes?|has|have|holds?|is|are|contains?|and|or|with|for|to|as|in|on|of|the|this|that"
    "|es|son|va|van|te|tiene|tienen|lleva|porta|conte|contiene|con|amb|para|per|por|como|com|y|i"
    "|e|o|la|el|les|las|los|els|que|una?|surt|entra|sale|please|now|ara|ahora|diu|\u00e9s|s\u00f3n"
    "|t\u00e9|se|en|not|no|from|they|it|which|where|but|pero|there|hi|ha|hay|says?|tells?|shows?"
    "|dice|dicen|diuen|marca|guarda|indica|recoge|recull|explica|explain|si|if|whether"
)
#: Words with capitals and numbers after a first word with a capital: "Owner Msg", "Pregunta 1".
_CAPITAL: Final = rf"{_BIG}\w*(?:(?:[ /]{_BIG}\w*)|(?: \d{{1,2}}\b)|(?: \(\w+\)))*"
_UPPER: Final = re.compile(rf"(?<![\w./\\@-])(?P<name>{_CAPITAL})(?![\w/\\@]|[.-]\w)")
#: The following words up to the end of the clause: "Resposta t\u00e8cnic", "Soluci\u00f3 pas a
#: pas".
_TAIL: Final = (
    rf"(?:\s(?!(?:{_NO_TAIL})\b){_SMALL})*?(?:\s(?!(?:{_NO_TAIL}|a|de)\b){_SMALL})"
    r"(?=\s*(?:$|[,.;:)\n]|\b(?:and|i|y|e)\s)"
    r"|\s(?:is|has|holds|goes|comes|t\u00e9|tiene|lleva|porta|cont\u00e9|contiene|surt|entra|sale)\b)"
)
_LONG: Final = re.compile(
    rf"(?:\b(?:in|under|en|a|es|\u00e9s|called|diu|llama)\s|:\s?)(?P<name>{_CAPITAL}{_TAIL})"
)
_BEHIND_COLUMN: Final = re.compile(
    rf"(?<!\w)(?i:{_COLUMN})\s?[:=]?\s?"
    rf"(?P<name>{_CAPITAL}{_TAIL}|{_CAPITAL}|{_SMALL}{_TAIL}|{_WORD})(?![\w/\\])"
)
#: A word in the position of a name: "the prompt in ask", "question: q", "text -> label".
_PLACED: Final = re.compile(
    rf"(?:\b(?:in|under|from|is|en|a|de|es|\u00e9s|est[\u00e1\u00e0]|called|diu|llama|named|ahora)\s"
    rf"|[:=(/]\s?|(?:->|\u2192|=>)\s?|,\s|\b(?:and|i|y|e|or|o)\s)(?P<name>{_WORD})"
    r"(?=\s*(?:$|[,.;:)(/=]|->|\u2192|=>|\b(?:and|i|y|e)\s))"
)
#: A word that is followed by its role: "winner is the good reply", "q1 es la pregunta".
_SUBJECT: Final = re.compile(
    rf"(?:^|[,.;:(]\s?|\b(?:and|i|y|e)\s)(?P<name>{_WORD})"
    r"\s(?:is|has|holds|es|\u00e9s|t\u00e9|tiene|lleva|porta|va|son|s\u00f3n|are|=)\s"
)
#: "A nurse-patient chat": a hyphenated word is a name only where a name is expected.
_HYPHENED: Final = re.compile(r"[a-z]+-[a-z]+")
_HOLDS: Final = re.compile(
    r"\s?=|\s(?:is|has|holds|contains|keeps|es|\u00e9s|t\u00e9|tiene|lleva|porta|cont\u00e9|contiene|guarda)\s"
)
FILE: Final = re.compile(r"\S+\.(?:csv|tsv|jsonl?|parquet|xlsx|txt|gguf|jinja|py|ya?ml|bin)\b")
#: The beginning of the name of a model, a device or a method.
_OTHER: Final = re.compile(
    r"(?:qwen|llama|gemma|mi[sn]tral|mixtral|phi-?\d|smollm|deepseek|falcon|granite|salamandra"
    r"|eurollm|\w*bert|rtx|gtx|nvidia|[ahlvt]\d{1,3}s?\b|q?lora\b|gguf|vllm|gpus?\b|cpu\b|ram\b"
    r"|gb\b|tb\b|v?ram\b|instruct\b"
    rf"|(?:{'|'.join(ABBREVIATED)})\b)"
)
_STOPS: Final = frozenset(
    "the a an is are in of to and or it that this for with as el la els les los las un una i y e"  # noqa: SIM905
    " o en de del al que amb con per por para es son com como not no called named diu se llama si"
    " yes please thanks us".split()
)
#: Shapes that take precedence over shorter names inside them.
_WHOLE: Final = frozenset({"quoted", "upper", "long"})
#: The maximum number of words in a name, and of names in a message.
_LONGEST: Final = 4
_MOST: Final = 8


def find_shapes(text: str, known: Sequence[str]) -> dict[Span, str]:
    """Return the range and the shape of each text that may name a column, from left to right.

    `known` are the columns of the data. If two overlap, the one with the more certain shape is
    kept.
    """
    found: dict[Span, str] = {}
    files = [match.span() for match in FILE.finditer(text)]
    for start, end, shape in _candidates(text, known):
        if any(first < end and start < last for first, last in files):
            continue
        if _is_named(fold(text[start:end])):
            continue
        over = [span for span in found if span[0] < end and start < span[1]]
        longer = shape in _WHOLE and all(
            last - first < end - start and found[first, last] != "quoted" for first, last in over
        )
        if over and not longer:
            continue
        for span in over:
            del found[span]
        found[start, end] = shape
    return {span: found[span] for span in sorted(found)[:_MOST]}


@cache
def _is_named(folded: str) -> bool:
    """Return whether a text begins like the name of a model or a device."""
    return _OTHER.match(folded) is not None or find_accelerator(folded) is not None


def _candidates(text: str, known: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield possible names, the most certain shapes first."""
    for match in _QUOTED.finditer(text):
        group = next(name for name in "abcde" if match[name] is not None)
        if len(match[group].split()) <= _LONGEST and match[group].strip(": ") == match[group]:
            yield *match.span(group), "quoted"
    for name in known:
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            yield *match.span(), "known"
    yield from _words(text, _BEHIND_COLUMN, "column")
    for match in _LONG.finditer(text):
        if len(match["name"].split()) <= _LONGEST:
            yield *match.span("name"), "long"
    for match in _UPPER.finditer(text):
        before = text[: match.start()].rstrip()
        if before and before[-1] not in ".!?\n":
            yield *match.span("name"), "upper"
    for match in _CODE.finditer(text):
        if fold(match[0]) not in fixed_values() and not _is_prose(text, match):
            yield *match.span(), "code"
    yield from _words(text, _PLACED, "placed")
    yield from _words(text, _SUBJECT, "subject")


def _is_prose(text: str, match: re.Match[str]) -> bool:
    """Return whether a word is hyphenated prose and no column name is expected there."""
    if _HYPHENED.fullmatch(match[0]) is None or _HOLDS.match(text, match.end()):
        return False
    placed = (_PLACED, _SUBJECT, _BEHIND_COLUMN)
    return all(each.span("name") != match.span() for form in placed for each in form.finditer(text))


def _words(text: str, pattern: re.Pattern[str], shape: str) -> Iterator[tuple[int, int, str]]:
    for match in pattern.finditer(text):
        if match["name"].lower().split()[0] not in _STOPS:
            yield *match.span("name"), shape
