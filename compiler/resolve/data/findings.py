"""The findings of data that could not be read: one sentence each, and what to do."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from difflib import SequenceMatcher
from pathlib import Path, PurePosixPath
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.content.scan import Scan
from ftc.compiler.resolve.data.score_scale import ScoreScale
from ftc.compiler.resolve.local_paths import LfsPointer
from ftc.compiler.resolve.rows.guess import can_read, guess_columns
from ftc.compiler.resolve.rows.line_layout import OtherLayout, find_layout, holds_python
from ftc.compiler.resolve.rows.reader import PACKED, FileKind, Row, find_other_kind
from ftc.compiler.resolve.rows.roles import (
    Roles,
    Unassigned,
    assign_roles,
    columns_of_text,
    find_lacking,
    make_reader,
    named_roles,
)
from ftc.compiler.resolve.rows.shape import Shape, find_shape
from ftc.compiler.resolve.rows.table import NoTable, TableFile, inspect_file, sniff_format
from ftc.spec.columns.usual_names import NEEDED, find_roles
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message, reason_of
from ftc.spec.sections import Columns, FileFormat, Form, ObjectiveType
from ftc.spec.sources import WholeSource

_MOST_REASONS: Final = 3
_MOST_KEYS: Final = 4
_MOST_CELLS: Final = 4  # of a row in the place of the names
_LONGEST_NAME: Final = 60
_ALIKE: Final = 0.6
_ROLES: Final = tuple(field.name for field in fields(Columns))


def no_reader(source: WholeSource, error: ImportError | None = None) -> Finding:
    """Say what reads parquet, or images where that is what is missing."""
    images = error is not None and error.name is not None and error.name.startswith("PIL")
    return explanations.NO_PARQUET.finding(
        message="images" if images else "",
        help="images" if images else "",
        pointer=source.at("source"),
        name=source.source,
    )


def unassigned(
    source: WholeSource,
    why: Unassigned,
    columns: Sequence[str],
    objective: ObjectiveType,
    rows: Callable[[], Iterable[Row | None]],
) -> Finding:
    """Say which column is missing, or that nothing shows which column is what.

    The rows may show the columns of prompts and answers, or of prompts alone; another objective
    may read them as they are; or they have a shape that no objective reads.
    """
    if why.problem == "missing":
        return _name_missing(source, why, columns)
    if twice := _find_two_roles(source.columns):
        return _name_two_roles(source, *twice)
    if extra := _find_extra(source, columns, OBJECTIVES[objective].forms):
        return _name_extra(source, extra, objective)
    guess = guess_columns(columns, rows())
    meant = find_objective(columns, lambda roles: can_read(rows(), make_reader(roles)))
    shape = find_shape(columns, rows())
    is_known = guess is not None or meant is not None
    shaped = _name_shape(source, columns, objective, shape, is_known=is_known)
    if source.columns == Columns() and shaped is not None:
        return shaped
    help_, fix = "all", tuple[Mapping[str, object], ...]()
    unnamed = source.columns == Columns()
    fits = guess is not None and unnamed and _trains_on(objective, guess)
    alone = guess is not None and guess[1] is None and unnamed and compares_texts(objective)
    if why.form is not None or not unnamed or (fits and OBJECTIVES[objective].samples) or alone:
        meant = None  # the form, the names or the prompts say what is to be trained on
    if alone:
        help_ = "alone"
    elif meant is not None:
        help_, fix = "meant", ({"op": "add", "path": "/objective/type", "value": meant},)
    elif why.roles and (why.form is not None or not fits):
        help_ = "" if why.form is not None else "form"
    elif guess is not None and fits:
        named = {"prompt": guess[0]} | ({"completion": guess[1]} if guess[1] else {})
        help_ = "pairs" if compares_texts(objective) else "guess" if guess[1] else "prompts"
        fix = ({"op": "add", "path": source.at("columns"), "value": named},)
    is_open = not unnamed and help_ == "all"
    lacking = find_lacking(source.columns, OBJECTIVES[objective].forms) if is_open else ()
    if lacking:
        help_, named = "lacking", named_roles(source.columns)
        meant_roles = find_roles(named, objective=objective)
        if meant_roles and meant_roles.keys() != {*meant_roles.values()}:
            columns_of = {meant_roles[role]: column for role, column in named.items()}
            fix = ({"op": "add", "path": source.at("columns"), "value": columns_of},)
    return explanations.NO_ROLES.finding(
        message="form" if why.form is not None else "objective" if why.roles or alone else "",
        help=help_,
        pointer=source.at("form" if why.form is not None else "source"),
        fix=fix,
        name=source.source,
        columns=tuple(map(_shorten, columns[:20])),
        form=why.form or "",
        roles=lacking or why.roles or _needed(objective),
        given=tuple(named_roles(source.columns)),
        objective=objective,
        meant=meant or "",
        prompt=guess[0] if guess else "",
        completion=(guess[1] or "") if guess else "",
    )


def titled(source: WholeSource, columns: Sequence[str]) -> Finding:
    """Say that the file begins with a title in place of the names of its columns."""
    return explanations.NO_ROLES.finding(
        message="title",
        help="title",
        pointer=source.at("source"),
        name=source.source,
        title=_shorten(columns[0]),
    )


def _shorten(name: str) -> str:
    """Return a name shortened for a message: a data row taken for a header may be long."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _find_extra(source: WholeSource, columns: Sequence[str], forms: Sequence[Form]) -> str | None:
    """Return the role of the spec without which the objective finds its columns."""
    for role in named_roles(source.columns):
        others = replace(source.columns, **{role: None})
        if isinstance(assign_roles(columns, named=others, form=source.form, forms=forms), Roles):
            return role
    return None


def _name_extra(source: WholeSource, role: str, objective: ObjectiveType) -> Finding:
    """Say which role the objective does not read."""
    pointer = source.at("columns", role)
    return explanations.NO_ROLES.finding(
        message="extra",
        help="extra",
        pointer=pointer,
        fix=({"op": "remove", "path": pointer},),
        role=role,
        column=getattr(source.columns, role),
        objective=objective,
    )


def _name_shape(
    source: WholeSource,
    columns: Sequence[str],
    objective: ObjectiveType,
    shape: Shape,
    *,
    is_known: bool,
) -> Finding | None:
    """Report what the rows hold: a column of conversations, texts inside others, or no header.

    Objects and lists count only where nothing else is known of the columns.
    """
    help_, fix = "", tuple[Mapping[str, object], ...]()
    if shape.is_headless:
        help_ = "headless"
    elif shape.conversation is not None and "chat" in OBJECTIVES[objective].forms:
        help_ = "conversation"
        value = {"messages": shape.conversation}
        fix = ({"op": "add", "path": source.at("columns"), "value": value},)
    elif shape.inner is not None and "chat" in OBJECTIVES[objective].forms and not is_known:
        help_ = "inner"
    elif (shape.objects or shape.lists or shape.tokens) and not is_known:
        help_ = "objects" if shape.objects else "lists" if shape.lists else "tokens"
    if not help_ or source.form not in ("auto", "chat"):
        return None
    holders = tuple(shape.objects) or shape.lists or shape.tokens
    keys = [f"{name}.{key}" for name, inside in shape.objects.items() for key in inside]
    return explanations.NO_ROLES.finding(
        message="headless" if help_ == "headless" else "",
        help=help_,
        pointer=source.at("source"),
        fix=fix,
        name=source.source,
        columns=tuple(map(_shorten, columns[:_MOST_CELLS])),
        conversation=shape.conversation or "",
        inner=shape.inner or "",
        holders=holders,
        count=len(holders),
        keys=keys[:_MOST_KEYS],
    )


def _needed(objective: ObjectiveType) -> tuple[str, ...]:
    """Return the roles that a row needs at least for an objective, in its plainest form."""
    forms = OBJECTIVES[objective].forms
    return NEEDED["prompt_completion" if "prompt_completion" in forms else forms[0]]


def _find_two_roles(named: Columns) -> tuple[str, str, str] | None:
    """Return a column that is named for two roles, and both of them."""
    roles: dict[str, str] = {}
    for role in _ROLES:
        column = getattr(named, role)
        if column is not None and roles.setdefault(column, role) != role:
            return column, roles[column], role
    return None


def _name_two_roles(source: WholeSource, column: str, one: str, other: str) -> Finding:
    """Say that one column cannot have two roles."""
    return explanations.NO_ROLES.finding(
        message="twice",
        help="twice",
        pointer=source.at("columns", other),
        name=source.source,
        column=column,
        given=(one, other),
    )


def _name_missing(source: WholeSource, why: Unassigned, columns: Sequence[str]) -> Finding:
    """Say which columns of the spec the file lacks, and which others have nearly their names."""
    named = {role: getattr(source.columns, role) for role in _ROLES}
    near = _find_near(
        {role: named[role] for role in why.roles},
        [column for column in columns if column not in named.values()],
    )
    return explanations.NO_COLUMN.finding(
        help="near" if near else "",
        pointer=source.at("columns", why.roles[0]),
        fix=tuple(
            {"op": "replace", "path": source.at("columns", role), "value": column}
            for role, column in near.items()
        ),
        name=source.source,
        missing=[named[role] for role in why.roles],
        near=list(near.values()),
        columns=tuple(columns[:20]),
    )


def find_objective(columns: Sequence[str], reads: Callable[[Roles], bool]) -> ObjectiveType | None:
    """Return the first of the objectives that find a role for most of the columns.

    Rows that are prompts alone do not tell which objective is meant. `reads` tells whether the rows
    can be read with these roles. A column of scores counts only if no column has answers.
    """
    found: list[tuple[int, ObjectiveType, Roles]] = []
    for name, about in OBJECTIVES.items():
        forms = [form for form in about.forms if form != "prompt"]
        roles = assign_roles(columns, named=Columns(), form="auto", forms=forms)
        if isinstance(roles, Roles) and reads(roles):
            found.append((len(roles.columns()), name, roles))
    if not found:
        return None
    _, best, roles = max(found, key=lambda each: each[0])
    pair = (roles.prompt, roles.completion)
    if roles.score is not None:
        alike = [name for _, name, other in found if (other.prompt, other.completion) == pair]
        return alike[0]
    return best


def _trains_on(objective: ObjectiveType, guess: tuple[str, str | None]) -> bool:
    """Tell whether the objective trains on a prompt and its answer, or on the prompt alone."""
    form: Form = "prompt" if guess[1] is None else "prompt_completion"
    return form in OBJECTIVES[objective].forms


def _find_near(missing: Mapping[str, str], free: Sequence[str]) -> dict[str, str]:
    """Give each role the column most like its name; no column is given to two of them."""
    alike = sorted(
        (-SequenceMatcher(None, name.casefold(), column.casefold()).ratio(), role, column)
        for role, name in missing.items()
        for column in free
    )
    near: dict[str, str] = {}
    for ratio, role, column in alike:
        if -ratio >= _ALIKE and role not in near and column not in near.values():
            near[role] = column
    return {role: near[role] for role in missing if role in near}


def unreadable(source: WholeSource, error: OSError) -> Finding:
    """Say that the file is there, and neither disk nor rights give it."""
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
    """Say that the file does not have its format; the file at `path` may have another one."""
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
    """Say that a file that the spec calls CSV is JSON."""
    return explanations.BROKEN_DATA.finding(
        message="json",
        help="json",
        pointer=source.at("format"),
        fix=_set_format(source, shown),
        name=source.source,
        shown=shown,
    )


def pointed(source: WholeSource, pointer: LfsPointer) -> Finding:
    """Say that the file is a pointer of git-lfs."""
    return explanations.LFS_POINTER.finding(
        message="data",
        pointer=source.at("source"),
        name=source.source,
        actual=pointer.actual_bytes,
        expected=pointer.expected_bytes,
    )


def binary(source: WholeSource, why: NoTable) -> Finding:
    """Say that the file is no text, or one that is damaged or in an unknown encoding."""
    is_text = why != "binary"
    return explanations.NOT_TEXT.finding(
        message=why if is_text else "",
        help=why if is_text else "table",
        pointer=source.at("source"),
        name=source.source,
    )


def other_kind(source: WholeSource, kind: FileKind) -> Finding:
    """Say what the file is where its first bytes show another kind than its format."""
    what = kind if kind in ("html", "parquet", "xml") else "archive"
    texts = {"html": "html", "parquet": "parquet", "xml": "xml"}
    texts |= dict.fromkeys(("PDF", "docx", "pptx"), "texts")
    return explanations.NOT_TEXT.finding(
        message=what,
        help="packed" if kind in PACKED else texts.get(kind, "table"),
        pointer=source.at("source"),
        fix=_set_format(source, "parquet") if kind == "parquet" else (),
        name=source.source,
        kind=kind,
    )


def no_format(source: WholeSource, path: Path) -> Finding:
    """Report an extension that tells no format, with the format that the file's content shows."""
    if kind := find_other_kind(path):
        return other_kind(source, kind)
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
    """Say that the header has a needed name twice."""
    return explanations.TWO_COLUMNS.finding(
        pointer=source.at("source"), name=source.source, column=column
    )


def other_scale(source: WholeSource, scale: ScoreScale, objective: ObjectiveType) -> Finding:
    """Say which scale the scores have, and what brings them to 0 to 1, or to good and bad."""
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
    """Say why the file at `path` names no columns; `rows` is how many it has all the same."""
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
    """Say what is wrong with the rows of a file, the commonest reasons first.

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
    helps = {"refused": "refused", "image_url": "urls", "no_score": "scores", "image_part": "blind"}
    helps |= {
        "no_label": "verdicts",
        "order": "order",
        "no_turn": "turn",
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
    )
