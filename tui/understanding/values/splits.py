"""Reads the shares of rows for validation and test, and of warm-up steps: "10% for test"."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ftc.tui.understanding.reading import UNSURE, Change, Choice
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import PART_END, Message, find_around
from ftc.tui.understanding.text.numbers import as_written, read_number

#: A number after these words is a count; before other words it means something else.
_SHARE: Final = re.compile(
    r"\b(?P<number>\d+(?:[.,]\d+)?)\s*%\s*(?:(?:of |de )?(?:the |les |las |los )?"
    r"(?:data|rows|steps|dades|files|passos|datos|filas|pasos)?\s*"
    r"(?:aside|apart|away|back|out|out of it|a part|a banda|aparte|a un lado)?\s*"
    r"(?:for|as|of|en|del?|d'|com a|como|per(?: al?)?|para(?: el| la)?)?\s*"
    r"(?:(?:fer(?:-ne|-hi)?|hacer|do(?:ing)?|make|run) )?(?:(?:the|my|our|a|el|la|un|una)"
    r" (?:\w+ )?|l')?)?"
    r"(?P<what>test(?:ing)?|validat\w+|validacio(?:n)?|validar|eval(?:uat\w+)?|evalua\w+|avalua\w+"
    r"|prova|proves|prueba|pruebas|exam(?:en)?"
    r"|warm[ -]?up|escalfament|calentamiento|held out|hold[ -]?out|reservat|reservado)"
)
_MEASURED: Final = re.compile(
    r"\b(?P<what>eval\w*|avalua\w*|valid\w*|test\w*|prova\w*|prueba\w*)"
    r"(?: (?:on|with|amb|con|en|=))?(?: (?:the|el|un|otro|un altre|another))?"
    r"\s*(?P<number>\d+(?:[.,]\d+)?)\s*%"
)
_UNJUDGED: Final = re.compile(
    r"\b(?:eval(?:uat(?:e|ion|ing))?|avalua(?:cio|r)|evalua(?:cion|r))\b(?! metri\w+)"
)
_SPLIT: Final = re.compile(
    r"\b(?P<what>validation|validacion?|test|proves|pruebas)(?: (?:split|set|data|rows))?\b"
    r"(?![^.;!?\n,]*\b(?:smaller|bigger|larger|shorter|m[ea]s (?:petit|gran|pequen|llarg|curt)))"
)
#: "20% is for validation, not for test": the share belongs to the other split.
_NOT_FOR: Final = re.compile(
    r"[^.;!?\n]*\b(?:no|not|no pas)\s+(?:for|as|per(?: al?)?|para)\s+(?:the |el |la |l')?\Z"
)
_TAKES_OUT: Final = (
    r"(?:take out|remove|drop|delete|get rid of|do without|tr(?:eu|eure|aieu)|elimin\w+|quit\w+"
    r"|sac(?:a|ad|ar)(?:me|nos)?|suprim\w+|suprimeix|esborr\w+|borr\w+)"
)
#: "take out the validation split", "traieu-me la partició de validació".
_TAKEN_OUT: Final = re.compile(
    rf"\b{_TAKES_OUT}(?:-me|-nos|-li|'m)?\s+"
    r"(?:(?:the|our|la|el)\s+)?(?P<part>(?:particion?|divisi(?:o|on)|conjunto?|split|part)"
    r"\s+(?:de|del|of|for)\s+(?:la |el |l')?)?$"
)
_PART: Final = re.compile(r"(?:split|set)$")
#: "drop the test rows that are empty": some rows are dropped, and not the split.
_OF_ROWS: Final = re.compile(
    rf"\b{_TAKES_OUT}\b.*\b(?:rows?|lines?|examples?|samples?|records?|duplicates?|filas|lineas"
    r"|ejemplos|registros|muestras|files|linies|exemples|registres|mostres|duplicados|duplicats)\b"
)
#: "drop the test share to 5 percent": a smaller share, and no split that is removed.
_LOWERED: Final = re.compile(
    r"(?: (?:share|split|set|part|size))? (?:down )?(?:to|a|al|hasta|fins al?) (?:el |un )?"
    rf"(?P<number>{NUMBER})\s*(?:%|per ?cent\b|por ciento\b|pct\b)"
)
_AIMED: Final = re.compile(r"\x00|\b(?:valid|test|eval|avalua|prova|prueba)")
_HELD_OUT: Final = re.compile(
    r"\b(?:hold out|keep|reserve|set aside|put aside|leave(?: out)?|reserva"
    r"|guarda(?:te|'t)?|aparta|deixa|deja)"
    r" (?:back |aside |un |the |a )?(?P<number>\d+(?:[.,]\d+)?)\s*%"
)
#: "5% each for val and test", "val i test al 5%": one share for both.
_WHAT_ANY: Final = (
    r"(?:test(?:ing)?|val(?:idation|idacion?)?|eval(?:uation)?|proves?|prova|pruebas?)(?: set)?"
)
_BOTH: Final = re.compile(
    rf"\b(?P<what>{_WHAT_ANY})\s*(?:and|&|/|\+|i|y)\s*(?:the |la |el |per a |para )*"
    rf"(?P<other>{_WHAT_ANY})\s*(?:=|:|,|at|to|on|al?|with|amb|con|de|del|of|both|tots dos|ambos)*"
    r"\s*(?P<number>\d+(?:[.,]\d+)?)\s*%"
)
#: "15% of the files are held out for the final test".
_STAYS_FOR: Final = re.compile(
    r"\b(?P<number>\d+(?:[.,]\d+)?)\s*%\s*(?:of|del?|dels|de les|de los|de las|d')\s*"
    r"(?!(?:warm|step|pas))(?:the |our |my |els |les |los |las |nostr\w+ |nuestr\w+ )?[a-z]+"
    r"(?:\s[a-z]+){0,4}?\s(?:for|per a?|para|per al?|per fer|para hacer|para el|para la)\s"
    r"(?:the |a |our |el |la |una? )?(?:final |last )?(?P<what>test|prova|proves|prueba|pruebas"
    r"|examen|validation|validacion?)\b"
)
#: Rows held out to watch the training: "to keep an eye on it", "per veure com va".
_WATCHED: Final = re.compile(
    r"\b(?:watch\w*|monitor\w*|follow\w*|track\w*|keep an eye|see how (?:it|the|training)"
    r"|(?:during|while|as it) train\w*|vigil\w*|segui\w*|controla\w*"
    r"|(?:veure|ver|mirar) (?:com|como|si) (?:va|aprende?n?|evoluciona|entrena|marcha|millora"
    r"|mejora))\b"
)
#: "another ten for test", after a percentage.
_ANOTHER: Final = re.compile(
    rf"\b(?:another |(?:un )?altre |otro )?(?P<number>{NUMBER}|nothing|none|res|cap|nada)\s+"
    r"(?:more |at all |de res |de nada )?"
    r"(?:for|as|per(?: al?)?|para)\s+(?:the |el |la |l')?"
    r"(?P<what>test(?:ing)?|validation|validacio(?:n)?|validar|eval(?:uation)?|prova|provar|proves"
    r"|prueba|pruebas|probar)\b"
)
#: "half of that for validation", after a percentage.
_AS_MUCH: Final = re.compile(
    r"\b(?:(?P<half>half (?:of )?(?:that|it|as much)|la meitat(?: d'aixo)?|la mitad(?: de eso)?)"
    r"|the same(?: again| amount)?|as much(?: again)?|otro tanto|lo mismo|el mateix"
    r"|un altre tant|igual)"
    r"\s+(?:goes? )?(?:for|as|to|per(?: al?)?|para|com a?|como|al?)\s+(?:the |el |la |l'|a )?"
    r"(?P<what>test(?:ing)?|validation|validacio(?:n)?|validar|eval(?:uation)?|prova|provar|proves"
    r"|prueba|pruebas|probar)\b"
)
#: "80/10/10", beside a word for the split.
_RATIO: Final = re.compile(
    r"(?:\b(?:split|division|particio|reparteix|divideix|divide|parteix|parte)\b[\w ]{0,20}?)?"
    r"(?<!\d)(?P<a>[5-9]\d)\s?[/:-]\s?(?P<b>\d{1,2})(?:\s?[/:-]\s?(?P<c>\d{1,2}))?(?![\d/:-])"
    r"(?:\s+(?:split|train)\b)?"
)
_TRAIN: Final = r"train\w*|entren\w+|aprend\w+|learn\w*"
_ROLE: Final = (
    rf"(?P<role>{_TRAIN}|valid\w*|test\w*|eval\w*|avalu\w*|prova\w*|proves|prueb\w+|prob\w+)"
)
#: "70 to train", "15 de validación", "dos per validar", "0.1 for the test".
_PART_FOR: Final = re.compile(
    rf"(?<![\w.,])(?P<number>{NUMBER})\s?%?\s(?:(?:tenths?|decims?|decimas?|parts?|partes?"
    rf"|percent|of it"
    r"|go(?:es)?|van?|is|are|son|es)\s){0,2}(?:to|for|as|of|de|d'|per(?: al?)?|para|com a|como"
    r"|en)\s?"
    rf"(?:(?:the|la|el|una?|a)\s|l')?{_ROLE}"
)
#: "70/20/10: train, test and validate, in this order".
_ORDERED_ROLES: Final = re.compile(
    r"(?<![\d.,])(?P<a>\d\d)\s?[/:-]\s?(?P<b>\d{1,2})\s?[/:-]\s?(?P<c>\d{1,2})(?![\d/])\s?[:,(]?\s?"
    r"(?:(?:for|per(?: a)?|para|de|in|en)\s)?"
    + r"(?:\s?[,/]\s?(?:(?:and|i|y)\s)?|\s(?:and|i|y)\s)".join(
        _ROLE.replace("role", f"role{n}") for n in (1, 2, 3)
    )
    + r"(?!\w)"
)
_PARTS: Final = 3
_TENTHS: Final = 10
_TEST: Final = "/data/splits/test"
_WHOLE: Final = 100
_VALIDATION: Final = ("val", "eval", "avalua")
_WARMUP: Final = ("warm", "escalf", "calent")
#: "8 answers per eval" names an event, not the split.
_REPEATED: Final = re.compile(r"\b(?:per|each|every|por|cada|a cada|en cada)\s$")


def read_shares(message: Message) -> Iterator[Change | Choice]:
    """Yield the shares of the splits and of the warm-up, as percentages or as "80/10/10"."""
    yield from _read_parts(message)
    for match in message.take(_BOTH):
        if _shared(match["what"]) != _shared(match["other"]):
            yield _share(_shared(match["what"]), match, message)
            yield _share(_shared(match["other"]), match, message)
    shares = [
        _share(_shared(match["what"]), match, message)
        for pattern in (_SHARE, _STAYS_FOR, _MEASURED)
        for match in message.take(pattern)
    ]
    further = message.take(_ANOTHER) if shares else ()
    shares += [_share(_shared(match["what"]), match, message) for match in further]
    shares += [
        _share(_kept_for(match, message), match, message) for match in message.take(_HELD_OUT)
    ]
    yield from shares
    for match in message.take(_AS_MUCH) if shares else ():
        value = shares[0].value / 2 if match["half"] else shares[0].value
        words = message.words(*match.span())
        yield Change(pointer=_shared(match["what"]), value=as_written(value), words=words)
    for match in message.take(_RATIO):
        yield from _read_ratio(match, message)
    for match in _SPLIT.finditer(message.folded):
        aimed = _NOT_FOR.search(message.folded, 0, match.start())
        if message.quoted(*match.span()):
            continue  # "don't call it 'test'"
        clause = find_around(PART_END, message.folded, match.span())
        if some := _OF_ROWS.search(message.folded, *clause):
            message.cross_out(*match.span())
            message.cross_out(*some.span())
            continue
        if lowered := _LOWERED.match(message.folded, match.end()):
            words = message.words(match.start(), lowered.end())
            value = (read_number(lowered["number"]) or 0.0) / _WHOLE
            message.cross_out(match.start(), lowered.end())
            yield Change(pointer=_shared(match["what"]), value=as_written(value), words=words)
            continue
        denied = message.denied(*match.span()) or _is_taken_out(message, match)
        if denied and not (aimed and _AIMED.search(aimed[0])):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=_shared(match["what"]), value=0, words=words)


def _read_parts(message: Message) -> Iterator[Change]:
    """Yield the shares of three parts, each with its role, that make up all rows."""
    for match in message.take(_ORDERED_ROLES):
        named = [
            (str(match[f"role{n}"]), float(match[each])) for n, each in enumerate("abc", start=1)
        ]
        yield from _share_parts(named, message.words(*match.span()))
    found = list(_PART_FOR.finditer(message.folded))
    if len(found) != _PARTS or message.denied(found[0].start()):
        return
    parts = [(str(each["role"]), read_number(each["number"]) or 0.0) for each in found]
    words = message.words(found[0].start(), found[-1].end())
    changes = list(_share_parts(parts, words))
    if changes:
        message.cross_out(found[0].start(), found[-1].end())
    yield from changes


def _share_parts(parts: Sequence[tuple[str, float]], words: str) -> Iterator[Change]:
    """Yield the shares of parts in percent, in tenths or as fractions, if they add up to all."""
    numbers = [number for _, number in parts]
    if 0 < numbers[0] < 1 <= min(numbers[1:]):  # "seven tenths for training, two for ..."
        numbers[0] = round(numbers[0] * _TENTHS, 6)
    whole = round(sum(numbers), 6)
    roles = {
        "train" if re.match(_TRAIN, role) else _shared(role): number / whole
        for (role, _), number in zip(parts, numbers, strict=True)
        if whole in (1, _TENTHS, _WHOLE)
    }
    if len(roles) == _PARTS and roles.get("train", 0) == max(roles.values()):
        for pointer in ("/data/splits/validation", _TEST):
            yield Change(pointer=pointer, value=as_written(round(roles[pointer], 6)), words=words)


def _is_taken_out(message: Message, match: re.Match[str]) -> bool:
    """Return whether the message removes a whole split, which it names as a split."""
    out = _TAKEN_OUT.search(message.folded[: match.start()])
    return out is not None and (out["part"] is not None or _PART.search(match[0]) is not None)


def _kept_for(match: re.Match[str], message: Message) -> str:
    """Return the split of held-out rows: validation to watch the training, or else test."""
    no_test = any(
        _shared(each["what"]) == _TEST and message.denied(*each.span())
        for each in _SPLIT.finditer(message.folded)
    )
    if no_test or _WATCHED.search(message.clause(*match.span())):
        return "/data/splits/validation"
    return _TEST


def read_unjudged(message: Message) -> Iterator[Choice]:
    """Yield a question for "no evaluation", since without validation rows there is none."""
    for match in list(_UNJUDGED.finditer(message.folded)):
        repeated = _REPEATED.search(message.folded[: match.start()])
        read = message.is_read_around(*match.span())
        if message.denied(match.start()) and not (read or repeated):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Choice(pointer="/data/splits/validation", values=(0,), words=words, why=UNSURE)


def _read_ratio(match: re.Match[str], message: Message) -> Iterator[Change | Choice]:
    """Yield the shares of "80/10/10"; of two numbers, the smaller is the test or validation."""
    _, second, third = (int(part) if part else None for part in match.group("a", "b", "c"))
    words = message.words(*match.span())
    if sum(int(part) for part in match.group("a", "b", "c") if part) != _WHOLE:
        return
    if third is None:
        share = (second or 0) / _WHOLE
        yield Choice(pointer="/data/splits/validation", values=(share,), words=words, why=UNSURE)
        return
    yield Change(pointer="/data/splits/validation", value=(second or 0) / _WHOLE, words=words)
    yield Change(pointer="/data/splits/test", value=third / _WHOLE, words=words)


def _shared(what: str) -> str:
    """Return the field of a fraction for `what`."""
    if what.startswith(_WARMUP):
        return "/training/warmup"
    return "/data/splits/validation" if what.startswith(_VALIDATION) else _TEST


def _share(pointer: str, match: re.Match[str], message: Message) -> Change:
    percent = read_number(match["number"]) or 0.0  # "nothing for testing"
    return Change(
        pointer=pointer, value=round(percent / 100, 6), words=message.words(*match.span())
    )
