"""Findings as SARIF 2.1.0, for code-scanning services and editors."""

from collections.abc import Mapping
from typing import Any, Final

from ftc import __version__
from ftc.report.json_output import dump
from ftc.report.subject import Subject
from ftc.spec.findings.finding import Finding

_LEVELS: Final[Mapping[str, str]] = {"error": "error", "warning": "warning", "info": "note"}


def report_sarif(
    findings: tuple[Finding, ...],
    *,
    subject: Subject,
    colour: bool = False,  # noqa: ARG001 - every reporter has one signature
) -> str:
    """Return one SARIF log with one run; its rules are those that the results name."""
    names = dict(sorted({finding.code: finding.name for finding in findings}.items()))
    driver = {
        "name": "ftc",
        "version": __version__,
        "rules": [{"id": code, "name": name} for code, name in names.items()],
    }
    run = {
        "tool": {"driver": driver},
        # SARIF counts columns in UTF-16 units unless told otherwise; ftc counts characters
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, subject.name) for finding in findings],
    }
    return dump({"version": "2.1.0", "$schema": _SCHEMA, "runs": [run]})


_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def _result(finding: Finding, name: str) -> Mapping[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(name)}}
    if finding.position is not None:
        place["region"] = {
            "startLine": finding.position.line,
            "startColumn": finding.position.column,
        }
    location = {
        "physicalLocation": place,
        "logicalLocations": [{"fullyQualifiedName": finding.pointer or "/"}],
    }
    return {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}: {finding.help}"},
        "locations": [location],
    }


def _uri(name: str) -> str:
    """Return a relative URI reference, or a file URI for an absolute path."""
    from pathlib import Path  # noqa: PLC0415 - for this format only
    from urllib.parse import quote  # noqa: PLC0415

    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
