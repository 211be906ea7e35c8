"""Findings as GitHub workflow commands, which become annotations on the changed lines."""

from collections.abc import Mapping
from typing import Final

from ftc.report.subject import Subject
from ftc.spec.findings.finding import Finding

_COMMANDS: Final[Mapping[str, str]] = {"error": "error", "warning": "warning", "info": "notice"}
# github.com/actions/toolkit, packages/core/src/command.ts: what ends a message, what a property
_IN_MESSAGE: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def report_github(
    findings: tuple[Finding, ...],
    *,
    subject: Subject,
    colour: bool = False,  # noqa: ARG001 - every reporter has one signature
) -> str:
    """Return one workflow command per finding."""
    return "\n".join(_command(finding, subject.name) for finding in findings)


def _command(finding: Finding, name: str) -> str:
    properties = {"file": name, "title": f"{finding.code} {finding.name}"}
    if finding.position is not None:
        properties |= {"line": str(finding.position.line), "col": str(finding.position.column)}
    inside = ",".join(f"{key}={text.translate(_IN_PROPERTY)}" for key, text in properties.items())
    message = f"{finding.message}\nhelp: {finding.help}".translate(_IN_MESSAGE)
    return f"::{_COMMANDS[finding.severity]} {inside}::{message}"
