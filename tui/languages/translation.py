"""Translates findings and failures into the assistant's language."""

from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message
from ftc.tui.languages.voice import Voice


def tell(finding: Finding, voice: Voice) -> str:
    """Return the finding as one line in the language of the voice: severity, code and message."""
    severity = voice.say(f"severity.{finding.severity}")
    return f"{severity}[{finding.code}] {finding.problem.render(voice.language)}"


def tell_with_help(finding: Finding, voice: Voice) -> str:
    """Return the finding's line, with its help below."""
    return f"{tell(finding, voice)}\n{finding.remedy.render(voice.language)}"


def tell_failure(failure: EnvironmentFailure, voice: Voice) -> str:
    """Return the failure, with its help below.

    A failure without a message in the catalogue is shown in English.
    """
    return "\n".join(
        part.render(voice.language) if isinstance(part, Message) else part
        for part in (failure.problem, failure.remedy)
    )
