"""Orders not to enable a switch that is off: "don't turn on DoRA" only gets an answer.

A requested state ("DoRA off") is written into the draft. So is "off" for a switch that the plan or
the default would enable.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.spec.schema import fields_by_pointer
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.message import find_places, fold

_NEVER: Final = (
    r"\b(?:don'?t|do not|dont|never|no need to|not (?:going|want|planning) to|no|mai|nunca"
    r"|sense|sin"
    r"|without|tampoc|tampoco)\b (?:[\w']+ ){0,4}?"
)
#: "no quiero que actives", "don't turn on", "sense activar".
_SWITCHED_ON: Final = re.compile(
    rf"{_NEVER}(?:(?:turn|switch)(?:ing)? on|enabl(?:e|ing)|activat(?:e|ing)"
    r"|activ(?:is|in|eu|es|en|ar)|encengu\w+|encendre|enciend\w+|encender|engegu\w+"
    r"|habilit(?:is|i|in|eu|es|e|en|ar))(?: [\w']+){0,3}\s*$"
)
#: "don't turn it on", with the value between the verb and its particle.
_SWITCHED: Final = re.compile(rf"{_NEVER}(?:turn|switch)(?:ing)?(?: (?:the|my|our|any))?\s*$")
_ON: Final = re.compile(r"\s*on\b")
_CLAUSE_END: Final = re.compile(r"[!?;:,\n]|\.(?=\s|$)|\b(?:but|pero|sino)\b")

#: Words that ask not to publish anything.
_UNPUBLISHED: Final = re.compile(
    rf"{_NEVER}(?:publi\w+|upload\w*|push\w*|shar(?:e|ing)|releas(?:e|ing)|post|puj\w+|pugis?|pugin"
    r"|pugeu|penj\w+|compart\w+|sub(?:as?|an|ais|ir|irl[oae]s?)|cuelgu\w+|colg(?:ar|uis?|ueis)\w*)"
)
#: "No lo subas, ni en privado" names no repository.
_PRIVATE: Final = "/publish/private"


def find_needless(
    text: str, told: Sequence[Change | Choice], draft: Mapping[str, Any]
) -> list[Change]:
    """Return the changes that only forbid a switch which is unset and off by default.

    The visibility of a result is one of them if the message forbids publishing it.
    """
    changes = [each for each in told if isinstance(each, Change)]
    unpublished = not _is_published(told, draft) and _UNPUBLISHED.search(fold(text)) is not None
    return [
        each
        for each in changes
        if (unpublished and each.pointer == _PRIVATE)
        or (
            each.value is False
            and _is_off(each, draft)
            and any(_is_denied(text, *place) for place in find_places(text, each.words)[:1])
        )
    ]


def _is_published(told: Sequence[Change | Choice], draft: Mapping[str, Any]) -> bool:
    named = any(each.pointer == "/publish/repo" for each in told)
    return named or draft.get("publish") is not None


def _is_off(change: Change, draft: Mapping[str, Any]) -> bool:
    field = fields_by_pointer().get(change.pointer)
    default = field is not None and field.schema.get("default") is False
    return default and not value_at(draft, change.pointer)


def _is_denied(text: str, start: int, end: int) -> bool:
    folded = fold(text)
    clause = _CLAUSE_END.split(folded[:start])[-1]
    particle = _ON.match(folded, end) is not None or folded[:end].endswith(" on")
    apart = particle and _SWITCHED.search(clause) is not None
    return apart or _SWITCHED_ON.search(clause) is not None
