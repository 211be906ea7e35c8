"""Finds values in `config.json` that have a type which transformers does not accept."""

from collections.abc import Mapping
from typing import Final

from ftc.compiler.knowledge.config_types import KINDS, find_refused, kind_of
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.model.sections import Part
from ftc.spec.finding import Finding
from ftc.spec.message import Message
from ftc.spec.quote import quote

#: How each kind of values is called, by its letter in the table.
_NAMES: Final[Mapping[str, Message | str]] = {
    "i": Message("phrase.integer"),
    "f": Message("phrase.fraction"),
    "b": Message("phrase.boolean"),
    "s": Message("phrase.text"),
    "l": Message("phrase.list"),
    "d": Message("phrase.object"),
    "n": "`null`",
}
_BOTH: Final = "if"  # whole numbers and others


def find_type_fault(part: Part, name: str) -> Finding | None:
    """Return a finding for the first value of a type that transformers does not accept, or None.

    Nothing is reported for classes outside the table, such as those with their own code.
    """
    for key, value in part.data.items():
        refused = find_refused(part.model_type, key)
        if kind_of(value) in refused:
            return value_fault(name, part.prefix + key, value, _say_accepted(refused))
    return None


def value_fault(name: str, key: str, value: object, expected: Message) -> Finding:
    """Return the finding for a value that transformers cannot read: it needs `expected`."""
    return explanations.BROKEN_CONFIG.finding(
        message="value",
        help="value",
        pointer="/model/id",
        name=name,
        key=key,
        value=quote(value),
        expected=expected,
    )


def _say_accepted(refused: str) -> Message:
    accepted = "".join(kind for kind in KINDS.values() if kind not in refused)
    numbers = [Message("phrase.number")] if accepted.startswith(_BOTH) else []
    rest = accepted.removeprefix(_BOTH)
    options = (*numbers, *(_NAMES[kind] for kind in rest))
    return Message("phrase.either", {"options": options})
