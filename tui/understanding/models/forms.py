"""Variants of a model, instruction-tuned or base: "the same, not the instruct"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import BASE, MUTE, PART, TUNED, words_of
from ftc.compiler.knowledge.well_known.models import all_models, find_model
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.message import Message, fold

_POINTER: Final = "/model/id"
_AIM: Final = "/objective/type"
#: The variant that the message rejects: "the 360M, the normal one, not the instruct".
_NOT_TUNED: Final = (
    r"(?:not|no(?: pas)?|nor|ni|sense|sin|without|rather than|instead of|en vez de|en lugar de"
    r"|en lloc de|en comptes de)\s+(?:(?:the|el|la|l'|an?|una?|de|del|version|versio)\s*)*"
    r"(?:(?:instruct|instruction[- ]tuned)\b(?!\s+(?:data|format|rows|template))(?:\s+(?:one"
    r"|version"
    r"|variant|form|tuned|model))?|(?:chat|it) (?:one|version|variant|form|tuned|model)\b"
    r"|(?<=the )it\b|(?<=l')it\b|(?<=el )it\b)"
)
UNTUNED_AFTER: Final = re.compile(rf"[^.;!?\n\x00]{{0,40}}?[\s,(]{_NOT_TUNED}")
_FORM: Final = re.compile(
    r"\b(?:base|pretrained|instruct|chat) (?:version|variant|form|one|sibling|checkpoint)\b"
    r"(?! of (?!(?:(?:the|my|our|this|that) )?(?:same|model|it\b|this|that))\w)"
    r"|\b(?:versio|version|variante?) (?:base|instruct|chat|de chat|de xat)\b"
    rf"|\b(?P<untuned>{_NOT_TUNED})"
)


def read_form(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the other variant of the draft's model: "the plain base version of the same model"."""
    now = find_model(str(value_at(draft, _POINTER)))
    for match in message.take(_FORM) if now is not None else ():
        plain = match["untuned"] is not None or BASE & set(PART.findall(match[0]))
        wanted = "base" if plain else "instruct"
        same = [
            model
            for model in all_models()
            if model.kind == wanted and _bare(model.id) == _bare(now.id)  # type: ignore[union-attr]
        ]
        denied = match["untuned"] is None and message.denied(match.start())
        if len(same) == 1 and not denied:
            yield Change(pointer=_POINTER, value=same[0].id, words=message.words(*match.span()))


def prefer_base(said: Sequence[Change | Choice], draft: Mapping[str, Any]) -> list[Change | Choice]:
    """Return what was said with the base form of a model that continues its pretraining.

    A form that the message names stays.
    """
    objectives = [each.value for each in said if isinstance(each, Change) and each.pointer == _AIM]
    if [*objectives, value_at(draft, _AIM)][0] != "cpt":
        return list(said)
    return [_as_base(each) if each.pointer == _POINTER else each for each in said]


def _as_base(said: Change | Choice) -> Change | Choice:
    if not isinstance(said, Change) or TUNED & set(PART.findall(fold(said.words))):
        return said
    bare = _bare(str(said.value))
    bases = [each.id for each in all_models() if each.kind == "base" and _bare(each.id) == bare]
    return replace(said, value=bases[0]) if len(bases) == 1 else said


def _bare(name: str) -> frozenset[str]:
    """Return the words of an id's name without those of its variant."""
    return words_of(name) - TUNED - BASE - MUTE
