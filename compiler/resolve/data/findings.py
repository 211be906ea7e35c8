"""The findings for unreadable data."""

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.content.scan import Scan
from ftc.compiler.resolve.data.score_scale import ScoreScale
from ftc.compiler.resolve.local_paths import LfsPointer
from ftc.compiler.resolve.rows.line_layout import OtherLayout, find_layout, holds_python
from ftc.compiler.resolve.rows.reader import PACKED, FileKind, find_other_kind
from ftc.compiler.resolve.rows.roles import (
    Roles,
    columns_of_text,
)
from ftc.compiler.resolve.rows.table import NoTable, TableFile, inspect_file, sniff_format
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message, reason_of
from ftc.spec.sections import FileFormat, ObjectiveType
from ftc.spec.sources import WholeSource

_MOST_REASONS: Final = 3
#: The program that unpacks each kind of compressed file, and the ending that it removes.
_UNPACKERS: Final[Mapping[str, tuple[str, str]]] = {
    "gzip": ("gunzip", ".gz"),
    "bzip2": ("bunzip2", ".bz2"),
    "xz": ("unxz", ".xz"),
    "zstd": ("unzstd", ".zst"),
}


def no_reader(source: WholeSource, error: ImportError | None = None) -> Finding:
    """Report the missing library for parquet or images."""
    images = error is not None and error.name is not None and error.name.startswith("PIL")
    return explanations.NO_PARQUET.finding(
        message="images" if images else "",
        help="images" if images else "",
        pointer=source.at("source"),
        name=source.source,
    )


def unreadable(source: WholeSource, error: OSError) -> Finding:
    """Report a file that exists but cannot be read, because of the disk or its permissions."""
    return explanations.NO_FILE.finding(
        message="unreadable",
        help="unreadable",
        pointer=source.at("source"),
        name=source.source,
        reason=reason_of(error),
    )


def broken(
    source: WholeSource, kind: FileFormat, what: Message | str, path: Path | None = None
) -> Finding:
    """Report that the file does not match its format; the file at `path` may have another one."""
    is_other = isinstance(what, Message) and what.key == "reading.no_list"
    is_lines = path is not None and kind == "json" and sniff_format(path) == "jsonl"
    return explanations.BROKEN_DATA.finding(
        help="list" if is_other else "lines" if is_lines else "",
        pointer=source.at("source"),
        fix=_set_format(source, "jsonl") if is_lines else (),
        name=source.source,
        kind=kind,
        reason=what,
    )


def no_csv(source: WholeSource, shown: FileFormat) -> Finding:
    """Report that a file is JSON although the spec calls it CSV."""
    return explanations.BROKEN_DATA.finding(
        message="json",
        help="json",
        pointer=source.at("format"),
        fix=_set_format(source, shown),
        name=source.source,
        shown=shown,
    )


def pointed(source: WholeSource, pointer: LfsPointer) -> Finding:
    """Report that the file is a git-lfs pointer."""
    return explanations.LFS_POINTER.finding(
        message="data",
        pointer=source.at("source"),
        name=source.source,
        actual=pointer.actual_bytes,
        expected=pointer.expected_bytes,
    )


def binary(source: WholeSource, why: NoTable) -> Finding:
    """Report that the file is not text, is damaged, or has an unknown encoding."""
    is_text = why != "binary"
    return explanations.NOT_TEXT.finding(
        message=why if is_text else "",
        help=why if is_text else "table",
        pointer=source.at("source"),
        name=source.source,
    )


def other_kind(source: WholeSource, kind: FileKind, path: Path) -> Finding:
    """Report the kind of the file if its first bytes contradict its format."""
    if kind in PACKED:
        return _packed(source, kind, path)
    what = kind if kind in ("html", "parquet", "xml") else "archive"
    texts = {"html": "html", "parquet": "parquet", "xml": "xml"}
    texts |= dict.fromkeys(("PDF", "docx", "pptx"), "texts")
    return explanations.NOT_TEXT.finding(
        message=what,
        help=texts.get(kind, "table"),
        pointer=source.at("source"),
        fix=_set_format(source, "parquet") if kind == "parquet" else (),
        name=source.source,
        kind=kind,
    )


def _packed(source: WholeSource, kind: FileKind, path: Path) -> Finding:
    """Report a compressed file, with the command that unpacks it or the file that it did."""
    name, unpacked = source.source, ""
    program, suffix = _UNPACKERS.get(kind, ("unzip", ".zip"))
    command = f"{program} {shlex.quote(name)}"
    if ".tar" in path.suffixes or path.suffix in (".tgz", ".txz"):
        command = f"tar -xf {shlex.quote(name)}"
    elif kind != "zip" and path.suffix.lower() == suffix:
        command = f"{program} -k {shlex.quote(name)}"
        unpacked = name[: -len(suffix)]
    elif kind != "zip":
        new = str(PurePosixPath(name).with_stem(f"{PurePosixPath(name).stem}-unpacked"))
        command = f"{program} < {shlex.quote(name)} > {shlex.quote(new)}"
    is_there = bool(unpacked) and path.with_suffix("").is_file()
    return explanations.NOT_TEXT.finding(
        message="archive",
        help="unpacked" if is_there else "packed",
        pointer=source.at("source"),
        fix=({"op": "replace", "path": source.at("source"), "value": unpacked},)
        if is_there
        else (),
        name=name,
        kind=kind,
        command=command,
        unpacked=unpacked,
    )


def no_format(source: WholeSource, path: Path) -> Finding:
    """Report an extension that tells no format, with the format that the file's content shows."""
    if kind := find_other_kind(path):
        return other_kind(source, kind, path)
    suffix, shown = PurePosixPath(source.source).suffix.lower(), sniff_format(path)
    is_text = isinstance(inspect_file(path, "csv"), TableFile)
    return explanations.NO_FORMAT.finding(
        message="" if suffix else "none",
        help="shown" if shown else "text" if is_text else "",
        pointer=source.at("source"),
        fix=_set_format(source, shown) if shown else (),
        name=source.source,
        extension=suffix,
        shown=shown or "",
    )


def _set_format(source: WholeSource, name: FileFormat) -> tuple[Mapping[str, object], ...]:
    return ({"op": "add", "path": source.at("format"), "value": name},)


def ambiguous(source: WholeSource, column: str) -> Finding:
    """Report that the header has a needed name twice."""
    return explanations.TWO_COLUMNS.finding(
        pointer=source.at("source"), name=source.source, column=column
    )


def other_scale(source: WholeSource, scale: ScoreScale, objective: ObjectiveType) -> Finding:
    """Report the scale of the scores, and how to convert them to 0 to 1, or to good and bad."""
    added, ratings = scale.added, scale.divisor is None
    return explanations.NO_ROWS.finding(
        message="ratings" if ratings else "scale",
        help="ratings" if ratings else "raise" if added > 0 else "lower" if added < 0 else "divide",
        pointer=source.at("source"),
        name=source.source,
        objective=objective,
        lowest=scale.lowest,
        highest=scale.highest,
        added=abs(added),
        divisor=scale.divisor or 1,
    )


def empty(source: WholeSource, kind: FileFormat, rows: int, path: Path) -> Finding:
    """Report why the file at `path` has no column names; `rows` is its number of rows."""
    help_ = "list" if rows and kind == "jsonl" else "objects" if rows else "empty"
    if help_ == "list":
        help_ = "python" if holds_python(path) else find_layout(path)
    return explanations.NO_ROWS.finding(
        message="objects" if rows else "empty",
        help=help_,
        pointer=source.at("source"),
        fix=_set_shown(source, help_),
        name=source.source,
        rows=rows,
    )


def other_layout(source: WholeSource, other: OtherLayout) -> Finding:
    """Report a JSON Lines file in which most lines are not objects, and what it holds instead."""
    return explanations.NO_ROWS.finding(
        message="most",
        help=other.layout,
        pointer=source.at("source"),
        fix=_set_shown(source, other.layout),
        name=source.source,
        count=other.broken,
        rows=other.lines,
    )


def _set_shown(source: WholeSource, layout: str) -> tuple[Mapping[str, object], ...]:
    """Return the patch that sets `format` to what the lines of the file look like."""
    if layout == "json":
        return _set_format(source, "json")
    return _set_format(source, "csv") if layout == "csv" else ()


def name_fault(fault: str, kind: FileFormat | None) -> str:
    """Return the name of a fault of rows in a file of this format; None: files of several."""
    named = {"csv": "cells", "jsonl": "broken_json", "json": "broken_json"}
    return named.get(kind or "", fault) if fault == "unreadable" else fault


def unusable(
    source: WholeSource, kind: FileFormat, scan: Scan, objective: ObjectiveType, roles: Roles
) -> Finding:
    """Report the faults in the rows of a file, the most common reasons first.

    An objective without images has no place for those that messages refer to.
    """
    if not scan.rows:
        return explanations.NO_ROWS.finding(
            message="none", help="none", pointer=source.at("source"), name=source.source
        )
    counts = {**scan.faults, "blank": scan.blank}
    faults = Counter({name_fault(fault, kind): rows for fault, rows in counts.items()})
    often = [(fault, rows) for fault, rows in faults.most_common(_MOST_REASONS) if rows]
    reasons = tuple(
        Message("fault.refused_because", {"count": rows, "reason": scan.refusal})
        if fault == "refused" and scan.refusal
        else Message("fault.image_objective", {"count": rows, "objective": objective})
        if fault == "image_count" and not OBJECTIVES[objective].sees
        else Message(f"fault.{fault}", {"count": rows, "columns": columns_of_text(roles)})
        for fault, rows in often
    )
    first = often[0][0] if often else ""
    strange = scan.list_strange_roles()
    kind_of_turn, held = scan.strange_turn
    helps = {"refused": "refused", "image_url": "urls", "no_score": "scores", "image_part": "blind"}
    helps |= {
        "no_label": "verdicts",
        "one_conversation": "halves",
        "order": "order",
        "unanswered": "unanswered",
        "no_turn": f"turn_{kind_of_turn}" if held else "turn",
        "no_list": "no_list",
        "cells": "cells",
        "broken_json": "broken_json",
    }
    helps |= dict.fromkeys(("image_missing", "image_outside"), "paths")
    helps["not_text"] = "label" if objective == "classification" else "lists"
    if strange:
        helps["unknown_role"] = "roles"
    if not OBJECTIVES[objective].sees:
        helps["image_count"] = "images"
    if OBJECTIVES[objective].samples:
        helps |= dict.fromkeys(("answered", "unanswered", "blank"), "prompts")
    return explanations.NO_ROWS.finding(
        help=helps.get(first, ""),
        pointer=source.at("source"),
        name=source.source,
        rows=scan.rows,
        reasons=reasons,
        roles=strange,
        held=held,
    )
