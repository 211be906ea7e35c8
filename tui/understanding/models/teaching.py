"""Assigns options beside the teacher of a distillation to the teacher."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.tui.understanding.implied import ROUNDED
from ftc.tui.understanding.models.own_names import complete_name
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.message import Message, find_words

_QLORA: Final = ("/method/type", "qlora")
_TEACHER, _TEACHER_WIDTH = "/objective/teacher/id", "/objective/teacher/quantization"
#: "the teacher is X, and load it in 4 bits".
_LOADED: Final = (
    r"(?:,?\s*(?:(?:which|que)\s+(?:is|es|va|ve)\s+)?(?:(?:and|i|y|but|pero)\s+)?"
    r"(?:load(?:ed)?(?: it)?|quanti[sz]ed?(?: it)?"
    r"|(?i:c[a\u00e1]rga)(?:lo|la|do|da)"
    r"|carrega(?:'l|-lo|-la|nt-lo|t|da)))?"
)


def settle_teacher(found: Sequence[Change | Choice], message: Message) -> Iterator[Change | Choice]:
    """Yield the values; a width in bits right after the teacher's name is the teacher's."""
    taught = [each for each in found if each.pointer == _TEACHER]
    for each in found:
        wide = each.pointer == ROUNDED or (each.pointer, _value(each)) == _QLORA
        own = wide and any(_is_behind(message.written, one.words, each.words) for one in taught)
        if own and each.pointer != ROUNDED:
            yield Change(pointer=_TEACHER_WIDTH, value="nf4", words=each.words)
            continue
        if each.pointer == _TEACHER and isinstance(each, Change):
            yield replace(each, value=complete_name(str(each.value)))
        else:
            yield replace(each, pointer=_TEACHER_WIDTH) if own else each


def _is_behind(written: str, teacher: str, width: str) -> bool:
    """Return whether the words for a width come right after the teacher's name."""
    rest = written[find_words(written, teacher) + len(teacher) :]
    pattern = rf"(?:@[\w.-]+)?\s*[,(\[]?{_LOADED}\s*(?:[,(@]|in|en|a|at)?\s*{re.escape(width)}"
    return re.match(pattern, rest) is not None


def _value(said: Change | Choice) -> Any:
    return said.value if isinstance(said, Change) else None
