"""Roles: which column of a data file is the prompt, the answer, the conversation or the text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Final, Literal

from ftc.runtime.read.compared_rows import read_pair, read_scored, read_verdict
from ftc.runtime.read.instruction_rows import read_instruction
from ftc.runtime.read.message_cells import read_answer, read_prompt
from ftc.runtime.read.rows import Fault, ReadTurns, Turns
from ftc.runtime.read.text_rows import read_text
from ftc.runtime.read.tool_rows import read_calling_chat
from ftc.spec.columns.usual_names import (
    CONVERSATIONS,
    LABELS,
    NEEDED,
    OF_VECTORS,
    PROMPTS,
    REPLIES,
    SHOWN,
    USUAL,
    VERDICTS,
    usual_name,
)
from ftc.spec.sections import Columns, Form

#: The roles of which a row needs a text, in the order of a row.
_OF_TEXT: Final = (
    *("messages", "prompt", "instruction", "text", "chosen", "rejected", "completion", "output"),
)
#: Names of columns that hold answers, or explain them.
_ANSWERS: Final = frozenset(
    name
    for form, usual in USUAL
    for role, names in usual.items()
    if role in ("completion", "output", "chosen", "rejected", "label") and form != "feedback"
    for name in names
    if name not in CONVERSATIONS
) | {
    *("explanation", "rationale", "reasoning", "reason", "cot", "chain_of_thought", "thought"),
    *("analysis", "step", "feedback", "critique", "raw", "translation", "summary"),
}

#: The forms whose rows may have images.
FORMS_OF_IMAGES: Final = frozenset(form for form, usual in USUAL if "images" in usual)

#: The function that reads a row of each form, given the column of each role.
_READERS: Final[Mapping[Form, Callable[..., Turns | Fault]]] = {
    "chat": read_calling_chat,
    "instruction": read_instruction,
    "prompt_completion": read_answer,
    "text": read_text,
    "preference": read_pair,
    "feedback": read_verdict,
    "scored": read_scored,
    "prompt": read_prompt,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The form of the examples, and the column of each role; None where it has none."""

    form: Form
    messages: str | None = None
    tools: str | None = None
    images: str | None = None
    prompt: str | None = None
    completion: str | None = None
    instruction: str | None = None
    input: str | None = None
    output: str | None = None
    text: str | None = None
    chosen: str | None = None
    rejected: str | None = None
    label: str | None = None
    score: str | None = None

    def by_role(self) -> dict[str, str]:
        """Return the column of every role that has one."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {role: name for role, name in given.items() if role != "form" and name is not None}

    def columns(self) -> tuple[str, ...]:
        """Return every column that has a role."""
        return tuple(self.by_role().values())


def columns_of_text(holder: object) -> tuple[str, ...]:
    """Return the columns of which a row needs a text; `holder` has a column for each role."""
    given = (getattr(holder, role) for role in _OF_TEXT)
    return tuple(column for column in given if column is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unassigned:
    """Why no roles were found: columns that are not there, or roles that nothing fills."""

    problem: Literal["missing", "unrecognised"]
    roles: tuple[str, ...]
    form: Form | None


def assign_roles(
    columns: Sequence[str],
    *,
    named: Columns,
    form: Form | Literal["auto"],
    forms: Sequence[Form] = SHOWN,
) -> Roles | Unassigned:
    """Give each role its column: the ones the spec names first, then the usual names.

    `forms` are those that the objective trains on.
    """
    said = named_roles(named)
    if missing := tuple(role for role, column in said.items() if column not in columns):
        return Unassigned(problem="missing", roles=missing, form=None)
    free = {usual_name(name): name for name in reversed(columns) if name not in said.values()}
    usual_names = (*OF_VECTORS, *USUAL) if "scored" in forms else USUAL
    tried = [pair for pair in usual_names if pair[0] in forms and form in ("auto", pair[0])]
    tried.sort(key=lambda pair: forms.index(pair[0]))
    for kind, usual in tried:
        if not said.keys() <= usual.keys():
            continue
        found = dict(said)
        for role, names in usual.items():
            if role not in found:
                name = next((free[n] for n in names if n in free), None)
                found.update({role: name} if name is not None else {})
        needed = [role for role in NEEDED[kind] if role in usual]
        if all(role in found for role in needed) and _distinct(found):
            return Roles(form=kind, **found)
    wanted: tuple[str, ...] = ()
    if form != "auto" or len(forms) == 1:
        one = form if form != "auto" else forms[0]
        lacking = [role for role in NEEDED[one] if role not in said]
        known = {
            role for _, usual in tried for role in lacking if free.keys() & set(usual.get(role, ()))
        }
        wanted = tuple(role for role in lacking if role not in known) or tuple(lacking)
    return Unassigned(problem="unrecognised", roles=wanted, form=None if form == "auto" else form)


def named_roles(named: Columns) -> dict[str, str]:
    """Return the column of each role that the spec names."""
    said = {f.name: getattr(named, f.name) for f in fields(named)}
    return {role: column for role, column in said.items() if column is not None}


def find_lacking(named: Columns, forms: Sequence[Form]) -> tuple[str, ...]:
    """Return the fewest roles that rows of these forms need beside those that the spec names."""
    said = named_roles(named).keys()
    having = [form for form, usual in USUAL if form in forms and said <= usual.keys()]
    lacks = [tuple(role for role in NEEDED[form] if role not in said) for form in having]
    return min(filter(None, lacks), key=len, default=())


def find_rivals(roles: Roles, columns: Sequence[str], named: Columns) -> dict[str, str]:
    """Return the columns without a role whose names fit one, each with the column that has it.

    Only names told the two apart. A role that the spec gives has no rival.
    """
    chosen = {
        role: column
        for role, column in roles.by_role().items()
        if role in NEEDED[roles.form] and getattr(named, role) is None
    }
    tables = [usual for form, usual in (*OF_VECTORS, *USUAL) if form == roles.form]
    for usual in tables:
        if all(usual_name(column) in usual.get(role, ()) for role, column in chosen.items()):
            return {
                name: column
                for role, column in chosen.items()
                for name in columns
                if name not in roles.columns() and usual_name(name) in usual[role]
            }
    return {}


def find_answers(roles: Roles, columns: Sequence[str]) -> Roles:
    """Return the roles of conversations that wait for an answer: they are prompts.

    Their answers are in a column with a usual name, if there is one.
    """
    named = Columns(prompt=roles.messages)
    found = assign_roles(columns, named=named, form="auto", forms=("prompt_completion", "prompt"))
    return roles if isinstance(found, Unassigned) else found


def leave_labels(roles: Roles) -> Roles:
    """Return the roles of prompts alone where the answers are in a column called as labels are.

    Where answers are sampled, such a column sorts the prompts: their answers are called otherwise.
    """
    name = usual_name(roles.completion) if roles.completion is not None else ""
    if roles.form != "prompt_completion" or name not in LABELS or name in REPLIES:
        return roles
    return Roles(form="prompt", prompt=roles.prompt)


def make_reader(roles: Roles) -> ReadTurns:
    """Return the function that reads the turns of a row, without its images."""
    named = {role: column for role, column in roles.by_role().items() if role != "images"}
    return partial(_READERS[roles.form], **named)


def are_swapped(prompt: str, completion: str) -> bool:
    """Return whether a column called as answers are has the prompts, and the reverse.

    Labels are left out: texts may well be written for a label.
    """
    usual = next(usual for form, usual in USUAL if form == "prompt_completion")
    asked, said = set(usual["prompt"]), set(usual["completion"])
    return usual_name(prompt) in said and usual_name(completion) in asked


def is_answer_name(name: str) -> bool:
    """Return whether a usual name is one of answers, or of what explains or repeats them."""
    return name in _ANSWERS or name.removesuffix("s") in _ANSWERS


def is_prompt_name(column: str) -> bool:
    """Return whether a column is called as those of questions are."""
    return usual_name(column) in (*PROMPTS, "instruction")


def is_verdict_name(column: str) -> bool:
    """Return whether a column is called as those are that say if an answer is good."""
    return usual_name(column) in VERDICTS


def _distinct(found: Mapping[str, str]) -> bool:
    return len(set(found.values())) == len(found)
