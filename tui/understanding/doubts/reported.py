"""Hardware in a report or a concession, which is not a request."""

import re
from collections.abc import Sequence
from typing import Final

from ftc.tui.understanding.reading import UNSURE, Change, Choice, ask_about
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold

_HARDWARE: Final = "/hardware/"
_GPU: Final = "/hardware/gpu"
_TWO: Final = 2
#: "at work we have eight H100, but this one I do at home": the second clause is the request.
_BUT: Final = re.compile(r"[\s,]+(?:but|though|although|pero)\s+(?P<point>[^.;!?\n]+)")
_FEWEST_WORDS: Final = 3
#: "bring the 3090 cables", "la factura de la 4090": something that belongs to a card.
_THING: Final = (
    r"(?:cables?|fans?|ventilador\w*|drivers?|manual\w*|box(?:es)?|caixa|caixes|cajas?|receipts?"
    r"|invoices?|factur\w+|tickets? de compra|stickers?|risers?|brackets?|psu|heat ?sinks?"
    r"|dissipador\w*"
    r"|disipador\w*|backplates?|suports?|soportes?|warrant(?:y|ies)|garanti\w+|prices?|preus?"
    r"|precios?"
    r"|reviews?|shipments?|comandes|comanda|pedidos?|noise|soroll|ruido)"
)
_CARD_THING: Final = re.compile(rf"(?:'s)? {_THING}(?!\w)")
_THING_OF: Final = re.compile(
    rf"\b{_THING} (?:(?:of|for|from|de|del|d'|per a|para)\s?)(?:(?:the|my|our|la|les|las|el|els"
    rf"|los|mi)\s"
    r"|l')?$"
)
#: "that's meant for eight cards": the hardware of somebody else's setup.
_MEANT_FOR: Final = re.compile(
    r"\b(?:that|this|aixo|allo|eso|esto)(?:'s|,? (?:is|was|es|era|va|esta))"
    r"(?: (?:meant|pensat|pensada|pensado|only|nomes|solo))? (?:for|per a|para)\s+$"
)


def doubt_reported_hardware(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, with a question about hardware in a sentence that is only a report.

    Hardware is set without request words, since people just say what they have. In "she trained
    hers for 6 epochs, full, on three H100s", the other values show that it is a report. So does an
    unread clause after "but": "at work we have eight H100, but ...".
    """
    folded = fold(text)
    places = [(each, find_places(text, each.words)[:1]) for each in told]
    sentences = [
        (each, find_around(SENTENCE_END, folded, place[0])) for each, place in places if place
    ]
    reports = {
        sentence
        for _, sentence in sentences
        if _is_report([each for each, other in sentences if other == sentence])
    }
    doubted = [each for each, sentence in sentences if sentence in reports]
    spans = [span for each in told for span in find_places(text, each.words)]
    return [
        ask_about(each)
        if isinstance(each, Change)
        and each.pointer.startswith(_HARDWARE)
        and (
            each in doubted
            or _is_conceded(folded, place, spans)
            or any(_MEANT_FOR.search(folded, 0, start) for start, _ in place)
            or any(
                _THING_OF.search(folded, 0, start) or _CARD_THING.match(folded, end)
                for start, end in place
                if each.pointer == _GPU
            )
        )
        else each
        for each, place in places
    ]


def _is_conceded(folded: str, place: Sequence[Span], spans: Sequence[Span]) -> bool:
    """Return whether the sentence goes on with "but" and an unread clause."""
    for _, end in place:
        first, last = find_around(SENTENCE_END, folded, (end, end))
        match = _BUT.search(folded, end, last)
        if match is None:
            return False
        begin, stop = match.span("point")
        words = match["point"].split()
        read = any(start < stop and begin < other for start, other in spans)
        return first < last and len(words) >= _FEWEST_WORDS and not read
    return False


def _is_report(said: Sequence[Change | Choice]) -> bool:
    """Return whether at least two other values are in doubt, and no other value is certain."""
    others = [each for each in said if not each.pointer.startswith(_HARDWARE)]
    doubted = [each for each in others if isinstance(each, Choice) and each.why == UNSURE]
    return len(doubted) >= _TWO and len(doubted) == len(others)
