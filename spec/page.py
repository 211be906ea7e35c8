"""The page of a finding's code: what it means, why it matters, what to do instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftc.spec.finding import Finding, Safety, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One code of the catalogue; `name` states the bad pattern, `text` is Markdown.

    The text has the parts "What it is", "Why it matters", "Example" and "Use instead".
    `fix_safety` is that of its findings' fixes.
    """

    code: str
    name: str
    severity: Severity
    text: str
    fix_safety: Safety = "safe"

    def finding(
        self,
        *,
        message: str,
        help: str,  # noqa: A002 - the field's name
        pointer: str = "",
        fix: tuple[Mapping[str, Any], ...] = (),
    ) -> Finding:
        """Return a finding of this code."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            message=message,
            help=help,
            pointer=pointer,
            fix=fix,
            fix_safety=self.fix_safety,
        )
