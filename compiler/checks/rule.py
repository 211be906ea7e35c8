"""One rule: a page, what it reads, and the function that looks."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.checks.case import Case, Read
from ftc.spec.finding import Finding, Safety, Severity
from ftc.spec.page import Page

HEADINGS: Final = ("What it is", "Why it matters", "Example", "Use instead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule found: the parts of a finding that differ from case to case.

    `fix_safety` is the rule's own where it is None.
    """

    message: str
    help: str
    pointer: str = ""
    fix: tuple[Mapping[str, Any], ...] = ()
    fix_safety: Safety | None = None


Check = Callable[[Case], Iterator[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the registry; it is run only where everything in `reads` is known."""

    page: Page
    reads: tuple[Read, ...]
    check: Check

    def findings(self, case: Case) -> tuple[Finding, ...]:
        """Run the rule; nothing where a fact that it reads is unknown."""
        if not all(case.has(read) for read in self.reads):
            return ()
        return tuple(self._finding(problem) for problem in self.check(case))

    def _finding(self, problem: Problem) -> Finding:
        finding = self.page.finding(
            message=problem.message, help=problem.help, pointer=problem.pointer, fix=problem.fix
        )
        safety = problem.fix_safety or self.page.fix_safety
        return replace(finding, fix_safety=safety)


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    reads: tuple[Read, ...] = (),
    fix_safety: Safety = "safe",
) -> Callable[[Check], Rule]:
    """Make a rule of a function; its docstring is the page, a paragraph to each heading."""

    def make(check: Check) -> Rule:
        text = page_text(inspect.getdoc(check) or "")
        page = Page(code=code, name=name, severity=severity, text=text, fix_safety=fix_safety)
        return Rule(page=page, reads=reads, check=check)

    return make


def page_text(docstring: str) -> str:
    """Turn "Heading: text" paragraphs into the Markdown of a page, examples into code blocks."""
    parts = []
    for paragraph in docstring.split("\n\n"):
        heading, _, text = paragraph.partition(": ")
        if heading in ("Example", "Use instead"):
            parts.append(f"**{heading}**\n\n```json\n{' '.join(text.split())}\n```\n")
        else:
            parts.append(f"**{heading}.** {' '.join(text.split())}\n")
    return "\n".join(parts)


def put(pointer: str, value: object) -> Mapping[str, Any]:
    """Return the JSON patch operation that sets one field of the long form."""
    return {"op": "add", "path": pointer, "value": value}
