"""The findings about columns: a missing column, or unclear roles."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from typing import Final

from ftc.compiler.knowledge.objectives import OBJECTIVES, compares_texts
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.columns.pair_scores import find_compared
from ftc.compiler.resolve.rows.guess import can_read, guess_columns, guess_verdicts
from ftc.compiler.resolve.rows.reader import Row
from ftc.compiler.resolve.rows.roles import (
    Roles,
    Unassigned,
    assign_roles,
    find_lacking,
    make_reader,
    named_roles,
)
from ftc.compiler.resolve.rows.shape import Shape, find_shape
from ftc.spec.columns.usual_names import NEEDED, find_roles
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Columns, Form, ObjectiveType
from ftc.spec.sources import WholeSource

_MOST_KEYS: Final = 4
_MOST_CELLS: Final = 4  # cells of a row shown in place of the column names
_LONGEST_NAME: Final = 60
_ALIKE: Final = 0.6
_PAIRS: Final[tuple[Form, ...]] = ("preference",)
_ROLES: Final = tuple(field.name for field in fields(Columns))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """The columns of a source whose roles for an objective are unclear, and why.

    `rows` reads the rows from the first; None stands for a row that cannot be read.
    """

    source: WholeSource
    why: Unassigned
    columns: Sequence[str]
    objective: ObjectiveType
    rows: Callable[[], Iterable[Row | None]]

    @property
    def forms(self) -> Sequence[Form]:
        """The forms of rows that the objective reads."""
        return OBJECTIVES[self.objective].forms

    @property
    def is_unnamed(self) -> bool:
        """Whether the spec gives no column a role."""
        return self.source.columns == Columns()


def unassigned(
    source: WholeSource,
    why: Unassigned,
    columns: Sequence[str],
    objective: ObjectiveType,
    rows: Callable[[], Iterable[Row | None]],
) -> Finding:
    """Report the missing column, or that the roles of the columns are unclear."""
    if why.problem == "missing":
        return _name_missing(source, why, columns)
    return _name_unclear(
        Unclear(source=source, why=why, columns=columns, objective=objective, rows=rows)
    )


def _name_unclear(unclear: Unclear) -> Finding:
    """Report unclear roles, with what the rows show.

    They may show the columns of prompts and answers, another objective may read them unchanged, or
    no objective can read their structure.
    """
    source, why, columns = unclear.source, unclear.why, unclear.columns
    objective, rows, unnamed = unclear.objective, unclear.rows, unclear.is_unnamed
    plain = _name_roles(unclear) or _name_judged(unclear)
    if plain is not None:
        return plain
    guess = guess_columns(columns, rows())
    meant = find_objective(columns, lambda roles: can_read(rows(), make_reader(roles)))
    shape = find_shape(columns, rows())
    shaped = _name_shape(source, columns, objective, shape, is_known=bool(guess or meant))
    if unnamed and shaped is not None:
        return shaped
    help_, fix = "all", tuple[Mapping[str, object], ...]()
    fits = guess is not None and unnamed and _trains_on(objective, guess)
    alone = guess is not None and guess[1] is None and unnamed and compares_texts(objective)
    if why.form is not None or not unnamed or (fits and OBJECTIVES[objective].samples) or alone:
        meant = None  # the format, the names or the prompts show the training target
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
    lacking = find_lacking(source.columns, unclear.forms) if is_open else ()
    if lacking:
        help_, fix = "lacking", _rename_roles(source, objective)
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


def _rename_roles(
    source: WholeSource, objective: ObjectiveType
) -> tuple[Mapping[str, object], ...]:
    """Return the fix that assigns the usual roles to the columns."""
    named = named_roles(source.columns)
    meant = find_roles(named, objective=objective)
    if not meant or meant.keys() == {*meant.values()}:
        return ()
    columns = {meant[role]: column for role, column in named.items()}
    return ({"op": "add", "path": source.at("columns"), "value": columns},)


def _name_roles(unclear: Unclear) -> Finding | None:
    """Report invalid roles in the spec: two roles of one column, or a role that is not read."""
    source = unclear.source
    if twice := _find_two_roles(source.columns):
        return _name_two_roles(source, *twice)
    if extra := _find_extra(source, unclear.columns, unclear.forms):
        return _name_extra(source, extra, unclear.objective)
    return None


def _name_judged(unclear: Unclear) -> Finding | None:
    """Report a column that judges answers: verdicts, or the name of the better answer."""
    if unclear.forms == ("feedback",):
        return _propose_verdicts(unclear)
    return _name_compared(unclear) if unclear.forms == _PAIRS else None


def _name_compared(unclear: Unclear) -> Finding | None:
    """Explain how to write pairs if a third column names the better answer, as in arena data."""
    if not unclear.is_unnamed:
        return None
    if (found := find_compared(unclear.columns, unclear.rows())) is None:
        return None
    winner, answers = found
    return explanations.NO_ROLES.finding(
        message="objective" if unclear.why.roles else "",
        help="winner",
        pointer=unclear.source.at("source"),
        name=unclear.source.source,
        columns=tuple(map(_shorten, unclear.columns[:20])),
        objective=unclear.objective,
        roles=unclear.why.roles,
        winner=winner,
        answers=answers,
    )


def _propose_verdicts(unclear: Unclear) -> Finding | None:
    """Propose the column whose values judge the answers, if only its name is unusual.

    The columns of prompts and answers are proposed as well if their names are also unusual.
    """
    source, columns, rows = unclear.source, unclear.columns, unclear.rows
    given = named_roles(source.columns)
    free = [name for name in columns if name not in given.values()]
    if "label" in given:
        return None
    if (label := guess_verdicts(free, rows())) is None:
        return None
    named = replace(source.columns, label=label)
    value = {**given, "label": label}
    roles = assign_roles(columns, named=named, form=source.form, forms=unclear.forms)
    if not isinstance(roles, Roles):
        guess = guess_columns([name for name in free if name != label], rows())
        if guess is None or guess[1] is None or given:
            return None
        value = {"prompt": guess[0], "completion": guess[1], "label": label}
    return explanations.NO_ROLES.finding(
        message="objective",
        help="verdicts",
        pointer=source.at("source"),
        fix=({"op": "add", "path": source.at("columns"), "value": value},),
        name=source.source,
        columns=tuple(map(_shorten, columns[:20])),
        objective=unclear.objective,
        roles=tuple(unclear.why.roles) or ("label",),
        value=json.dumps(value, ensure_ascii=False),
        label=label,
    )


def titled(source: WholeSource, columns: Sequence[str]) -> Finding:
    """Report that the file begins with a title instead of column names."""
    return explanations.NO_ROLES.finding(
        message="title",
        help="title",
        pointer=source.at("source"),
        name=source.source,
        title=_shorten(columns[0]),
    )


def _shorten(name: str) -> str:
    """Return a name shortened for a message, since a row mistaken for a header may be long."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."


def _find_extra(source: WholeSource, columns: Sequence[str], forms: Sequence[Form]) -> str | None:
    """Return the role in the spec whose removal lets the objective find its columns."""
    for role in named_roles(source.columns):
        others = replace(source.columns, **{role: None})
        if isinstance(assign_roles(columns, named=others, form=source.form, forms=forms), Roles):
            return role
    return None


def _name_extra(source: WholeSource, role: str, objective: ObjectiveType) -> Finding:
    """Report the role that the objective does not read."""
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
    """Report the structure of the rows: a column of conversations, nested texts, or no header.

    Objects and lists are reported only if nothing else is known about the columns.
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
    elif shape.turns and "chat" in OBJECTIVES[objective].forms and not is_known:
        help_ = "turns"
    if not help_ or source.form not in ("auto", "chat"):
        return None
    holders = tuple(shape.objects) or shape.lists or shape.tokens or shape.turns
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
    """Return the minimum roles of a row for an objective, in its simplest format."""
    forms = OBJECTIVES[objective].forms
    return NEEDED["prompt_completion" if "prompt_completion" in forms else forms[0]]


def _find_two_roles(named: Columns) -> tuple[str, str, str] | None:
    """Return a column that has two roles in the spec, with both roles."""
    roles: dict[str, str] = {}
    for role in _ROLES:
        column = getattr(named, role)
        if column is not None and roles.setdefault(column, role) != role:
            return column, roles[column], role
    return None


def _name_two_roles(source: WholeSource, column: str, one: str, other: str) -> Finding:
    """Report that one column cannot have two roles."""
    return explanations.NO_ROLES.finding(
        message="twice",
        help="twice",
        pointer=source.at("columns", other),
        name=source.source,
        column=column,
        given=(one, other),
    )


def _name_missing(source: WholeSource, why: Unassigned, columns: Sequence[str]) -> Finding:
    """Report the columns of the spec that are not in the file, with similar names in it."""
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
    """Return the objective that assigns roles to the most columns, the first of several.

    Rows with only prompts do not show which objective is meant. `reads` tells whether the rows can
    be read with these roles. A column of scores counts only if no column has answers.
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
    """Return whether the objective trains on a prompt and its answer, or on the prompt alone."""
    form: Form = "prompt" if guess[1] is None else "prompt_completion"
    return form in OBJECTIVES[objective].forms


def _find_near(missing: Mapping[str, str], free: Sequence[str]) -> dict[str, str]:
    """Assign to each role the column with the most similar name; no column gets two roles."""
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
