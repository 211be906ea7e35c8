"""Translation: findings, failures and reasons of decisions in the assistant's language."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from ftc.compiler.plan.decision import Because
from ftc.compiler.plan.reasons import fill, sentence, shown_values
from ftc.spec.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message
from ftc.tui.voice import Language, Voice

_RESPELT: Final = str.maketrans(",.", ".,")


def tell(finding: Finding, voice: Voice) -> str:
    """Return the finding as one line in the voice's language: severity, code and message."""
    severity = voice.say(f"severity.{finding.severity}")
    return f"{severity}[{finding.code}] {finding.problem.render(voice.language)}"


def tell_with_help(finding: Finding, voice: Voice) -> str:
    """Return the finding's line, and below it what to do about it."""
    return f"{tell(finding, voice)}\n{finding.remedy.render(voice.language)}"


def tell_failure(failure: EnvironmentFailure, voice: Voice) -> str:
    """Return what failed, and below it what to do about it.

    A failure that is no message of the catalogue is told in English.
    """
    return "\n".join(
        part.render(voice.language) if isinstance(part, Message) else part
        for part in (failure.problem, failure.remedy)
    )


def give_reason(because: Because, voice: Voice) -> str:
    """Return a decision's reason as one line without a final period."""
    if voice.language == "en":
        return sentence(because)
    shown = {
        name: text.translate(_RESPELT) if _is_number(because.values[name]) else text
        for name, text in shown_values(because).items()
    }
    return fill(read_reasons()[because.key][voice.language], because, shown)


@cache
def read_reasons() -> Mapping[str, Mapping[Language, str]]:
    """Return the sentences of decisions' reasons by key."""
    path = files("ftc.tui") / "catalogue" / "reasons.json"
    catalogue: Mapping[str, Mapping[Language, str]] = json.loads(path.read_text(encoding="utf-8"))
    return catalogue


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
