"""JSON output: findings as `findings.schema.json` promises them, and how every command prints."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ftc.report.subject import Subject
from ftc.spec.findings.finding import Finding

VERSION: Final = 1


def report_json(
    findings: tuple[Finding, ...],
    *,
    subject: Subject,  # noqa: ARG001 - every reporter has one signature
    colour: bool = False,  # noqa: ARG001
) -> str:
    """Return the findings as one JSON object."""
    return dump({"version": VERSION, "findings": list_findings(findings)})


def list_findings(findings: tuple[Finding, ...]) -> list[Mapping[str, Any]]:
    """Return one plain object per finding; line and column are null where unknown."""
    return [
        {
            "code": finding.code,
            "name": finding.name,
            "severity": finding.severity,
            "message": finding.message,
            "help": finding.help,
            "pointer": finding.pointer,
            "line": finding.position.line if finding.position else None,
            "column": finding.position.column if finding.position else None,
            "fix": [dict(operation) for operation in finding.fix],
            "fix_safety": finding.fix_safety if finding.fix else None,
        }
        for finding in findings
    ]


def dump(value: Any) -> str:
    """Return JSON as every command prints it."""
    return json.dumps(value, indent=2, ensure_ascii=False)
