"""Weights: the share of each file in a mixture, and the weight of a label."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER, QUOTES
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_UNIT: Final = r"(?:\s*(?P<unit>%|parts?\b|partes?\b|x\b|times\b|veces\b|vegades\b|cops\b))"
_AMOUNT: Final = rf"(?P<number>{NUMBER}|\d+(?=x\b))"
#: "tickets.csv three parts", "a.jsonl (70%)", "a.jsonl at 3x", "a.jsonl with weight 2".
_AFTER: Final = re.compile(
    r"(?:\s?[\x00(][^()\d\n]*[\x00)])?[\s:=(,]*(?:(?:at|with|by|for|to|is|gets?|counts?|a|amb|con|de|per|por|es|un|una|the|el|la"
    r"|weigh\w*|pes(?:o|a|i)?) )*(?P<sign>(?:w|weight|peso?)\s?=\s?)?"
    rf"{_AMOUNT}{_UNIT}?(?!\w)"
)
#: "three parts of tickets.csv", "70% a.jsonl".
_BEFORE: Final = re.compile(
    rf"(?<![\w.]){_AMOUNT}{_UNIT}\s*(?:of|from|de|d'|del)?\s*(?:the |el |la )?$"
)
#: "a.jsonl and b.jsonl, 70% and 30%", "3:1", "70/30".
_LISTED: Final = re.compile(
    rf"[\s,:(]*(?:(?:at|in|with|mixed|a|en|amb|con|weights?|pesos|ratio|of|de|proporci\S+) )*"
    rf"(?P<first>{NUMBER})(?:\s*(?:%|parts?|partes?))?"
    rf"\s*(?P<join>:|/|to|and|i|y|a|,)\s*(?P<second>{NUMBER})(?:\s*(?:%|parts?|partes?))?(?!\w)"
)
_SHARES: Final = re.compile(
    r"%|\dx\b|\bw(?:eight)?\s?=|\b(?:part|weigh|pes|ratio|proporci|times|veces|vegades|cops)|\d\s*[:/]\s*\d"
)
_TWICE: Final = re.compile(
    r"\b(?:twice as (?:much|many)|double|(?:el )?doble|dues vegades mes|dos veces mas)"
    r"(?: \w+)? (?:(?:of|from|de|del) )?$"
)
_THAN: Final = re.compile(r"\s*(?:as|than|que|of)(?: (?:of|from|de|del))?\s*$")
#: "70/30 mix: a.jsonl and b.jsonl", in the order of the files.
_RATIO: Final = re.compile(
    r"(?<![\w.])(?P<parts>\d+(?:\.\d+)?\s?%?(?:\s?[:/]\s?\d+(?:\.\d+)?\s?%?)+)"
    r"(?=[^\d.;\n]{0,30}$)"
)
_TWO: Final = 2
#: "the rows with the label fraud weigh ten times more".
_ROWS_OF_LABEL: Final = re.compile(
    rf"(?<![\w-])(?:label(?:l?ed)?|class|etiqueta|etiquetad[ao]s|etiquetades|clase|classe"
    rf"|categor(?:y|ia)) (?:as |com a |como |de )?{QUOTES}?(?P<label>[\w-]+){QUOTES}?"
    r"(?: [^.;!?\n\d]{0,48}?)? (?:should |must |to |(?:has|have) to |ha de |han de |deben? |que )?"
    r"(?:counts?|weighs?|matters?|pes[aei]n?|pesar|comptin?|compta|comptar|cuente[n]?|cuenta|contar"
    rf"|valgui|valga|val|vale)(?: for| per| por| com| como| as much as)? {_AMOUNT}\s*"
    r"(?:times|x\b|vegades|cops|veces|fold)(?: (?:more|as much|mes|mas))?"
    r"(?: (?:than|que|as) (?:the |las |les |els |los )?(?:others?|rest\w*|otr[ao]s|altres))?"
)
_CLASS_WEIGHTS: Final = "/objective/class_weights"
#: "every 'toxic' counts ten times", "que cada 'toxico' pese diez veces más".
_LABEL: Final = re.compile(
    rf"{QUOTES}(?P<label>[^\"'\u201c\u201d\u00ab\u00bb`\n]{{1,40}}?){QUOTES}(?: \w+){{0,2}}?"
    r" (?:should |must |to |has to |ha de |debe |que )?"
    r"(?:counts?|weighs?|matters?|pes[aei]n?|pesar|comptin?|compta|comptar|cuente[n]?|cuenta|contar"
    rf"|valgui|valga|val|vale)(?: for| per| por| com| como| as much as)? {_AMOUNT}\s*"
    r"(?:times|x\b|vegades|cops|veces|fold)(?: (?:more|as much|mes|mas))?"
)


#: "urgent 8", "doubt = 3", "spam: x2".
_LABELLED_PARTS: Final = re.compile(
    rf"{QUOTES}?(?P<label>(?!(?:and|i|y)\b)[a-z][\w-]*){QUOTES}?\s*(?:=|:|->)?\s*(?:x\s?)?"
    r"(?P<number>\d+(?:[.,]\d+)?)x?(?![\w%])"
)
_LABELLED: Final = re.sub(r"\?P<\w+>", "?:", _LABELLED_PARTS.pattern)
#: "weight 5 for label urgent", "pes 5 a l'etiqueta urgent", "peso 3 para la clase fraude".
_WEIGHT_OF_LABEL: Final = re.compile(
    rf"(?<![\w-])(?:weight|peso?|pes)\s*(?:of|de|=|:)?\s*{_AMOUNT}\s*(?:x\s*)?"
    r"(?:for|on|to|al?|en|para|per(?: al?)?|de)\s*(?:the |la |l'|el )?"
    r"(?:class|label|etiqueta|clase|classe)"
    rf"\s+{QUOTES}?(?P<label>[\w-]+){QUOTES}?"
)
#: "class weights: urgent 8, doubt 3", "pesos per classe urgent=8 dubte=3".
_LABELS: Final = re.compile(
    r"(?<!\w)(?:(?:class|label) weights?|weights? (?:per|by|for each) (?:class|label)"
    r"|pes(?:os)? (?:per|de cada|de les|por|de las|de) (?:class?es?|clases?|etiquet(?:a|as|es)))"
    rf"\s*(?::|=|->)?\s*(?P<items>{_LABELLED}(?:\s*[,;/+]?\s*(?:(?:and|i|y)\s+)?{_LABELLED})*)"
)


def find_weights(message: Message, places: Sequence[int], ends: Sequence[int]) -> Sequence[float]:
    """Return the weight of each file by its place, or nothing unless every file has one.

    A number without a unit is a weight only beside one that has it: "three parts and b.csv one".
    """
    for matches in (_behind(message, places, ends), _ahead(message, places)):
        numbers = [read_number(match["number"]) for match in matches if match is not None]
        known = [number for number in numbers if number is not None]
        units = [match for match in matches if match is not None and _SHARES.search(match[0])]
        if units and len(known) == len(places):
            for match in filter(None, matches):
                message.cross_out(*match.span())
            return known
    before = _RATIO.search(message.folded[: places[0]])
    parts = re.findall(r"\d+(?:\.\d+)?", before["parts"]) if before else []
    if before is not None and len(parts) == len(places):
        message.cross_out(*before.span())
        return [float(part) for part in parts]
    if len(places) != _TWO:
        return ()
    return _ratio(message, places, ends)


def _behind(
    message: Message, places: Sequence[int], ends: Sequence[int]
) -> list[re.Match[str] | None]:
    stops = [*places[1:], len(message.folded)]
    return [_AFTER.match(message.folded, end, stop) for end, stop in zip(ends, stops, strict=True)]


def _ahead(message: Message, places: Sequence[int]) -> list[re.Match[str] | None]:
    return [_BEFORE.search(message.folded[:start]) for start in places]


def _ratio(message: Message, places: Sequence[int], ends: Sequence[int]) -> Sequence[float]:
    """Return the weights of two files that follow both, or "twice as much" before one."""
    listed = _LISTED.match(message.folded, ends[1])
    if listed is not None and _SHARES.search(listed[0]):
        numbers = [read_number(listed["first"]), read_number(listed["second"])]
        message.cross_out(*listed.span())
        return [number for number in numbers if number is not None]
    between = message.folded[ends[0] : places[1]]
    if _TWICE.search(message.folded[: places[0]]) and _THAN.match(between):
        return [2, 1]
    return ()


def weighted(paths: Sequence[str], weights: Sequence[float]) -> list[Mapping[str, object]]:
    """Return the sources of a mixture with their weights."""
    return [
        {"source": path, "weight": as_written(weight)}
        for path, weight in zip(paths, weights, strict=True)
    ]


def read_label_weights(message: Message) -> Iterator[Change]:
    """Yield the weights of labels, which are listed, quoted, or after the word "label"."""
    found, words = [], []
    for match in message.take(_LABELS):
        if message.denied(match.start()):
            continue
        for part in _LABELLED_PARTS.finditer(message.folded, *match.span("items")):
            number = read_number(part["number"])
            label = message.words(*part.span("label"))
            found.append({"label": label, "weight": as_written(number or 0)})
        words.append(message.words(*match.span()))
    patterns = (_LABEL, _WEIGHT_OF_LABEL, _ROWS_OF_LABEL)
    for match in (match for pattern in patterns for match in message.take(pattern)):
        number = read_number(match["number"])
        if number is None or message.denied(match.start()):
            continue
        label = message.words(*match.span("label"))
        found.append({"label": label, "weight": as_written(number)})
        words.append(message.words(*match.span()))
    if found:
        yield Change(pointer=_CLASS_WEIGHTS, value=found, words=", ".join(words))
