"""The teacher of a distillation: a second model, with a compatible tokenizer or not."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from ftc.compiler.knowledge.objectives import has_teacher
from ftc.compiler.knowledge.text.tokenizers import tokenizer_families
from ftc.compiler.resolve.facts import OtherToken, TeacherFacts, TokenizerFacts, Unknown
from ftc.compiler.resolve.local_paths import at, is_path
from ftc.compiler.resolve.model.facts import resolve_model
from ftc.compiler.resolve.model.folder import find_tokenizer_folder
from ftc.compiler.resolve.model.tokenizer_files import (
    TOKENIZER_FILE,
    TokenizerFileError,
    load_tokenizer,
)
from ftc.compiler.resolve.tokenizer.facts import resolve_tokenizer
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message
from ftc.spec.sections import Model, Objective, Spec

POINTER: Final = "/objective/teacher"
_OWN_FIELDS: Final = ("/id", "/revision")


def names_teacher(objective: Objective) -> bool:
    """Return whether the spec names a teacher that its objective reads."""
    return has_teacher(objective.type) and objective.teacher.id is not None


def resolve_teacher(
    spec: Spec, *, folder: Path, tokenizer: TokenizerFacts | Unknown
) -> TeacherFacts | Unknown | None:
    """Return the teacher's facts, None where the spec has no teacher.

    They are found as the model's are, and what is wrong is said of the teacher.
    """
    if not names_teacher(spec.objective):
        return None
    taught = as_model(spec)
    model = resolve_model(taught, folder=folder)
    if isinstance(model, Unknown):
        return Unknown(finding=of_teacher(model.finding))
    if isinstance(tokenizer, Unknown):
        return tokenizer
    facts = TeacherFacts(model=model, is_student=_is_student(spec, folder))
    theirs = resolve_tokenizer(taught, folder=folder, model=model)
    if isinstance(theirs, Unknown):
        return facts
    facts = replace(facts, reasoning=theirs.reasoning)
    own, other = _tokens(spec, tokenizer, folder), _tokens(taught, theirs, folder)
    if own is None or other is None:
        families = {tokenizer.family, theirs.family}
        if not families <= set(tokenizer_families()):
            return facts
        return replace(facts, vocabulary="same" if len(families) == 1 else "other")
    return _compare(facts, own, other)


def as_model(spec: Spec) -> Spec:
    """Return a spec whose model is the teacher; its own chat template renders no row."""
    teacher, data = spec.objective.teacher, replace(spec.data, template_options=None)
    return replace(spec, model=Model(id=teacher.id or "", revision=teacher.revision), data=data)


def of_teacher(finding: Finding) -> Finding:
    """Return a finding about a model as a finding about the teacher."""
    name = finding.pointer.removeprefix("/model")
    return replace(
        finding,
        pointer=f"{POINTER}{name if name in _OWN_FIELDS else '/id'}",
        problem=Message("phrase.of_teacher", {"problem": finding.problem}),
        remedy=Message("phrase.for_teacher", {"remedy": finding.remedy}),
        fix=(),
    )


def _is_student(spec: Spec, folder: Path) -> bool:
    """Return whether teacher and model are one: one repository and revision, or one folder."""
    teacher, model = spec.objective.teacher, spec.model
    name = teacher.id or ""
    if is_path(name, folder=folder) and is_path(model.id, folder=folder):
        return at(name, folder=folder).resolve() == at(model.id, folder=folder).resolve()
    return (name, teacher.revision) == (model.id, model.revision)


def _tokens(spec: Spec, facts: TokenizerFacts, folder: Path) -> Mapping[str, int] | None:
    """Return the ids of all tokens of a model, added ones too; None without `tokenizer.json`."""
    if not facts.exact:
        return None
    place = find_tokenizer_folder(spec.model, facts, folder=folder)
    if place is None or not (place / TOKENIZER_FILE).is_file():
        return None
    try:
        return load_tokenizer(place, template="").tokenizer.get_vocab() or None
    except TokenizerFileError:
        return None


def _compare(facts: TeacherFacts, own: Mapping[str, int], other: Mapping[str, int]) -> TeacherFacts:
    """Return the facts with the ids at which the two tokenizers have different tokens.

    Tokens that only one of them has, at the end, change no other token.
    """
    shared = min(max(own.values()), max(other.values()))
    named = {number: token for token, number in other.items()}
    differing = sorted(
        (number, token)
        for token, number in own.items()
        if number <= shared and named.get(number, token) != token
    )
    first = None
    if differing:
        number, token = differing[0]
        first = OtherToken(id=number, student=token, teacher=named[number])
    return replace(
        facts,
        vocabulary="other" if differing else "same",
        highest_id=max(own.values()),
        differing=len(differing),
        first=first,
    )
