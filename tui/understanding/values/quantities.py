"""Reads numbers with a word beside them: epochs, rates, batches, lengths, shares."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ftc.tui.understanding.machines.storage import read_storage
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.values.overlong import read_overlong
from ftc.tui.understanding.values.passes import read_counts, read_passes
from ftc.tui.understanding.values.row_limits import find_start, is_possession
from ftc.tui.understanding.values.splits import read_shares, read_unjudged

_QUANTITIES: Final = {pointer: any_of(words) for pointer, words in WORDS["quantities"].items()}
_OF: Final = (
    r"(?:\s*(?:=|:|of|(?:(?:down|up|back) )?to|at|on|is|al?|dels?|de|en|d'|es"
    r"|(?:que )?sea(?: del?)?|(?:que )?sigui(?: del?)?|fos|fuera|fuese|should be|must be"
    r"|ha de ser|tiene que ser)\s*|\s+|(?<=/)\s*)"
)
#: "from 16 to 32": the second number counts.
_FROM: Final = rf"(?:(?:from |de |des de |desde ){NUMBER} (?:to |a |fins a |hasta ))?"
_UNIT: Final = r"(?:\s+(?:steps|passos|pasos)\b)?"
_LINK: Final = (
    r"(?:(?:of|for|de|as|al?|com a?|como|para|per al?) |d')?(?:the |els? |la |les |l[oa]s |l')?"
)
#: "every 50 steps" is a frequency, not a count.
_OFTEN: Final = r"(?<!every )(?<!each )(?<!cada )"
#: "un escalfament" has an article; "una època" has a number.
_NO_ARTICLE: Final = r"(?!una?\b|one\b|a single\b|single\b)"
_FREQUENCY: Final = re.compile(r"\s*(?:every|each|cada)(?:\b|\s*\x00|\s*$)|\s*\x00")
_KEPT: Final = "/training/keep_checkpoints"
_COUNTS: Final = frozenset({"/training/epochs", _KEPT})
_BEFORE: Final[Mapping[str, re.Pattern[str]]] = {
    pointer: re.compile(
        rf"\b{_OFTEN}(?P<number>{'' if pointer in _COUNTS else _NO_ARTICLE}{NUMBER})"
        rf"[\s-]*{_LINK}{words}\b"
    )
    for pointer, words in _QUANTITIES.items()
}
_AFTER: Final[Mapping[str, re.Pattern[str]]] = {
    pointer: re.compile(
        rf"\b{words}{_OF}{_FROM}(?P<number>(?!una?\b|one\b|a single\b){NUMBER}(?:\s*%)?){_UNIT}"
    )
    for pointer, words in _QUANTITIES.items()
}
_KILO_TOKENS: Final = 1024
_KILO: Final = 1000
_PATIENCE: Final = 3
_STOPPING: Final = "/training/early_stopping"
_EARLY: Final = re.compile(
    r"\b(?:early[ -]stop(?:ping)?|(?:parada|detencion) (?:anticipada|temprana)"
    r"|aturada (?:anticipada|primerenca))\b"
)
_STOPS: Final = re.compile(
    r"\b(?:stop|pari|para|pare|atura|aturi|detente?)\b[^.;\n]{0,30}?\b(?:if|when|si|quan|cuando)\b"
    r"[^.;\n]{0,40}?\b(?:improv\w+|better|wors\w+|overfit\w*|nothing new|stall\w*|flat|plateau\w*"
    r"|(?:bring|give|gain|add|show)s? (?:me |us )?nothing|no (?:aport|guany|gan|avan)\w+|estanc\w+"
    r"|(?:res|nada) (?:de )?(?:nou|nuevo|mes|mas)|millor\w*|empitjor\w*|mejor\w*"
    r"|empeor\w*|loss (?:goes|starts|keeps|creeps)? ?(?:going )?(?:up|rising|rises)"
    r"|perd(?:ua|ida) (?:de \w+ )?(?:puj\w+|sub\w+|comen\w+ a (?:pujar|subir)))"
    rf"(?:[^.;\n]{{0,12}}?\b(?P<times>{NUMBER})(?: (?:times|checks|eval\w*|avalua\w*"
    r"|comprov\w*|comprob\w*|cops|veces))(?: in a row| seguid[eao]s)?)?"
)
#: The condition first: "if it gets worse, stop".
_WORSE_STOPS: Final = re.compile(
    r"\b(?:if|when|si|quan|cuando)\b[^.;\n]{0,30}?\b(?:wors\w+|overfits|empitjor\w*|empeor\w*"
    r"|(?:stops|deixa de|deja de|no) (?:improv|millor|mejor)\w*)[^.;\n]{0,12}?"
    r"\b(?:stop|pari?|para|pare|atura|aturi|aturat|detente?)\b(?:'t)?(?: (?:early|abans|antes))?"
)
_COUNTED: Final = re.compile(
    rf"\b{NUMBER}(?= (?:times|eval|avalua|valida|check|comprov|comprob|round|cops|veces|passos"
    rf"|pasos))"
)
_HALF_A: Final = r"half an?|mig|medio"
#: "dos euros y medio"
_AND_A_HALF: Final = r"(?P<half{0}>,? (?:y medi[oa]|i mi(?:g|tja)|and a half))?"
_CURRENCY: Final = r"(?:[$\u20ac\u00a3]|euros?|eur|dollars?|dolars?|dolares|usd|bucks)"
#: "$1.64 per gpu per hour"; "$19.20 an hour for the whole box" is divided by its GPUs elsewhere.
_A_CARD: Final = (
    r"(?:,? ?(?:/ ?|(?:per|an?|por|cada|each|every|la|al?)\b ?)"
    r"(?:gpu|card|targeta|tarjeta|grafica)\b,?(?: (?:i|y|and))?)?"
)
#: "per half hour" is folded to "per 0.5 hour".
_AN_HOUR: Final = (
    r" ?(?:/ ?|(?:(?:per|an?|por|cada|each|every|la|al?)\b ?|l')+)(?P<part{0}>\d*\.?\d+ )?"
    r"(?:hours?|hr|h|hor[ae]s?)\b"
)
_PRICE: Final = re.compile(
    r"(?:[$\u20ac\u00a3] ?(?P<price>\d+(?:[.,]\d+)?)"
    rf"|(?<![\w.,])(?P<after>{_HALF_A}|{NUMBER}) ?"
    rf"(?:{_CURRENCY}|(?P<cents>cents?|centims|centimos)))"
    + _AND_A_HALF.format(1)
    + _A_CARD
    + _AN_HOUR.format(1)
    + _A_CARD
    + r"|\b(?:each|every|an|the|per|one|cada|una?|la|l')? ?(?:gpu |machine )?(?:hour|hora)\b"
    r"(?! (?:later|ago|after|before|despres|despues|m[ea]s tarde?|abans|antes)\b)"
    r"(?: (?:de|d'|del?|of|on) ?(?:(?:the|la|el) )?(?:gpu|maquina|machine|card|targeta|tarjeta))?"
    r"[^.;,!?\n\x00\d$\u20ac\u00a3]{0,24}?"
    rf"(?:[$\u20ac\u00a3] ?(?P<hourly>\d+(?:[.,]\d+)?)"
    rf"|(?<![\w.,])(?P<later>{NUMBER}) ?{_CURRENCY}(?!\w))"
    + _AND_A_HALF.format(2)
    + r"|(?<![\w.,])(?:at|a|por|for|costs?|cuestan?|costen|costa|@) ?(?P<bare>\d+(?:[.,]\d+)?)"
    + _A_CARD
    + _AN_HOUR.format(2)
)
_ROWS: Final = "/data/max_rows"
#: "I have 300 examples" states a number and sets no limit.
_LIMITING: Final = re.compile(rf"\b{any_of(WORDS['limiting'])}\b")
#: "two lines long", "tres líneas cada uno": the length of something, and no number of rows.
_LENGTHY: Final = re.compile(
    r"\s+(?:long|each|apiece|per|tall|de (?:larg[oa]|llarg|llargada|largura|longitud)|cada|por"
    r"|llarg\w*|larg\w*)\b"
)
_CHANGES: Final = re.compile(
    r"\b(?:set|change|make|raise|lower|increase|decrease|reduce|bump|drop|cut|higher|smaller|bigger"
    r"|posa\S*|canvia\S*|puja\S*|baixa\S*|redueix|augmenta|pon\S*|cambia\S*|sube\S*|baja\S*"
    r"|reduce|aumenta|to)\b|="
)
_DENIABLE: Final = {
    pointer: re.compile(rf"\b{_QUANTITIES[pointer]}(?![-\w])")
    for pointer in (
        *("/method/dropout", "/training/warmup", "/training/weight_decay"),
        "/training/max_grad_norm",
    )
}
#: "turn gradient clipping off", "quita el dropout".
_TURNED: Final = re.compile(r"\b(?:turn|switch|set)(?:ed|ing)? (?:the |our |that )?$")
_OFF: Final = re.compile(r"\s+off\b(?! (?:by|of|the)\b)")
_BOUND: Final = re.compile(
    r"\b(?:no more than|not more than|not over"
    r"|(?:don'?t|do not|must not|mustn'?t|can'?t|cannot|should not|shouldn'?t|without|not)"
    r" (?:use |go(?:ing)? |do |be |let it (?:go |run )?)?(?:more than|over|above|past|beyond"
    r"|exceed(?:ing)?(?: (?:the|of))?)"
    r"|no (?:\w+ )?(?:mes|mas) (?:de|que|d')"
    r"|(?:no|sense|sin|ni)"
    r" (?:(?:se|s'|em|me|ens|nos|hi|en|que|ha de|debe|pot|puede|vull que|quiero que) ?){0,3}"
    r"(?:(?:pas|sobrepas|super|exced)\w*)(?: mai| nunca)?"
    r"(?: de(?: l[oa]s)?| dels?| d'| els?| l[oa]s)?)\s*$"
)
#: "drop the learning rate to 1e-4" sets the rate.
_LOWERED: Final = re.compile(r"\b(?:drop|cut)(?: the)? $")
_TO: Final = re.compile(r"\bto\b")
_LOWERED_TO: Final = re.compile(
    r"\b(?:drop|cut|dump)(?:\s+\w+){0,4}?\s+(?:(?:back |down )?to|at)\s+$"
)
#: The number after a negated one: "no, cuatro", "but 4".
_INSTEAD: Final = re.compile(
    rf"[\s,.:]*(?:(?:no|not|but|sino|rather|mejor|millor|make it|que|i (?:said|meant)|he dit"
    rf"|vaig dir|he dicho|dije|{any_of(WORDS['put'])})\b[\s,]*)*"
    rf"(?P<number>{NUMBER}\s*%?)(?:\s+(?:of them|epochs?|epoques|epocas))?"
    r"(?=\s*(?:$|[.,;!]))"
)
#: The number before a negated one: "5 instead of 3 epochs".
_IN_PLACE: Final = re.compile(
    rf"\b(?P<number>{NUMBER}\s*%?) (?:instead of|rather than|and not|not|en vez de|en lugar de"
    r"|en lloc de|enlloc de|en comptes de|i no|y no)(?: the| los| las| els| les)? $"
)
#: A number further on in the clause, which `named` reads.
_NEAR: Final = re.compile(rf"[^;,:.!?\x00\n\d]{{0,36}}?\b{NUMBER}")
#: "500 rows for validation" limits nothing.
_HELD: Final = re.compile(
    r"\s*(?:for|as|per|para|com a?|como|of|de)\s+(?:the |a |el |la |l')?"
    r"(?:valid|test|eval|avalua|prova|prueba|probar)"
)
#: A data set of the Hub, with its split: "owner/set split train".
_HUB_DATA: Final = re.compile(r"(?<![\w./-])[\w.-]+/[\w.-]+ (?:split|subset|config)\b")
#: "8 answers per eval" names an event, not the split.
_REPEATED: Final = re.compile(r"\b(?:per|each|every|por|cada|a cada|en cada)\s$")
_ONLY: Final = re.compile(r"\b(?:only|just|nomes|solo|solament|solamente)\b")
#: A number that revises the one before it: "rank 32, sorry, 64".
REVISION: Final = re.compile(
    rf"[\s,.;:\u2026-]*(?:\bno\b[\s,]*)?\b{any_of(WORDS['revise'])}\b[\s,:]*"
    rf"(?:to |at |al? )?(?P<number>{NUMBER}(?:\s*%)?)(?=\s*(?:$|[.,;!?]))"
)
_WARMUP_STEPS: Final = "/training/warmup"
_WARMING: Final = re.compile(
    rf"\b(?P<before>{_NO_ARTICLE}{NUMBER}) (?:(?:steps|passos|pasos) (?:of |de |d')?)?"
    r"(?:(?:of (?:them|those|these|which)|d'ells|d'aquests|de (?:ells|ellos|esos|estos))"
    r" (?:(?:for|as|per a?l?|de|para|is|are) )?(?:the |el )?)?"
    rf"{_QUANTITIES[_WARMUP_STEPS]}(?: (?:steps|passos|pasos))?\b"
    rf"|\b{_QUANTITIES[_WARMUP_STEPS]}{_OF}(?:for |durant |durante |the first )?"
    rf"(?P<after>{NUMBER}) (?:steps|passos|pasos)\b"
)
#: "warm up over the first 5%", "calienta durante 100 pasos".
_WARMED: Final = re.compile(
    rf"\b{any_of(WORDS['warms'])}[^.;,!?\n\x00\d]{{0,30}}?\s(?P<number>{NUMBER}(?:\s*%|"
    r"(?=\s*(?:steps|passos|pasos)\b|\s(?:of|dels?|de)\s(?:the |els? |los |las |l')?"
    r"(?:steps|training|run|passos|pasos|entren\w+)\b)))(?:\s*(?:steps|passos|pasos)\b)?"
)
#: "3ep", an expert's form without a space.
_GLUED_EPOCHS: Final = re.compile(r"(?<![\w.,])(?P<number>\d+(?:[.,]\d+)?)ep(?:ochs?|s)?\b")
#: A noun that the number belongs to: "router aux coef 1e-3".
_OF_OTHER: Final = re.compile(
    r"\b(?:coef\w*|weights?|pes|peso|penal\w+|eps\w*|tol\w*|threshold|umbral|llindar|decay|loss"
    r"|perdua|perdida|aux\w*|beta|kl|floor|min\w*)\s*(?:of|de|d'|a|at|to|en)?\s*$"
)
_NAMED_RATE: Final = re.compile(
    rf"\b{_QUANTITIES['/training/learning_rate']}\b[^;,:.!?\x00\n()\d]{{0,36}}\s(?:to|at|a|en)\s+$"
)
_RATE: Final = re.compile(r"(?<![\w.,=:-])\d(?:[.,]\d+)?e-[3-7](?![\w.]|\s*(?:wd|decay|eps))")
#: "change 3 epochs to 5".
_SWAPPED: Final = re.compile(r"\b(?:change|replace|swap|cambia|canvia|substitueix|sustituye)\b")
_SWAP: Final = re.compile(
    rf"\s+(?:for|to|with|by|por|per|a)\s+(?P<number>{NUMBER}(?:\s*%)?)(?=\s*(?:$|[.,;!?]))"
)
_LENGTH: Final = "/data/max_length"
_SMALLEST_LENGTH: Final = 16
_TERA: Final = re.compile(r"\d\s*ti?b\b")


def read_quantities(message: Message) -> Iterator[Change | Choice]:
    """Yield the changes of numbers with a word beside them.

    A negated field is set to zero if that turns it off. If a message changes a field without a
    readable value, ftc asks about it.
    """
    yield from read_shares(message)
    yield from read_prices(message)
    yield from read_storage(message)
    yield from read_overlong(message)
    yield from read_passes(message)
    yield from read_counts(message)
    for match in message.take(_WARMED):
        value = _value(_WARMUP_STEPS, match["number"], match[0])
        if value is not None and not message.denied(match.start()):
            yield Change(pointer=_WARMUP_STEPS, value=value, words=message.words(*match.span()))
    for match in message.take(_WARMING):
        value = _value(_WARMUP_STEPS, match["before"] or match["after"], match[0])
        yield Change(pointer=_WARMUP_STEPS, value=value, words=message.words(*match.span()))
    patience = False
    for pointer in _QUANTITIES:
        for pattern in (_AFTER[pointer], _BEFORE[pointer]):
            for match in message.take(pattern):
                value = _value(pointer, match["number"], match[0])
                if pointer == _ROWS and not _is_limit(message, match):
                    continue
                article = pointer == _KEPT and not match["number"][0].isdigit()
                if article and _FREQUENCY.match(message.folded, match.end()):
                    continue  # "a checkpoint every 200 steps"
                if _is_denied(message, match) or _revision(message, match):
                    yield _corrected(pointer, match, message)
                elif value is not None:
                    patience = patience or pointer == _STOPPING
                    start = find_start(message, match) if pointer == _ROWS else match.start()
                    words = message.words(start, match.end())
                    yield Change(pointer=pointer, value=value, words=words)
    yield from read_unjudged(message)
    for match in message.take(_EARLY):
        denied = message.denied(match.start(), match.end())
        if denied or not patience:
            value = None if denied else _PATIENCE
            words = message.words(*match.span())
            yield Change(pointer=_STOPPING, value=value, words=words)
    yield from _read_glued(message)
    yield from _read_stopping(message)
    yield from _read_deniable(message)


def _read_glued(message: Message) -> Iterator[Change]:
    """Yield numbers that experts write without a name or a space: "3ep", "2e-4"."""
    for match in message.take(_GLUED_EPOCHS):
        value = as_written(read_number(match["number"]) or 0.0)
        yield Change(pointer="/training/epochs", value=value, words=message.words(*match.span()))
    for match in list(_RATE.finditer(message.folded)):
        rate = read_number(match[0])
        if _NAMED_RATE.search(message.folded[: match.start()]):
            continue  # `named` reads it with the name
        if _OF_OTHER.search(message.folded[: match.start()]):
            continue
        message.cross_out(*match.span())
        if rate is not None and not message.denied(match.start()):
            yield Change(pointer="/training/learning_rate", value=rate, words=match[0].strip())


def _read_deniable(message: Message) -> Iterator[Change | Choice]:
    """Yield zero for a negated field if that turns it off, and a question for a changed field."""
    for pointer, pattern in _DENIABLE.items():
        for match in list(pattern.finditer(message.folded)):
            words = message.words(*match.span())
            if _REPEATED.search(message.folded[: match.start()]):
                continue
            off = _OFF.match(message.folded, match.end()) is not None
            turned = off and _TURNED.search(message.folded[: match.start()]) is not None
            if turned or message.denied(match.start(), match.end()):
                message.cross_out(*match.span())
                yield Change(pointer=pointer, value=0, words=words)
            elif _CHANGES.search(message.folded) and not _NEAR.match(message.folded, match.end()):
                message.cross_out(*match.span())
                yield Choice(pointer=pointer, values=(), words=words)


def _is_limit(message: Message, match: re.Match[str]) -> bool:
    """Return whether a number of rows is a limit: its clause says so, or it stands alone."""
    clause = message.clause(*match.span())
    held = _HELD.match(message.folded, match.end()) and not _ONLY.search(clause)
    if held or is_possession(message.folded[: match.start()]):
        return False
    if _LENGTHY.match(message.folded, match.end()):
        return False
    part = message.folded[match.end() :].lstrip()[:1] in ("", ",", ";", "|", "/", "+", "\x00")
    if part and _HUB_DATA.search(message.plain):
        return True  # nobody owns the rows of a data set on the Hub
    return message.folded.strip() == match[0].strip() or _LIMITING.search(clause) is not None


def _is_denied(message: Message, match: re.Match[str]) -> bool:
    """Return whether a number is negated; "no more than 3" is a bound, "drop it to 3" a value."""
    before = message.folded[: match.start()]
    if (
        _BOUND.search(before)
        or _LOWERED_TO.search(before)
        or (_LOWERED.search(before) and _TO.search(match[0]))
    ):
        return False
    apart = ":" in match[0]  # "neither two nor four epochs: three"
    start = match.start("number") if apart else match.start()
    return message.denied(start, match.end()) and (read_number(match["number"]) or 0) > 0


def _revision(message: Message, match: re.Match[str]) -> re.Match[str] | None:
    """Return the number with which the following words replace a number."""
    swaps = _SWAPPED.search(message.folded[: match.start()]) is not None
    revised = REVISION.match(message.folded, match.end())
    return revised or (_SWAP.match(message.folded, match.end()) if swaps else None)


def _corrected(pointer: str, match: re.Match[str], message: Message) -> Change | Choice:
    """Return the number that replaces a negated one ("not 3 epochs but 4"), or a question."""
    other = _revision(message, match) or _INSTEAD.match(message.folded, match.end())
    if other is None and (other := _IN_PLACE.search(message.folded[: match.start()])):
        words = message.words(other.start(), match.end())
        message.cross_out(*other.span())
        before = _value(pointer, other["number"], other[0])
        return Change(pointer=pointer, value=before, words=words)
    value = _value(pointer, other["number"], other[0]) if other else None
    if other is None or value is None:
        return Choice(pointer=pointer, values=(), words=message.words(*match.span()))
    words = message.words(match.start(), other.end())
    message.cross_out(*other.span())
    return Change(pointer=pointer, value=value, words=words)


def read_prices(message: Message) -> Iterator[Change]:
    """Yield the price of the machine: "$2 an hour", "1,5 euros l'hora", "80 centimos la hora"."""
    for match in message.take(_PRICE):
        names = ("price", "after", "bare", "hourly", "later")
        said = next(match[name] for name in names if match[name])
        price = 0.5 if re.fullmatch(_HALF_A, said) else read_number(said)
        price = price + 0.5 if price is not None and (match["half1"] or match["half2"]) else price
        hours = float(match["part1"] or match["part2"] or 1)
        if price is not None and hours > 0:
            price = round(price / hours / (100 if match["cents"] else 1), 6)
            words = message.words(*match.span())
            yield Change(pointer="/hardware/price_per_hour", value=as_written(price), words=words)


def _read_stopping(message: Message) -> Iterator[Change]:
    """Yield early stopping from a description: "stop if it does not improve 4 times"."""
    for match in message.take(_WORSE_STOPS):
        yield Change(pointer=_STOPPING, value=_PATIENCE, words=message.words(*match.span()))
    for match in message.take(_STOPS):
        said = match["times"] or next(iter(_COUNTED.findall(match[0])), None)
        patience = read_number(said) if said else _PATIENCE
        words = message.words(*match.span())
        yield Change(pointer=_STOPPING, value=as_written(patience or _PATIENCE), words=words)


def _value(pointer: str, text: str, around: str) -> int | float | None:
    """Return the value of a field, or None if the text is invalid; `around` contains the unit."""
    percent = text.rstrip().endswith("%")
    kilo = _KILO_TOKENS if pointer == "/data/max_length" else _KILO
    number = read_number(text.rstrip(" %"), kilo=kilo)
    if number is None:
        return None
    if _TERA.search(around):
        number *= _KILO_TOKENS
    number = round(number / 100, 6) if percent else number
    if pointer == "/data/max_length" and number < _SMALLEST_LENGTH:
        return None
    return as_written(number)
