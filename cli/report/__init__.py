"""Shows findings and plans: text for people, JSON, SARIF and annotations for machines."""

from collections.abc import Mapping
from typing import Final, Protocol

from ftc.report.github import report_github
from ftc.report.json_output import report_json
from ftc.report.sarif import report_sarif
from ftc.report.subject import Subject
from ftc.report.text import report_text
from ftc.spec.findings.finding import Finding


class Reporter(Protocol):
    """Turns findings into the whole text of a report, without a final newline."""

    def __call__(
        self, findings: tuple[Finding, ...], *, subject: Subject, colour: bool = False
    ) -> str:
        """Return the report; `colour` matters to text alone."""


REPORTERS: Final[Mapping[str, Reporter]] = {
    "text": report_text,
    "json": report_json,
    "github": report_github,
    "sarif": report_sarif,
}
