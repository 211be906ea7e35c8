"""Findings as text: the place, the problem, the line with a caret, and the remedy."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Final

from ftc.report.subject import Subject
from ftc.spec.findings.finding import Finding, Position
from ftc.spec.pointer import dotted, find_above
from ftc.spec.schema import read_schema
from ftc.spec.text.excerpt import excerpt

# SGR codes; the words `error` and `warning` stand there in any case
_COLOURS: Final[Mapping[str, str]] = {"error": "1;31", "warning": "1;33", "info": "1;36"}
_HELP: Final = "1;32"
_HEADING: Final = "1"
_START: Final = Position(line=1, column=1)
#: The maximum number of findings in one list; more are grouped by section of the spec.
_FEW: Final = 4
_WHOLE: Final = "the spec"


def report_text(findings: tuple[Finding, ...], *, subject: Subject, colour: bool = False) -> str:
    """Return the findings by section of the spec, and a last line that counts them.

    Findings with the same remedy share it, and findings at one place share the excerpt. The text is
    "" without findings.
    """
    if not findings:
        return ""
    sections = _by_section(findings)
    headed = len(findings) > _FEW and len(sections) > 1
    paragraphs: list[str] = []
    for name, found in sections.items():
        first, *more = _paragraphs(found, subject, colour=colour)
        heading = _paint(f"[{name}] {count(found)}", _HEADING, colour=colour)
        paragraphs += [f"{heading}\n{first}" if headed else first, *more]
    return "\n\n".join([*paragraphs, summarise(findings)])


def summarise(findings: tuple[Finding, ...]) -> str:
    """Return a line such as "2 errors, 1 warning; `ftc explain FTC031` says more"."""
    severe = min(findings, key=lambda finding: list(_COLOURS).index(finding.severity))
    return f"{count(findings)}; `ftc explain {severe.code}` says more"


def count(findings: tuple[Finding, ...]) -> str:
    """Return how many findings there are of each severity, such as "2 errors, 1 warning"."""
    counts = [
        f"{number} {word}{'s' if number > 1 and word != 'info' else ''}"
        for word in _COLOURS
        if (number := sum(finding.severity == word for finding in findings))
    ]
    return ", ".join(counts)


def _by_section(findings: tuple[Finding, ...]) -> Mapping[str, tuple[Finding, ...]]:
    """Return the findings by the key of the spec that they are about, in the order they come in."""
    sections: dict[str, tuple[Finding, ...]] = {}
    for finding in findings:
        key = finding.pointer.split("/")[1] if finding.pointer else ""
        name = key if key in read_schema()["properties"] else _WHOLE
        sections[name] = (*sections.get(name, ()), finding)
    return sections


def _paragraphs(findings: tuple[Finding, ...], subject: Subject, *, colour: bool) -> Iterator[str]:
    """Yield a paragraph for each remedy, with all findings that it fixes."""
    shown: list[str] = []
    for (_, advice), group in groupby(findings, key=lambda each: (each.code, each.help)):
        cured = tuple(group)
        lines = [_headline(finding, subject, colour=colour) for finding in cured]
        excerpts = _excerpts(cured, subject)
        lines += excerpts if excerpts != shown else []
        shown = excerpts
        lines.append(f"{_paint('help:', _HELP, colour=colour)} {_visible(advice)}")
        yield "\n".join(lines)


def _headline(finding: Finding, subject: Subject, *, colour: bool) -> str:
    where = subject.name
    if (path := find_above(finding.pointer, subject.overridden)) is not None:
        where = f"--set {dotted(path)}"
    elif finding.position is not None:
        where = f"{where}:{finding.position.line}:{finding.position.column}"
    label = _paint(f"{finding.severity}[{finding.code}]", _COLOURS[finding.severity], colour=colour)
    return f"{where}: {label} {finding.name}: {_visible(finding.message)}"


def _excerpts(findings: tuple[Finding, ...], subject: Subject) -> list[str]:
    """Return the lines of the file that findings are about, each once, with all its carets."""
    rows: dict[str, str] = {}
    for finding in findings:
        if finding.position is None or not subject.text or not _is_a_place(finding):
            continue
        line, _, carets = excerpt(subject.text, finding.position).partition("\n")
        rows[line] = _overlay(rows.get(line, ""), carets)
    return [text for pair in rows.items() for text in pair]


def _overlay(first: str, second: str) -> str:
    """Return one row with the carets of both."""
    width = max(len(first), len(second))
    pairs = zip(first.ljust(width), second.ljust(width), strict=True)
    return "".join(left if right == " " else right for left, right in pairs)


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
