"""Findings for people: where, what is wrong, the line with a caret, and what to do."""

from collections.abc import Mapping
from typing import Final

from ftc.report.subject import Subject
from ftc.spec.excerpt import excerpt
from ftc.spec.finding import Finding, Position

# SGR codes; the words `error` and `warning` stand there in any case
_COLOURS: Final[Mapping[str, str]] = {"error": "1;31", "warning": "1;33", "info": "1;36"}
_HELP: Final = "1;32"
_START: Final = Position(line=1, column=1)


def report_text(findings: tuple[Finding, ...], *, subject: Subject, colour: bool = False) -> str:
    """Return a paragraph per finding and a last line that counts them; "" without findings."""
    if not findings:
        return ""
    paragraphs = [_paragraph(finding, subject, colour=colour) for finding in findings]
    return "\n\n".join([*paragraphs, summarise(findings)])


def summarise(findings: tuple[Finding, ...]) -> str:
    """Return a line such as "2 errors, 1 warning; `ftc explain FTC031` says more"."""
    counts = [
        f"{number} {word}{'s' if number > 1 and word != 'info' else ''}"
        for word in ("error", "warning", "info")
        if (number := sum(finding.severity == word for finding in findings))
    ]
    severe = min(findings, key=lambda finding: list(_COLOURS).index(finding.severity))
    return f"{', '.join(counts)}; `ftc explain {severe.code}` says more"


def _paragraph(finding: Finding, subject: Subject, *, colour: bool) -> str:
    where = subject.name
    if finding.position is not None:
        where = f"{where}:{finding.position.line}:{finding.position.column}"
    label = _paint(f"{finding.severity}[{finding.code}]", _COLOURS[finding.severity], colour=colour)
    lines = [f"{where}: {label} {finding.name}: {_visible(finding.message)}"]
    if finding.position is not None and subject.text and _is_a_place(finding):
        lines.append(excerpt(subject.text, finding.position))
    lines.append(f"{_paint('help:', _HELP, colour=colour)} {_visible(finding.help)}")
    return "\n".join(line for line in lines if line)


def _is_a_place(finding: Finding) -> bool:
    """Whether a line of the file says more than that the whole of it is meant."""
    return bool(finding.pointer) or finding.position != _START


def _paint(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _visible(text: str) -> str:
    """Show control characters that a spec's own words may hold, instead of obeying them."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1] for letter in text
    )
