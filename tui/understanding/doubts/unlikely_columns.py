"""Doubts about columns: names that are not columns, and columns that are not requested.

A word beside "column" or after a file name may be something else: a model, a card or a GGUF type.
People also report columns ("the previous intern had named the answer `res`") and refuse them
("don't use `draft`").
"""

import re
from collections.abc import Sequence
from typing import Final

from ftc.compiler.knowledge.well_known.model_names import FAMILIES
from ftc.spec.schema import fixed_values
from ftc.spec.tools.tables import find_target, read_table
from ftc.tui.understanding.doubts.hearsay import find_quotations
from ftc.tui.understanding.elsewhere import find_past, find_people
from ftc.tui.understanding.exports.exports import is_type
from ftc.tui.understanding.fields.enumerated import TEMPLATE_OPTIONS
from ftc.tui.understanding.machines.chips import is_chip
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold

_COLUMNS: Final = "/data/columns/"
#: "don't use the column draft", "the chats aren't in messages".
_REFUSED: Final = re.compile(
    r"(?:\b(?:do not|don'?t|dont|never)\s+(?:use|take|pick|read|put|set|touch|look at)"
    r"|\bno\s+(?:(?:em|me|nos|ens|hi|li|le)\s+)?"
    r"(?:coj|us|tom|pong|utilic|mir|toqu|agaf|pos|facis servir|fiqu)\w*"
    r"|\b(?:isn'?t|aren'?t|is not|are not|no (?:es|son|esta|estan|hi son|es troba))"
    r"\s+(?:in|a|en))"
    r"(?:(?!\b(?:sino|but|pero|rather)\b)[^.;:,!?\n]){0,30}$"
)

#: "half the label column is typos": about the content of a column.
_PART_OF: Final = re.compile(
    r"\b(?:half|most|much|some|part|a lot|lots|all|\d+ ?%|(?:la )?meitat|(?:la )?mitad"
    r"|(?:bona )?part"
    r"|(?:buena )?parte|gairebe tota|casi toda|mig|media)\s(?:of |de )?(?:the |my |our |la |l'"
    r"|mi )?"
    r"(?:[\w-]+ )?(?:colum\w*|columna)(?: [\w-]+)? (?:is|are|has|es|son|esta|te|tiene|hi ha|hay)\b"
)
#: "what they wrote": the content of a column, and not a report.
_WHAT: Final = re.compile(r"\b(?:what|which|where|que|quoi|donde|on)\s+(?:\w+\s+)?$")

_FILE: Final = re.compile(r"\S+\.(?:csv|tsv|jsonl?|parquet|txt|xlsx|gguf)")
#: "starcoder2", "qwen2.5-7b", "bge-reranker-v2-m3"; not "gpt4_answer".
_MODEL: Final = re.compile(
    r"(?P<family>[a-z]+)[-.]?v?\d[a-z\d.-]*|[a-z][a-z\d]*-(?=[a-z.-]*\d)[a-z\d.-]+"
)
_DIGIT: Final = re.compile(r"\d")
_MODULE: Final = re.compile(r"lm_head|\w+_proj|embed_tokens")

_Said = Sequence[Change | Choice]


def doubt_columns(text: str, told: _Said, columns: Sequence[str]) -> list[Change | Choice]:
    """Return the values, with a question in place of each unlikely column.

    `columns` are the columns of the data, which are never in doubt.
    """
    people = (span for span in find_people(text) if not _WHAT.search(fold(text[: span[0]])))
    reported = [*people, *find_past(text)]
    quoted = list(find_quotations(text))
    return [
        ask_about(each)
        if isinstance(each, Change)
        and each.pointer.startswith(_COLUMNS)
        and isinstance(each.value, str)
        and (
            (each.value not in columns and is_other(fold(each.value)))
            or _is_reported(text, each, reported, quoted)
            or _is_content(text, each)
        )
        else each
        for each in told
    ]


def _is_content(text: str, said: Change) -> bool:
    """Return whether the sentence of a name says what a part of a column contains."""
    folded = fold(text)
    sentences = (find_around(SENTENCE_END, folded, at) for at in find_places(text, said.words)[:1])
    return any(_PART_OF.search(folded, *sentence) is not None for sentence in sentences)


def is_other(name: str) -> bool:
    """Return whether a folded name belongs to something other than a column.

    That is a file, a card, a file type, a model, a module, a key of another tool, or a field's
    value with a digit.
    """
    if _DIGIT.search(name) and name in fixed_values():
        return True
    if _FILE.fullmatch(name) or is_chip(name) or is_type(name) or _MODULE.fullmatch(name):
        return True
    if name in TEMPLATE_OPTIONS or ("_" in name and find_target(read_table(""), name)[0] in "/@"):
        return True
    model = _MODEL.fullmatch(name)
    return model is not None and (model["family"] is None or model["family"] in FAMILIES)


def _is_reported(text: str, said: Change, reported: Sequence[Span], quoted: Sequence[Span]) -> bool:
    """Return whether somebody else named a column, or the message rejects it.

    A quotation longer than the name quotes somebody.
    """
    for start, end in find_places(text, str(said.value))[:1]:
        inside = (first <= start and end <= last for first, last in reported)
        whole = (first + 1 < start and end + 1 < last for first, last in quoted)
        refused = _REFUSED.search(fold(text[:start])) is not None
        return any(inside) or any(whole) or refused
    return False
