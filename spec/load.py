"""From a file name to a document: reads at most 1 MiB, and reports errors in the text."""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Final

from ftc.spec.findings.file_explanations import (
    BOM,
    BROKEN_JSON,
    BUNDLE_FILE,
    COMMENT,
    DATA,
    DUPLICATE_KEY,
    EMPTY,
    FOLDER,
    FOREIGN_WORD,
    MISSING,
    NOT_UTF8,
    OVERSIZED,
    QUOTES,
    UNREADABLE,
)
from ftc.spec.findings.finding import Finding
from ftc.spec.findings.quote import shown
from ftc.spec.message import reason_of
from ftc.spec.text.document import Document, Lines
from ftc.spec.text.problems import Reading
from ftc.spec.text.secrets import find_secrets

MOST_BYTES: Final = 1 << 20
_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_DATA_ENDINGS: Final = (
    *(".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".xlsx"),
)
#: How files of parquet, of Arrow, of gzip and of zip (as of spreadsheets) begin.
_DATA_MARKS: Final = (b"PAR1", b"ARROW1", b"\x1f\x8b", b"PK\x03\x04")
_LOOKED_AT: Final = 64 * 1024
_LOCK: Final = "ftc.lock.json"
_SPEC: Final = "spec.json"
_SPEC_ENDINGS: Final = (".json", ".yaml", ".yml")
_FEW_SPECS: Final = 3
_MOST_LISTED: Final = 1000
_MOST_OPENED: Final = 50
#: What only JSON5 has: keys without quotes, and single quotes.
_OF_JSON5: Final = frozenset({f"{FOREIGN_WORD.code}.message.key", f"{QUOTES.code}.message"})
_OPEN_STRING: Final = f"{BROKEN_JSON.code}.message.line"
#: Keys of every spec. A file with two of them counts as a spec.
_KEYS: Final = frozenset({"name", "model", "data"})
_FEWEST_KEYS: Final = 2


def load_document(source: str) -> Document | tuple[Finding, ...]:
    """Load a spec from a path, or from standard input for "-".

    Files ending in .yaml or .yml are YAML, others JSON; standard input is JSON if it starts with
    `{`. If the text has only mistakes that the reader can skip, its content is checked too.
    """
    raw = _read_bytes(source, MOST_BYTES)
    if isinstance(raw, bytes) and _is_data(raw, source):
        raw = _name_data(source)
    text = raw if isinstance(raw, Finding) else _decode(raw, source, MOST_BYTES)
    if isinstance(text, str) and _is_of_bundle(Path(source)):
        near = Path(source).with_name(_SPEC)
        help_ = "near" if near.is_file() else ""
        text = BUNDLE_FILE.finding(help=help_, name=shown(source), near=shown(str(near)))
    if isinstance(text, Finding):
        return (text,)
    if secrets := find_secrets(text):
        return secrets
    reading = _read(text, source)
    if isinstance(raw, bytes) and raw.startswith(_MARK):
        mark = BOM.finding().at(Lines.of("").position(0))
        reading = replace(reading, findings=(mark, *reading.findings))
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


def read_text(source: str, *, most_bytes: int = MOST_BYTES, missing: str = "") -> str | Finding:
    """Return the text of a file, or of standard input if the path is "-".

    `missing` is the variant of the help where there is no such file.
    """
    raw = _read_bytes(source, most_bytes, missing)
    return raw if isinstance(raw, Finding) else _decode(raw, source, most_bytes)


def _read_bytes(source: str, most_bytes: int, missing: str = "") -> bytes | Finding:
    """Return a file's bytes, and one byte more than the limit of a file that is larger."""
    try:
        if source == "-":
            raw = sys.stdin.buffer.read(most_bytes + 1)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(most_bytes + 1)
    except FileNotFoundError:
        from ftc.spec.values.nearest import nearest  # noqa: PLC0415 - not needed for a spec that is there

        path = Path(source)
        others = (name for name in _list_specs(path.parent) if name != path.name)
        beside = {Path(name).stem: name for name in others}
        near = beside.get(nearest(path.stem, beside) or "", "")
        return MISSING.finding(
            help="near" if near else missing, name=shown(source), near=shown(near)
        )
    except IsADirectoryError:
        return _folder(source)
    except (OSError, ValueError) as error:
        if os.path.isdir(source):  # noqa: PTH112 - pathlib raises for a name too long
            return _folder(source)
        why = reason_of(error) if isinstance(error, OSError) else str(error).lower()
        return UNREADABLE.finding(name=shown(source), reason=why)
    return raw


def _name_data(source: str) -> Finding:
    """Return the finding that the file is data, with the command that writes a spec for it."""
    piped = "piped" if source == "-" else ""
    quoted = shlex.quote(source)
    return DATA.finding(message=piped, help=piped, name=shown(source), quoted=shown(quoted))


def _is_data(raw: bytes, source: str) -> bool:
    """Return whether a file holds rows: by its name, by how it begins, or by objects in a row."""
    if source.lower().endswith(_DATA_ENDINGS) or raw.startswith(_DATA_MARKS):
        return True
    text = raw[:_LOOKED_AT].removeprefix(_MARK).decode(errors="replace").strip()
    is_list = text.startswith("[")
    read = json.JSONDecoder().raw_decode
    try:
        first, end = read(text, text.index("{") if is_list else 0)
        follows = text[end:].lstrip()
        if not is_list and follows:
            second, _ = read(follows)
            follows = "{" if isinstance(second, dict) else ""
    except (ValueError, RecursionError):
        return False
    is_row = isinstance(first, dict) and not {"model", "data"} <= first.keys()
    return is_row and (follows[:1] in {",", "]"} if is_list else follows == "{")


def _is_of_bundle(path: Path) -> bool:
    """Return whether ftc wrote the file: the lock beside it lists it, or it is the lock."""
    lock = path.with_name(_LOCK)
    if path.name == _SPEC or not lock.is_file():
        return False
    try:
        files = json.loads(lock.read_bytes()).get("files", {})
    except (OSError, ValueError, AttributeError, RecursionError):
        return False
    return path.name == _LOCK or path.name in files


def _folder(source: str) -> Finding:
    """Return the finding that the source is a folder, with the specs in it; `spec.json` first."""
    folder = Path(source)
    inside = sorted(_list_specs(folder), key=lambda name: (Path(name).stem != "spec", name))
    if _LOCK in inside and _SPEC in inside:
        inside = [_SPEC]
    named = (name for name in inside[:_MOST_OPENED] if _is_spec(folder / name))
    few = [shown(name) for name in islice(named, _FEW_SPECS)]
    return FOLDER.finding(help="near" if few else "", name=shown(source), inside=few)


def _is_spec(path: Path) -> bool:
    """Return whether a file of a folder has the keys of a spec."""
    raw = _read_bytes(str(path), _LOOKED_AT) if path.is_file() else b""
    text = raw if isinstance(raw, Finding) else _decode(raw, path.name, _LOOKED_AT)
    data = None if isinstance(text, Finding) else _read(text, path.name).data
    return isinstance(data, Mapping) and len(_KEYS & data.keys()) >= _FEWEST_KEYS


def _list_specs(folder: Path) -> list[str]:
    """Return the names of a folder's files that may be specs; none of a folder out of reach."""
    try:
        with os.scandir(folder) as entries:
            names = (entry.name for entry in islice(entries, _MOST_LISTED))
            return sorted(name for name in names if name.lower().endswith(_SPEC_ENDINGS))
    except OSError:
        return []


def _decode(raw: bytes, source: str, most_bytes: int) -> str | Finding:
    if len(raw) > most_bytes:
        return OVERSIZED.finding(name=shown(source))
    raw = raw.removeprefix(_MARK)
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
        from ftc.spec.text.yaml_reader import read_yaml  # noqa: PLC0415 - not needed for a JSON spec

        return read_yaml(text)
    from ftc.spec.text.json_reader import read_json  # noqa: PLC0415 - not needed for a YAML spec

    reading = read_json(text)
    if not reading.findings:
        return reading
    from ftc.spec.text.python_literal import as_python  # noqa: PLC0415 - for a wrong spec only
    from ftc.spec.text.toml_text import as_toml  # noqa: PLC0415 - for a wrong spec only

    python = as_python(text, reading)
    return as_toml(text, _rewrite(text, reading) if python is reading else python)


def _rewrite(text: str, reading: Reading) -> Reading:
    """Return the reading with a fix, if all that JSON refuses is a matter of grammar.

    The fix writes the same values as JSON; it is unsafe if that drops comments or closes a string.
    It repairs all mistakes, so the first of each kind is reported; a text of JSON5 is reported as
    such. Of a key that occurs twice the last value stays, as in other readers; a fix that drops
    another value is unsafe.
    """
    if not reading.certain:
        return reading
    twice = [each for each in reading.findings if each.code == DUPLICATE_KEY.code]
    kinds = {each.problem.key: each for each in reversed(reading.findings) if each not in twice}
    rest = [*reversed(kinds.values())]  # of each kind the first, as the fix repairs them all
    codes = {each.code for each in rest}
    has_comments = COMMENT.code in codes
    drops = any(each.remedy.key == f"{DUPLICATE_KEY.code}.help" for each in twice)
    is_unsafe = has_comments or drops or any(each.problem.key == _OPEN_STRING for each in rest)
    if _is_json5(rest):
        start = Lines.of(text).position(len(text) - len(text.lstrip()))
        help_ = "twice" if twice else "json5_comments" if has_comments else "json5"
        rest = [BROKEN_JSON.finding(message="json5", help=help_).at(start)]
    told = sorted([*rest, *twice], key=_by_place)
    fix = ({"op": "replace", "path": "", "value": reading.data},)
    told[0] = replace(told[0], fix=fix, fix_safety="unsafe" if is_unsafe else "safe")
    return replace(reading, findings=tuple(told))


def _is_json5(findings: Sequence[Finding]) -> bool:
    """Return whether a text has several things that JSON5 has and JSON has not."""
    kinds = {each.problem.key for each in findings}
    return len(kinds) > 1 and bool(kinds & _OF_JSON5)


def _by_place(finding: Finding) -> tuple[int, int]:
    position = finding.position
    return (position.line, position.column) if position is not None else (0, 0)


def _with_the_rest(document: Document, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add the findings on a repaired document, except those caused by a repair."""
    from ftc.spec.validate import validate  # noqa: PLC0415 - it is slow to import, and rarely needed

    if not isinstance(document.data, Mapping | list):
        return findings
    repaired = {finding.pointer for finding in findings if finding.pointer}
    judged = validate(document)
    rest = judged if isinstance(judged, tuple) else ()
    return (*findings, *(finding for finding in rest if finding.pointer not in repaired))
