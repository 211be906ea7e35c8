"""A rule: its explanation, the facts it reads, and the function that checks them."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ftc.compiler.checks.rule_input import Case, Read
from ftc.compiler.resolve.teacher import of_teacher
from ftc.spec.findings.explanation import Explanation
from ftc.spec.findings.finding import Finding, Safety, Severity, WayOut
from ftc.spec.message import Value, Values
from ftc.spec.salvage import known_or_none

HEADINGS: Final = ("What it is", "Why it matters", "Example", "Use instead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule found: the parts of a finding that differ from case to case."""

    message: str
    help: str
    pointer: str
    fix: tuple[Mapping[str, Any], ...]
    fix_safety: Safety | None
    ways: tuple[WayOut, ...]
    values: Values


def problem(
    pointer: str,
    *,
    message: str = "",
    help: str = "",  # noqa: A002 - the finding's field
    fix: tuple[Mapping[str, Any], ...] = (),
    fix_safety: Safety | None = None,
    ways: tuple[WayOut, ...] = (),
    **values: Value,
) -> Problem:
    """Return a problem at a pointer of the long form, with the values of its sentences.

    The sentences are in `spec/messages`: `CODE.message` and `CODE.help`. `message` and `help` name
    variants of them (`CODE.help.VARIANT`). `fix_safety` is the rule's own where it is None.
    `ways` are the edits that a user can choose from.
    """
    return Problem(
        message=message,
        help=help,
        pointer=pointer,
        fix=fix,
        fix_safety=fix_safety,
        ways=ways,
        values=values,
    )


Check = Callable[[Case], Iterator[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of the registry; it is run only where everything in `reads` is known.

    `of_teacher`: what it says of a model holds for a teacher too, so it is run on that as well.
    """

    explanation: Explanation
    reads: tuple[Read, ...]
    check: Check
    of_teacher: bool

    def findings(self, case: Case) -> tuple[Finding, ...]:
        """Run the rule; nothing where a fact or a part of the spec that it reads is unknown."""
        if not all(case.has(read) for read in self.reads):
            return ()
        found = known_or_none(lambda: tuple(map(self._finding, self.check(case)))) or ()
        if not self.of_teacher or (taught := case.taught) is None:
            return found
        return (*found, *(of_teacher(self._finding(each)) for each in self.check(taught)))

    def _finding(self, found: Problem) -> Finding:
        finding = self.explanation.finding(
            message=found.message,
            help=found.help,
            pointer=found.pointer,
            fix=found.fix,
            **found.values,
        )
        safety = found.fix_safety or self.explanation.fix_safety
        return replace(finding, fix_safety=safety, ways=found.ways)


def rule(
    code: str,
    name: str,
    severity: Severity,
    *,
    reads: tuple[Read, ...] = (),
    fix_safety: Safety = "safe",
    of_teacher: bool = False,
) -> Callable[[Check], Rule]:
    """Make a rule of a function; its docstring is the explanation, one paragraph per heading."""

    def make(check: Check) -> Rule:
        text = explanation_text(inspect.getdoc(check) or "")
        explanation = Explanation(
            code=code, name=name, severity=severity, text=text, fix_safety=fix_safety
        )
        return Rule(explanation=explanation, reads=reads, check=check, of_teacher=of_teacher)

    return make


def explanation_text(docstring: str) -> str:
    """Turn "Heading: text" paragraphs into Markdown; examples become code blocks."""
    parts = []
    for paragraph in docstring.split("\n\n"):
        heading, _, text = paragraph.partition(": ")
        if heading in ("Example", "Use instead"):
            parts.append(f"**{heading}**\n\n```json\n{' '.join(text.split())}\n```\n")
        elif heading in HEADINGS:
            parts.append(f"**{heading}.** {' '.join(text.split())}\n")
        else:
            parts.append(f"{' '.join(paragraph.split())}\n")
    return "\n".join(parts)


def put(pointer: str, value: object) -> Mapping[str, Any]:
    """Return the JSON patch operation that sets one field of the long form."""
    return {"op": "add", "path": pointer, "value": value}
