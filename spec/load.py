"""From a file name to a document: reads at most 1 MiB, and says what is wrong with the text."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ftc.spec.document import Document, Lines
from ftc.spec.file_pages import BOM, EMPTY, FOLDER, MISSING, NOT_UTF8, OVERSIZED, UNREADABLE
from ftc.spec.finding import Finding
from ftc.spec.problems import Reading
from ftc.spec.quote import shown
from ftc.spec.secrets import find_secrets

MOST_BYTES: Final = 1 << 20
_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


def load_document(source: str) -> Document | tuple[Finding, ...]:
    """Load a spec from a path, or from standard input for "-".

    Files ending in .yaml or .yml are YAML, others JSON; standard input is JSON if it starts with
    `{`. When the text has mistakes that can be read over, what it says is judged as well.
    """
    raw = _read_bytes(source)
    if isinstance(raw, Finding):
        return (raw,)
    text = _decode(raw, source)
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


def _read_bytes(source: str) -> bytes | Finding:
    """Return at most 1 MiB; only the size of a larger file is looked at."""
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return MISSING.finding(
            message=f"there is no file `{shown(source)}`",
            help="check the name, or write a starter spec with `ftc new`",
        )
    except IsADirectoryError:
        return _folder(source)
    except (OSError, ValueError) as error:
        if os.path.isdir(source):  # noqa: PTH112 - pathlib raises for a name too long
            return _folder(source)
        why = getattr(error, "strerror", None) or str(error)
        return UNREADABLE.finding(
            message=f"`{shown(source)}` cannot be read: {why.lower()}",
            help="check the name and the file's permissions",
        )
    if len(raw) > MOST_BYTES:
        return OVERSIZED.finding(
            message=f"`{shown(source)}` is larger than 1 MiB",
            help="a spec is a page of text: name the data in it with `data`",
        )
    return raw


def _folder(source: str) -> Finding:
    return FOLDER.finding(
        message=f"`{shown(source)}` is a folder", help="name the spec file inside it"
    )


def _decode(raw: bytes, source: str) -> str | Finding:
    if raw.startswith(_MARK):
        return BOM.finding(
            message="the file begins with a byte order mark",
            help="save it as UTF-8 without a byte order mark",
        ).at(Lines.of("").position(0))
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode()
        wide = raw.startswith(_WIDE_MARKS)
        return NOT_UTF8.finding(
            message="the file is UTF-16"
            if wide
            else f"byte {error.start:,} (0x{raw[error.start]:02x}) is not UTF-8",
            help="save it as UTF-8",
        ).at(Lines.of(before).position(len(before)))
    if not text.strip():
        return EMPTY.finding(
            message=f"`{shown(source)}` is empty", help="`ftc new` writes a starter spec"
        ).at(Lines.of("").position(0))
    return text


def _read(text: str, source: str) -> Reading:
    piped_yaml = source == "-" and not text.lstrip().startswith(("{", "//", "/*"))
    if piped_yaml or source.lower().endswith((".yaml", ".yml")):
        from ftc.spec.yaml_reader import read_yaml  # noqa: PLC0415 - a JSON spec does not pay for it

        return read_yaml(text)
    from ftc.spec.json_reader import read_json  # noqa: PLC0415 - nor a YAML spec for this

    return read_json(text)


def _with_the_rest(document: Document, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add what is wrong with a repaired document, unless a repair is what it is about."""
    from ftc.spec.validate import validate  # noqa: PLC0415 - it is slow to import, and rarely needed

    if not isinstance(document.data, Mapping | list):
        return findings
    repaired = {finding.pointer for finding in findings if finding.pointer}
    judged = validate(document)
    rest = judged if isinstance(judged, tuple) else ()
    return (*findings, *(finding for finding in rest if finding.pointer not in repaired))
