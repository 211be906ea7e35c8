"""Translation: findings and failures in the assistant's language."""

from ftc.spec.findings.finding import EnvironmentFailure, Finding
from ftc.spec.message import Message
from ftc.tui.languages.voice import Voice


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
