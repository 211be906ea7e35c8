"""Reads passes over the data and rows per step in everyday words.

"Show it the data four times" are epochs, "32 rows at a time" is a batch.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_PASSES: Final[Any] = WORDS["passes"]
_SEEN: Final = any_of(_PASSES["seen"])
_DATA: Final = any_of(_PASSES["data"])
_TIMES: Final = (
    rf"(?:(?P<number>{NUMBER}) {any_of(_PASSES['times'])}|(?P<once>once)|(?P<twice>twice))(?!\w)"
    r"(?! (?:as|more|mes|mas|slower|faster|bigger|the)\b)"
)
_GAP: Final = r"[^.;,:!?\n\x00]{0,36}?"
_SENTENCES: Final = (
    re.compile(
        rf"(?<![\w.,/-])(?P<number>{NUMBER})(?P<once>(?!))?(?P<twice>(?!))?"
        r" (?:full |complete |whole )?"
        rf"(?:pass(?:es)?|passad(?:a|es)|volt(?:a|es)|vueltas?|pasadas?)"
        r" (?:over|through|a|por|per|sobre)"
        rf" (?:(?:it|them|ells|elles|ellos|ellas)\b|(?:tot )?{_DATA})"
    ),
    re.compile(
        rf"(?<![\w.,/-])(?P<number>{NUMBER})(?P<once>(?!))?(?P<twice>(?!))?"
        r" (?:full |complete |whole )?(?:passes|passades|pasadas)"
        r"(?=\s*(?:$|[.,;!]|(?:and|i|y|e|please|pls|with|amb|con|per favor|por favor|instead"
        r"|rather)\b))"
    ),
    # one pass only behind such a word: "una pasada" alone is praise
    re.compile(
        rf"\b(?:only|just|nomes|solo|a single|una sola|fes-hi|fes-ne|haz|hazle|do|dale)\s+"
        rf"(?P<number>{NUMBER})?(?P<once>(?!))?(?P<twice>(?!))?\s*(?:full |complete |whole )?"
        r"(?:pass|passada|pasada)\b"
        rf"|(?P<alone>{NUMBER}) (?:single|sole|passada sola|pasada sola|sola passada|sola pasada)\b"
    ),
    re.compile(rf"\b{_SEEN}\b{_GAP}\b{_DATA}\b{_GAP}\b{_TIMES}"),
    re.compile(
        rf"\b{_SEEN}\b{_GAP}\b{_TIMES} (?:{any_of(_PASSES['over'])} )?"
        rf"(?:(?:the|l[aeo]s?|les|els?|my|our) )?{_DATA}\b"
    ),
    re.compile(rf"\b{_DATA}\b{_GAP}\b{_SEEN}\b{_GAP}\b{_TIMES}"),
    # three times through the data
    re.compile(
        rf"(?<![\w.,/-]){_TIMES} (?:through|over|across|per|por|sobre) "
        rf"(?:(?:the|l[aeo]s?|les|els?|my|our|all|tot(?:es|s)?|tod[oa]s?) )*{_DATA}\b"
    ),
)


_ROWS: Final = any_of(_PASSES["rows"])
_AT_ONCE: Final = re.compile(
    rf"(?<![\w.,/-])(?P<number>{NUMBER})\s+(?:{_ROWS}\s+)?{any_of(_PASSES['at_once'])}(?!\w)"
    rf"(?P<each>\s+(?:{any_of(_PASSES['each'])}))?"
)
#: "answering 100 rows each time" is about an evaluation, not a training step.
_ANSWERING: Final = re.compile(
    r"\b(?:answer|repl[yi]|respon|respost|respuest|contest)\w*\s+"
    r"(?:to |for |on |a |only |just |solo |nomes )?$"
)
#: "three evaluations without improvement".
_FRUITLESS: Final = re.compile(
    r"(?:\b(?:stop|pari|para|pare|atur\w+|detent?e?(?:rse|te)?)\b[^.;,!?\n\d]{0,16}?"
    r"\b(?:if|when|after|once|si|quan|cuando|tras|despres)\b[^.;,!?\n\d]{0,16}?)?"
    rf"(?<![\w.,/-])(?P<number>{NUMBER})\s+[^.;,!?\n\x00\d]{{0,24}}?{any_of(_PASSES['fruitless'])}"
)
#: "when it hasn't improved for 2 checks".
_STALLED: Final = re.compile(
    r"(?:\b(?:stop|pari|para|pare|atur\w+|detent?e?(?:rse|te)?)\b[^.;,!?\n\d]{0,24}?)?"
    r"\b(?:has(?:n't| not)|does(?:n't| not)|stops?|no|deixa de|deja de)\s+"
    r"(?:improv\w+|gets? better|getting better|millor\w*|mejor\w*)\s+"
    r"(?:for|in|after|over|during|durant|en|despres de|durante|tras)\s+"
    rf"(?P<number>{NUMBER})\s+"
    r"(?:check|eval|avalua|valida|time|round|cop|vec|comprov|comprob)\w*"
)
#: "de 32 en 32", "in groups of 16".
_GROUPED: Final = re.compile(
    r"\b(?:de (?=(?P<twice>\d+) en (?P=twice)\b)\d+ en|(?:in (?:groups|lots|chunks|packs) of"
    r"|en grupo?s de|de a)) (?P<number>\d+)\b(?! (?:gpus?|layers|capes|capas))"
)
#: "train on both at a time", "amb tots dos alhora": all named things together.
_ALL_OF_THEM: Final = re.compile(
    r"\b(?:all|both|tots|totes|els|les|todos|todas|los|las)(?: l[oae]s| els)?\s+$"
)
_FEW: Final = 3
#: "to the GPU 2 by 2": the rows of one pass.
_ON_CARD: Final = re.compile(
    r"\b(?:gpu|card|targeta|tarjeta|grafica|memoria|memory)\b[^.;!?\n\d]{0,16}$"
)
_TO_CARD: Final = re.compile(
    r"\s+(?:a|en|on|to|onto|into|per|por) (?:(?:the|la|each|cada) )?"
    r"(?:gpu|card|targeta|tarjeta|grafica)\b"
)
#: "check on it every hundred steps": an interval, with any verb.
_OFTEN: Final = re.compile(
    rf"\b(?:every|each|cada)\s+(?P<number>{NUMBER})\s+(?:training )?"
    r"(?:steps|updates|passos|pasos|iterations|actualitzacions|actualizaciones)\b"
)


#: The logging interval is not a field.
_LOGGED: Final = re.compile(
    r"\b(?:log(?:s|ged|ging)?|print(?:s|ing)?|logueja\w*|registr\w+|loguea\w*|imprim\w+)\b[^,;.!?\n]*$"
)
#: The rows of a whole step, beside the rows of one pass: "but only 4 at a time".
_WHOLE_STEP: Final = (
    re.compile(
        r"\b(?:cada|per|por) (?:pas|paso|actualitzacio|actualizacion) (?:que )?"
        r"(?:usi|use|usa|vegi|vea|agafi|coja|tingui|tenga|sigui|sea|porti|lleve|amb|con|de|tiene|te)"
        rf"(?: de)?\s+(?P<number>{NUMBER})\s+{_ROWS}"
    ),
    re.compile(
        rf"\b(?:optimi[sz]er|training|each|every) (?:step|update)s? (?:should |must |to )?"
        rf"(?:see|sees|use|uses|take|takes|have|has|get|gets|cover|covers)\s+(?P<number>{NUMBER})"
        rf"(?:\s+{_ROWS})?"
    ),
    re.compile(
        r"\b(?:updat\w+|optimi[sz]er steps?|actualit[sz]\w+|actualiz\w+)[^.;,!?\n\x00\d]{0,24}?"
        rf"\b(?:after|every|each|cada|despres de|tras)\s+(?:every |each |cada )?"
        rf"(?P<number>{NUMBER})(?:\s+{_ROWS})?(?!\s*(?:steps?|pass(?:os|es)|pasos))(?![\w.,]*\d)"
    ),
    re.compile(
        rf"(?<![\w.,/-])(?P<number>{NUMBER})\s+{_ROWS}\s+"
        r"(?:before|per|for|abans de|antes de|per|por|a)\s+(?:each|every|an?|cada|fer cada|una?)\s+"
        r"(?:update|actualit\w+|actualiz\w+)"
    ),
    re.compile(
        rf"\b(?:passos?|pasos?) (?:d'optimitzador |del? optimizador )?(?:de|que vegi|que vea)\s+"
        rf"(?P<number>{NUMBER})\s+{_ROWS}"
    ),
)


def read_counts(message: Message) -> Iterator[Change]:
    """Yield the rows per step, the evaluations without improvement, and the evaluation interval."""
    whole = False
    for pattern in _WHOLE_STEP:
        for match in message.take(pattern):
            whole = True
            yield from _count(message, match, "/training/global_batch")
    for match in message.take(_AT_ONCE):
        few = (read_number(match["number"]) or 0) <= _FEW
        if few and _ALL_OF_THEM.search(message.folded[: match.start("number")]):
            continue
        small = whole or match["each"]
        pointer = "/training/micro_batch" if small else "/training/global_batch"
        if _ANSWERING.search(message.folded[: match.start()]):
            pointer = "/training/evaluation/answered_rows"
        yield from _count(message, match, pointer)
    for match in message.take(_GROUPED):
        before, after = message.folded[: match.start()], message.folded[match.end() :]
        on_card = _ON_CARD.search(before) or _TO_CARD.match(after)
        pointer = "/training/micro_batch" if on_card else "/training/global_batch"
        yield from _count(message, match, pointer)
    for match in message.take(_FRUITLESS):
        yield from _count(message, match, "/training/early_stopping")
    for match in message.take(_STALLED):
        yield from _count(message, match, "/training/early_stopping")
    for match in list(_OFTEN.finditer(message.folded)):
        if _LOGGED.search(message.folded[: match.start()]):
            message.cross_out(*match.span())
        elif not message.is_read_around(*match.span()):
            yield from _count(message, match, "/training/evaluation/every_steps")
            message.cross_out(*match.span())


def _count(message: Message, match: re.Match[str], pointer: str) -> Iterator[Change]:
    number = read_number(match["number"])
    if number and not message.denied(match.start()):
        yield Change(pointer=pointer, value=as_written(number), words=message.words(*match.span()))


def read_passes(message: Message) -> Iterator[Change]:
    """Yield the epochs if a message says how often the rows are seen."""
    for pattern in _SENTENCES:
        for match in message.take(pattern):
            number = 2.0 if match["twice"] else 1.0
            number = number if match["number"] is None else read_number(match["number"]) or 0.0
            if number > 0 and not message.denied(match.start()):
                words = message.words(*match.span())
                yield Change(pointer="/training/epochs", value=as_written(number), words=words)
