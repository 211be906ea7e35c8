"""The reasons of decisions in a person's language: for the assistant, and a README on request."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.reasons import fill, sentence, shown_values
from ftc.spec.message import Language

#: From English numbers to those of Catalan and Spanish.
_RESPELT: Final = str.maketrans({",": ".", ".": ",", "%": " %"})


def sentence_in(language: Language, because: Because) -> str:
    """Return a decision's reason as one line without a final period."""
    if language == "en":
        return sentence(because)
    shown = {
        name: respell(text) if _is_number(because.values[name]) else text
        for name, text in shown_values(because).items()
    }
    return fill(read_reasons()[because.key][language], because, shown)


def respell(number: str) -> str:
    """Return an English number, with its unit, as Catalan and Spanish write it."""
    return number.translate(_RESPELT)


@cache
def read_reasons() -> Mapping[str, Mapping[Language, str]]:
    """Return the sentences of decisions' reasons by key."""
    path = files("ftc.compiler.plan") / "reasons.json"
    catalogue: Mapping[str, Mapping[Language, str]] = json.loads(path.read_text(encoding="utf-8"))
    return catalogue


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
