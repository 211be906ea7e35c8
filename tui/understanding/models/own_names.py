"""Finds known models named without an owner: "bge-m3", "gemma-2-9b-it", "ModernBERT base"."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from ftc.compiler.knowledge.well_known.model_names import BASE, FAMILIES, PART, TUNED
from ftc.compiler.knowledge.well_known.models import all_models
from ftc.tui.understanding.text.message import Message, fold

_NAME: Final = re.compile(r"(?<![\w./\\-])[a-z][\w.]*(?:-[\w.]*\w)+(?![\w/\\-])")
_SEPARATOR: Final = re.compile(r"[-_ ]")
#: "glm 5" is not a name before "epochs".
_ENDS_IN_NUMBER: Final = re.compile(r"[-_]\d+$")
#: The minimum number of words for the end of a model's name: "r1-distill-qwen-14b".
_FEWEST_SEPARATORS: Final = 2


def complete_name(name: str) -> str:
    """Return the Hub id of a model named without an owner; other names are returned unchanged."""
    return _by_name().get(fold(name), name)


def find_own_names(message: Message) -> Iterator[tuple[int, int, str]]:
    """Yield the range of each such name, with the model's id.

    If a name begins with a family, it is complete only if it states the variant of the model. Names
    of other models may have spaces instead of hyphens.
    """
    for match in list(_NAME.finditer(message.folded)):
        model = _by_name().get(match[0]) or _by_tail().get(match[0])
        parts = set(PART.findall(match[0]))
        known = FAMILIES & parts and match[0] in _by_name()
        if model is not None and not (known and not parts & (TUNED | BASE | {"hf"})):
            yield *match.span(), model
    for match in list(_spaced().finditer(message.folded)):
        if " " in match[0]:
            yield *match.span(), _by_words()[_SEPARATOR.sub(" ", match[0])]


@cache
def _by_name() -> Mapping[str, str]:
    """Return the models by their folded name without the owner."""
    return {fold(model.id.partition("/")[2]): model.id for model in all_models()}


@cache
def _by_tail() -> Mapping[str, str]:
    """Return the models by the ends of their names that no other name has."""
    tails: dict[str, list[str]] = {}
    for name, model in _by_name().items():
        parts = name.split("-")
        for first in range(1, len(parts) - 1):
            if parts[first] not in FAMILIES:
                tails.setdefault("-".join(parts[first:]), []).append(model)
    return {
        tail: models[0]
        for tail, models in tails.items()
        if len(models) == 1 and tail.count("-") >= _FEWEST_SEPARATORS
    }


@cache
def _by_words() -> Mapping[str, str]:
    """Return the models without a family by the words of their names."""
    return {
        _SEPARATOR.sub(" ", name): model
        for name, model in _by_name().items()
        if "-" in name
        and FAMILIES.isdisjoint(PART.findall(name))
        and not _ENDS_IN_NUMBER.search(name)
    }


@cache
def _spaced() -> re.Pattern[str]:
    names = sorted(_by_words(), key=len, reverse=True)
    said = "|".join(re.escape(name).replace(r"\ ", "[-_ ]") for name in names)
    return re.compile(rf"(?<![\w./\\-])(?:{said})(?![\w/\\-]|\.\w)")
