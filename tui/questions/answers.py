"""Reads a bare answer: a message that contains only a value for the field of the question."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator, find_other_maker
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.spec.schema import branches, fields
from ftc.spec.values.admission import admits
from ftc.spec.values.expectation import types_of
from ftc.tui.questions.choices import slug
from ftc.tui.state.draft import Draft
from ftc.tui.state.goals import find_goal
from ftc.tui.understanding.certainty import strip_welcome
from ftc.tui.understanding.exports.exports import read_bits
from ftc.tui.understanding.fields.relative import numeric_fields
from ftc.tui.understanding.reader import read, strip_correction
from ftc.tui.understanding.reading import Change, Names, Reading
from ftc.tui.understanding.requests import split_act
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.sentences import is_question

_LONGEST: Final = 200
#: Words before an answer: "pues bot de quejas".
_LEAD: Final = re.compile(
    rf"(?i)^(?:(?:{any_of(WORDS['questions']['lead'])}|{any_of(WORDS['correct'])})\b[\s,:]+)+"
    r"(?=\w)"
)
#: A hesitant answer: "hmm, maybe four?".
_TENTATIVE: Final = re.compile(
    r"(?i)^(?:(?:h+m+|uh+|um+|well|so|ok|maybe|perhaps|i guess|i think|i'd say"
    r"|let'?s say|say|probably|potser|diguem|posem|jo diria|suposo que|tal vez|quizas?|digamos"
    r"|pongamos|yo diria|supongo que|doncs|pues|no se)[\s,.…]+)+"
    r"(?P<value>[^\s,.?]+(?: [^\s,.?]+)?)[\s?.…]*$"
)
_WORDS_OF_TALK: Final = 4
#: Requests that act on the draft.
_ON_DRAFT: Final = frozenset({"compile", "delegate", "fix", "left", "save", "show"})
_NONE: Final = re.compile(any_of(WORDS["none"]))
_NO_GPU: Final = re.compile(any_of(WORDS["no_gpu"]))
_TYPES: Final = "/export/types"
_GPU: Final = "/hardware/gpu"
_NOTHING: Final[Mapping[str, Any]] = {}
_NO_NAMES: Final = Names()
#: What a model or a data set in a bare answer looks like: a Hub id or a path.
_REFERENCE: Final = re.compile(r"[\w.-]+/[\w.-]+|(?:\.{0,2}|~|[A-Za-z]:)[/\\]\S+|\S+\.\w{2,8}")
_REFERENCES: Final = frozenset({"/model/id", "/data/source"})
_TALK: Final = frozenset(any_word for words in WORDS["talk"].values() for any_word in words)


def understand(
    text: str,
    draft: Mapping[str, Any],
    asked: str | None,
    planned: Mapping[str, Any] = _NOTHING,
    names: Names = _NO_NAMES,
) -> Reading:
    """Return the reading of a message; a value without a field answers the question `asked`.

    `planned` holds the plan's values by pointer, for changes relative to them. `names` are the
    existing files and columns; a bare answer cannot name another column.
    """
    before, act = split_act(text)
    if act is not None:
        reading = understand(before, draft, asked, planned, names)
        if reading.changes and reading.request is None and reading.asked is None:
            return replace(reading, request=act)
    reading = read(text, draft, planned, names)
    if asked is None:
        return reading
    own = _own_answer(asked, text, reading)
    if own is not None:
        return Reading(changes=(own,))
    if not reading.empty:
        return reading
    change = read_answer(asked, text)
    if change is None or _is_other_column(asked, change.value, names.columns):
        return reading
    kept = admits(asked, change.value)
    return Reading(changes=(change,)) if kept else Reading(refused=(change,))


def continues(text: str, draft: Draft) -> bool:
    """Return whether a message goes on with a saved draft: it changes it or has it compiled.

    Other data or a goal begin another fine-tune.
    """
    reading = understand(text, draft.data, None)
    if reading.request is not None and not reading.changes:
        return reading.request.kind in _ON_DRAFT
    data = (each.value for each in reading.changes if each.pointer == "/data/source")
    other = draft.has("/data/source") and any(each != draft.get("/data/source") for each in data)
    return bool(reading.changes) and not other and find_goal(text) is None


def _own_answer(asked: str, text: str, reading: Reading) -> Change | None:
    """Return a value that is only clear from the question: "none", no GPU, or an ambiguous name."""
    bare = text.strip().strip("\"'`.")
    if asked == _TYPES and (_NONE.fullmatch(fold(bare)) or _says(reading, "no")):
        return Change(pointer=asked, value=[], words=bare)
    if asked == _TYPES and not is_question(text) and (kinds := read_bits(text)):
        return Change(pointer=asked, value=list(kinds), words=bare)
    if asked == _GPU and _NO_GPU.fullmatch(fold(bare)):
        return Change(pointer=asked, value="cpu", words=bare)
    if asked in numeric_fields() and (hesitant := _TENTATIVE.match(fold(bare))):
        return read_answer(asked, hesitant["value"])
    if reading.request is not None or " " in bare:
        return None
    if asked == "/name" and "-" in bare and "/" not in bare:
        return Change(pointer=asked, value=slug(bare), words=bare)
    named = asked in _REFERENCES and "/" in bare and _REFERENCE.fullmatch(bare)
    if named and find_model(bare) is None:
        return Change(pointer=asked, value=bare, words=bare)
    return None


def _is_other_column(pointer: str, value: object, columns: Collection[str]) -> bool:
    """Return whether a value names a column that the data does not have."""
    if not pointer.startswith("/data/columns/"):
        return False
    return value not in columns if columns else " " in str(value)


def _says(reading: Reading, kind: str) -> bool:
    return reading.request is not None and reading.request.kind == kind


def read_answer(pointer: str, text: str) -> Change | None:
    """Return the change that a bare answer makes to a field, or None if it has no value.

    A long sentence is not a path, a name or a model.
    """
    text = strip_welcome(strip_correction(text.strip().strip("\"'`")))
    if is_question(text):
        return None
    if pointer == "/name":
        text = _LEAD.sub("", text)
        return Change(pointer=pointer, value=slug(text), words=text) if _is_name(text) else None
    if pointer in _REFERENCES and not _is_reference(text):
        return None
    if pointer == _GPU and not _is_machine(text):
        return None
    for schema in branches(_schemas()[pointer]):
        value = _fitting(schema, text)
        if value is not None:
            return Change(pointer=pointer, value=value, words=text)
    return None


def _fitting(schema: Mapping[str, Any], text: str) -> Any:
    if "const" in schema or "enum" in schema:
        folded = fold(text)
        choices = schema.get("enum", [schema.get("const")])
        return next((v for v in choices if fold(str(v)) == folded), None)
    kinds = types_of(schema)
    if "integer" in kinds or "number" in kinds:
        number = read_number(Message(text).folded)
        return None if number is None else as_written(number)
    if "string" in kinds and _is_short(text):
        pattern = schema.get("pattern")
        return text if pattern is None or re.search(pattern, text) else None
    return None


def _is_name(text: str) -> bool:
    """Return whether a text can be the name of a run; conversational words make it a sentence."""
    words = re.findall(r"[a-z']+", fold(text))
    return _is_short(text) and bool(slug(text)) and not _TALK.intersection(words)


def _is_reference(text: str) -> bool:
    return _is_short(text) and (_REFERENCE.fullmatch(text) is not None or Path(text).exists())


def _is_machine(text: str) -> bool:
    """Return whether a text names a machine from the table."""
    known = find_accelerator(text) is not None or find_other_maker(text) is not None
    return known or text == "auto"


def _is_short(text: str) -> bool:
    return 0 < len(text) <= _LONGEST and len(text.split()) <= _WORDS_OF_TALK


def _schemas() -> Mapping[str, Mapping[str, Any]]:
    return {field.pointer: field.schema for field in fields()}
