"""From a file name to a document: reads at most 1 MiB, and reports errors in the text."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ftc.spec.document import Document, Lines
from ftc.spec.file_explanations import BOM, EMPTY, FOLDER, MISSING, NOT_UTF8, OVERSIZED, UNREADABLE
from ftc.spec.finding import Finding
from ftc.spec.message import reason_of
from ftc.spec.problems import Reading
from ftc.spec.quote import shown
from ftc.spec.secrets import find_secrets

MOST_BYTES: Final = 1 << 20
_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def load_document(source: str) -> Document | tuple[Finding, ...]:
    """Load a spec from a path, or from standard input for "-".

    Files ending in .yaml or .yml are YAML, others JSON; standard input is JSON if it starts with
    `{`. If the text has only mistakes that the reader can skip, its content is checked too.
    """
    text = read_text(source)
    if isinstance(text, Finding):
        return (text,)
    if secrets := find_secrets(text):
        return secrets
    reading = _read(text, source)
    document = Document(
        name=source,
        folder=Path() if source == "-" else Path(source).parent,
        text=text,
        data=reading.data,
        positions=reading.positions,
    )
    if not reading.findings:
        return document
    return reading.findings if reading.stopped else _with_the_rest(document, reading.findings)


def read_text(source: str, *, most_bytes: int = MOST_BYTES) -> str | Finding:
    """Return the text of a file, or of standard input for "-"."""
    raw = _read_bytes(source, most_bytes)
    return raw if isinstance(raw, Finding) else _decode(raw, source)


def _read_bytes(source: str, most_bytes: int) -> bytes | Finding:
    """Return a file's bytes; one that is larger than the limit is not read."""
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(most_bytes + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(most_bytes + 1)
    except FileNotFoundError:
        return MISSING.finding(name=shown(source))
    except IsADirectoryError:
        return _folder(source)
    except (OSError, ValueError) as error:
        if os.path.isdir(source):  # noqa: PTH112 - pathlib raises for a name too long
            return _folder(source)
        why = reason_of(error) if isinstance(error, OSError) else str(error).lower()
        return UNREADABLE.finding(name=shown(source), reason=why)
    if len(raw) > most_bytes:
        return OVERSIZED.finding(name=shown(source))
    return raw


def _folder(source: str) -> Finding:
    return FOLDER.finding(name=shown(source))


def _decode(raw: bytes, source: str) -> str | Finding:
    if raw.startswith(_MARK):
        return BOM.finding().at(Lines.of("").position(0))
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        wide = raw.startswith(_WIDE_MARKS)
        return NOT_UTF8.finding(
            message="utf16" if wide else "",
            offset=error.start,
            byte=f"0x{raw[error.start]:02x}",
        ).at(Lines.of(before).position(len(before)))
    if not text.strip():
        return EMPTY.finding(name=shown(source)).at(Lines.of("").position(0))
    return text


def _read(text: str, source: str) -> Reading:
    piped_yaml = source == "-" and not text.lstrip().startswith(("{", "//", "/*"))
    if piped_yaml or source.lower().endswith((".yaml", ".yml")):
        from ftc.spec.yaml_reader import read_yaml  # noqa: PLC0415 - not needed for a JSON spec

        return read_yaml(text)
    from ftc.spec.json_reader import read_json  # noqa: PLC0415 - not needed for a YAML spec

    return read_json(text)


def _with_the_rest(document: Document, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add the findings on a repaired document, except those caused by a repair."""
    from ftc.spec.validate import validate  # noqa: PLC0415 - it is slow to import, and rarely needed

    if not isinstance(document.data, Mapping | list):
        return findings
    repaired = {finding.pointer for finding in findings if finding.pointer}
    judged = validate(document)
    rest = judged if isinstance(judged, tuple) else ()
    return (*findings, *(finding for finding in rest if finding.pointer not in repaired))
