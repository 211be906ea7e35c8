"""The deterministic reader: the readers of a message, in their order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ftc.tui.understanding.admission import admits
from ftc.tui.understanding.exports import read_exports
from ftc.tui.understanding.files import read_columns, read_files, read_texts
from ftc.tui.understanding.hardware import read_hardware
from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.models import read_models
from ftc.tui.understanding.quantities import read_quantities
from ftc.tui.understanding.questions import take_question
from ftc.tui.understanding.reading import Change, Choice, Reading, Request
from ftc.tui.understanding.requests import read_request
from ftc.tui.understanding.words import read_words

_CORRECTION: Final = re.compile(rf"^\s*{any_of(WORDS['correct'])}\b[,:]?\s+(?=\S)")
#: Fields of which any value removes others, and the word that stands for them.
_KIND: Final = {"/training/epochs": "any", "/training/max_steps": "any"}
_KNOBS: Final = (
    *("/method/rank", "/method/alpha", "/method/dropout", "/method/targets"),
    *("/method/target_pattern", "/method/experts", "/method/rslora", "/method/dora"),
    *("/method/init", "/method/double_quantization", "/method/quantization"),
)
#: The fields that a value removes, because a spec may not have both.
_DISPLACES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("/training/epochs", "any"): ("/training/max_steps",),
    ("/training/max_steps", "any"): ("/training/epochs",),
    ("/method/type", "full"): (*_KNOBS, "/method/also_train", "/method/layers"),
    ("/method/type", "freeze"): _KNOBS,
    ("/method/type", "lora"): (*_KNOBS[-2:], "/method/layers"),
    ("/method/type", "qlora"): ("/method/layers",),
    ("/method/quantization", "int8"): ("/method/double_quantization",),
}
#: The longest text that is read; a quoted system message may be longer.
_LONGEST: Final = 1000
_LONGEST_QUOTED: Final = 8000


def read(text: str, draft: Mapping[str, Any]) -> Reading:
    """Return the reading of a message; `draft` is the spec's long form so far.

    A question becomes a request, not a change. Changes are in the order of the readers, not of the
    message. If a field has two changes, the last one of that order is kept.
    """
    message = Message(text[:_LONGEST_QUOTED])
    request = read_request(message)
    if request is not None:
        return Reading(request=request)
    _strike_correction(message)
    texts = list(read_texts(message))
    message.cross_out(_LONGEST, len(text))
    about = take_question(message)
    said: list[Change | Choice] = [
        *texts,
        *read_columns(message),
        *read_files(message),
        *read_models(message),
        *read_exports(message, _types(draft)),
        *read_quantities(message),
        *read_hardware(message),
        *read_words(message),
    ]
    changes = {said.pointer: said for said in said if isinstance(said, Change)}
    kept = [each for each in changes.values() if admits(each.pointer, each.value)]
    return Reading(
        request=None if about is None else Request(kind="judge", about=about),
        changes=(*kept, *_displaced(kept, draft)),
        refused=tuple(each for each in changes.values() if not admits(each.pointer, each.value)),
        choices=tuple(item for item in said if isinstance(item, Choice)),
        rest=message.rest(),
    )


def _displaced(said: Sequence[Change], draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the fields of the draft that conflict with a later change."""
    own = {each.pointer for each in said}
    for change in said:
        value = _KIND.get(change.pointer, str(change.value))
        for pointer in _DISPLACES.get((change.pointer, value), ()):
            section, key = pointer[1:].split("/")
            inner = draft.get(section)
            if isinstance(inner, Mapping) and inner.get(key) is not None and pointer not in own:
                yield Change(pointer=pointer, value=None, words=change.words)


@dataclass(frozen=True, slots=True)
class WordReader:
    """The deterministic reader, for a session."""

    sure: bool = True

    def read(self, text: str, draft: Mapping[str, Any]) -> Reading:
        """Return the reading of a message's words."""
        return read(text, draft)


WORDS_ALONE: Final = WordReader()


def strip_correction(text: str) -> str:
    """Return a message without a leading "no," that corrects an earlier message."""
    message = Message(text)
    _strike_correction(message)
    return message.written[len(message.folded) - len(message.folded.lstrip("\0")) :]


def _strike_correction(message: Message) -> None:
    """Cross out a "no," that corrects an earlier message, so that it negates nothing."""
    match = _CORRECTION.match(message.folded)
    if match:
        message.cross_out(*match.span())


def _types(draft: Mapping[str, Any]) -> Sequence[str]:
    export = draft.get("export")
    types = export.get("types", ()) if isinstance(export, Mapping) else export or ()
    return [kind for kind in types if isinstance(kind, str)]
