"""Wishes that name no field: "24 please", "make it smaller", "que vagi més de pressa".

ftc asks about the field that was most likely meant, and sets nothing.
"""

import re
from typing import Final

from ftc.spec.values.admission import admits
from ftc.tui.understanding.reading import UNSURE, Choice
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_RANK: Final = "/method/rank"
_RATE: Final = "/training/learning_rate"
#: Words around a wish.
_BEFORE: Final = (
    r"(?:(?:can|could|would) (?:you|we) |(?:i|we)(?:'d| would)? (?:like|want|need)(?: to)? (?:it )?"
    r"|please |vull |voldria |m'agradaria |pots |quiero |querria |me gustaria |puedes "
    r"|que (?:sea |sigui )?|and |but |ok(?:ay)?,? |no,? |mejor |millor )*"
)
_AFTER: Final = (
    r"(?: (?:please|pls|thanks|instead|then|a (?:bit|little|touch|notch)|una mica|un pel|un poc"
    r"|un poco|un pelin|anda|va|sisplau|si us plau|por favor|gracias))*[\s.!?]*"
)
_PUT: Final = (
    r"(?:(?:make|set|put|use|take) (?:it |that )?(?:to |at )?"
    r"|(?:posa|fes)(?:'n|-ne|-ho|-la|-lo)(?: a)? "
    r"|(?:pon|haz|deja|sube|baja)(?:le|lo|la|me)? (?:a |en )?"
    r"|(?:puja|baixa)-(?:ho|la|lo) (?:a|fins a) )"
)
_ONLY_NUMBER: Final = re.compile(rf"{_BEFORE}{_PUT}?(?P<number>{NUMBER}){_AFTER}")
_TURN: Final = (
    r"(?:(?:turn|bring|dial|push|crank|raise|lower|increase|decrease|bump) (?:it|that|this)"
    r"(?: up| down)?|(?:a (?:bit|little) )?(?:higher|lower|more|less)"
    r"|(?:a?puja|a?baixa)(?:-ho|-la|-lo|'l)|(?:sube|baja)l[oa]"
    r"|(?:una mica |un poco )?(?:mes|menys|mas|menos)(?: alt| baix| alto| bajo)?)"
)
_FASTER: Final = (
    r"(?:(?:make )?(?:it )?(?:go |run |train )?(?:faster|quicker|speed (?:it|this) up)"
    r"|(?:que )?(?:va(?:gi|ya)|anes|fues?e|fuera|anar?)"
    r" (?:mes|mas) (?:de pressa|deprisa|rapid[oa]?)"
    r"|(?:que )?(?:train|entren[aei]|trigui|tarde|dure|duri|take) (?:less|menys|menos)"
    r"(?: (?:time|temps|tiempo|estona))?)"
)
_OTHER: Final = (
    r"(?:(?:make|get|give|use|take|put|want|go with) (?:it |me )?(?:the |an? |something )?"
    r"(?:other|smaller|bigger|better|larger|lighter|big|small|smarter|stronger)(?: one)?"
    r"|(?:fes-ho|fes-lo|posa|agafa|usa)? ?(?:mes (?:petit|gran)|un altre|l'altre|el (?:gran|petit)"
    r"|(?:un|algun) (?:de )?millor)"
    r"|(?:hazlo|ponlo|pon|usa|coge)? ?(?:mas (?:pequeno|grande)|otro|el otro"
    r"|el (?:grande|pequeno)|uno mejor))"
)
_WISHES: Final = tuple(
    (pointer, re.compile(f"{_BEFORE}{wish}{_AFTER}"))
    for pointer, wish in (
        (_RATE, _TURN),
        ("/training/epochs", _FASTER),
        ("/model/id", _OTHER),
    )
)


def find_vague(text: str) -> Choice | None:
    """Return a question about the field that a message without any field most likely means.

    A whole number is most likely a rank, and a fraction of one a learning rate.
    """
    written = text.strip()
    folded = Message(written).folded
    if (said := _ONLY_NUMBER.fullmatch(folded)) is not None:
        number = read_number(said["number"])
        pointer = _RATE if number is None or number < 1 else _RANK
        value = None if number is None else as_written(number)
        if value is None or not admits(pointer, value):
            return None
        return Choice(pointer=pointer, values=(value,), words=written, why=UNSURE)
    for pointer, pattern in _WISHES:
        if pattern.fullmatch(folded):
            return Choice(pointer=pointer, values=(), words=written)
    return None
