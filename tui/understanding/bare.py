"""The unread part of a message, which may show whether a value is requested."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ftc.tui.understanding.fields.named import field_names
from ftc.tui.understanding.text.message import Span, fold

#: "the tutorial says: set lr to 5e-3" is a quotation.
_REPORTED: Final = re.compile(
    r"\b(?:say|says|said|tells?|told|wrote|writes|written|reads?|shows?|shown|logs?|recom\w+|suggest\w*"
    r"|claim\w*|prints?|output|error|e\.g|eg|example|quote|warning|hint|tip|docs?|dice|dicen|dijo|dijeron"
    r"|diu|diuen|deia|dit|dir|suger\w+|escri\w+|pone|ponia|poni|mostra\w*|muestra\w*|registr\w+|exempl\w*"
    r"|ejempl\w*|avis\w*)\b[^.;!?\n:]{0,40}(?P<colon>:)(?=\s)"
)
#: A borrowed machine is available: "my sister lent me her pc", "el meu germà m'ha deixat".
_LENT: Final = re.compile(
    r"(?:\b(?:my|our|a|an|the|mi|un|una|el|la)(?: (?:meu|meva|old))? \w+ )?"
    r"\b(?:(?:has |have |is )?(?:lent|lends?|lending) (?:me|us)(?: (?:his|her|their|its|a|an))?"
    r"|(?:em|ens|me|nos|m'|m'ha|m'han|ens ha|ens han)(?: ?(?:ha|han|va|van))?"
    r" ?(?:deix|dej|prest)\w*"
    r"(?: (?:su|sus|un|una|el|la)(?: seu| seva)?)?)\b"
)
#: A value that is replaced by another one.
_REPLACED: Final = re.compile(
    r"\b(?:(?:instead|in place) of|rather than"
    r"|(?:en vez|en lugar|en lloc|en comptes|enlloc) d(?:els?|e|'))"
    r"\s*(?:(?:the|that|an?|el|la|els|les|los|las|una?|l')\s*)?[\w.-]+"
)
#: Fields that are set by descriptions of rows and goals, and fields of quoted texts.
DESCRIBED: Final = (
    *("/data/source", "/data/sources", "/data/columns", "/data/form", "/data/system"),
    *("/objective/type", "/objective/teacher", "/name"),
)


def hide_read(text: str, spans: Sequence[Span]) -> str:
    """Return the folded text without words that had an effect, field names and replaced values."""
    bare = _without(fold(text), spans)
    for match in _REPORTED.finditer(fold(text)):  # a quotation is not a separate clause
        bare = f"{bare[: match.start('colon')]} {bare[match.end('colon') :]}"
    for pointer, pattern in field_names():
        if pointer.startswith(DESCRIBED):
            continue
        bare = pattern.sub(lambda match: "_" * len(match[0]), bare)
    bare = _LENT.sub(lambda match: "_" * len(match[0]), bare)
    return _REPLACED.sub(lambda match: "_" * len(match[0]), bare)


def _without(folded: str, spans: Iterable[Span]) -> str:
    for start, end in spans:
        folded = f"{folded[:start]}{'_' * (end - start)}{folded[end:]}"
    return folded
