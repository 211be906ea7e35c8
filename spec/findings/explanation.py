"""The explanation of a finding's code: what it means, why it matters, what to do instead."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftc.spec.findings.finding import Finding, Safety, Severity
from ftc.spec.message import Message, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One code of the catalogue; `name` states the bad pattern, `text` is Markdown.

    The text has the parts "What it is", "Why it matters", "Example" and "Use instead".
    `pointer` is where its findings point if they do not say it, and `fix_safety` is that of their
    fixes.
    """

    code: str
    name: str
    severity: Severity
    text: str
    pointer: str = ""
    fix_safety: Safety = "safe"

    def finding(
        self,
        *,
        message: str = "",
        help: str = "",  # noqa: A002 - the field's name
        pointer: str = "",
        fix: tuple[Mapping[str, Any], ...] = (),
        **values: Value,
    ) -> Finding:
        """Return a finding of this code.

        `message` and `help` name variants: the sentences are `CODE.message` and `CODE.help`, or
        `CODE.message.VARIANT` and `CODE.help.VARIANT`. Both take the same `values`.
        """
        return Finding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            problem=Message(f"{self.code}.message{message and '.' + message}", values),
            remedy=Message(f"{self.code}.help{help and '.' + help}", values),
            pointer=pointer or self.pointer,
            fix=fix,
            fix_safety=self.fix_safety,
        )
