"""Reads which column of the data has which role."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from ftc.spec.schema import branches, fields
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import QUOTES, WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold

_COLUMN_WORD: Final = r"(?:columna?|field|camp|campo)"
_NO_NAME: Final = (
    r"(?!(?:columna?|fields?|camp|campo|an?|one|un|una|this|each|every|cada|it|that|them|is|are"
    r"|it'?s|not|no)\b)"
)
_ENTITLED: Final = r"(?:called|named|llamada|anomenada|titulada)"
_IDENTIFIER: Final = (
    rf"(?:{_ENTITLED} )?{QUOTES}?{_NO_NAME}(?!{_ENTITLED}\b)"
    rf"(?P<column>[a-z_]\w*(?:[.-]\w+)*){QUOTES}?"
)
_NAMED_BARE: Final = rf"(?<!\w){QUOTES}(?P<column>[a-z_]\w*(?:[.-]\w+)*){QUOTES}"
_THE: Final = r"(?:the |la |el |les |las |los )?"
_IS: Final = r"(?: (?:are|is|live|lives|sit|sits|es|son|esta|estan|viuen|viven))?"
_HOLDS: Final = (
    r"(?:is|are|holds|has|contains|as|es|son|te|tiene|conte|contiene|com a|como|hi ha|hay|hi van?"
    r"|va|hi tinc|hi tenim|tengo|esta)"
)
_CALLED: Final = (
    r"(?:\s*[=:]|(?: (?:que es diu|que se llama|es diu|se llama|called|named|is|es)){1,2})?"
)
_FORMS: Final = (
    _THE
    + r"(?:{words})"
    + _IS
    + r"(?: (?:in|from|a|en))? ?"
    + _THE
    + _COLUMN_WORD
    + " "
    + _IDENTIFIER,
    _COLUMN_WORD + " " + _IDENTIFIER + " " + _HOLDS + " " + _THE + r"(?:{words})\b",
    _COLUMN_WORD + " " + _IDENTIFIER + r"[,:]? (?=el que |lo que |what )(?:{words})\b",
    r"(?:(?<=, )|(?<=\. )|(?<=; )|(?:and|i|y|e)\s+)"
    + _THE
    + _IDENTIFIER
    + " "
    + _HOLDS
    + r" (?=what |el que |lo que )(?:{words})\b",
    _NAMED_BARE + " " + _HOLDS + " " + _THE + r"(?:{words})\b",
    r"(?:{words}) " + _COLUMN_WORD + _CALLED + " " + _IDENTIFIER,
    _THE + r"(?:{words})" + _IS + r" (?:in|from|a|en) " + _THE + _IDENTIFIER + " " + _COLUMN_WORD,
    r"(?:{words})\s*(?:=|->|<-)\s*" + _IDENTIFIER,
    r"(?:use|using|take|with|and|fes servir|usa|agafa|amb|con|i|y) "
    + _THE
    + _IDENTIFIER
    + r" (?:as|com a?|como) "
    + _THE
    + r"(?:{words})\b",
    _THE
    + r"(?:{words})"
    + _IS
    + r" (?:in|from|a|en) "
    + _THE
    + rf"{QUOTES}(?P<column>[a-z_]\w*(?:[.-]\w+)*){QUOTES}",
    _COLUMN_WORD + r" (?:de |of |for |d')" + _THE + r"(?:{words})" + _CALLED + " " + _IDENTIFIER,
)
_OF_INSTRUCTION: Final = {
    "/data/columns/prompt": "/data/columns/input",
    "/data/columns/completion": "/data/columns/output",
}
_LIES: Final = (
    r"(?:is|are|lives?|sits?|goes|go|comes?|found|stored|held|kept|es|son|esta|estan|viuen?|viven?|viene"
    r"|vienen|ve|venen|va|van|surt|surten|sale|salen"
    r"|(?:la |el |ho |lo )?(?:tinc|tenim|tengo|tenemos))"
)
#: "what we answer is under 'solucio'": a name in quotes, or one that is no word.
_LOOSE: Final = (
    _THE
    + rf"(?:{{words}})(?:\s+(?!{_LIES}\b|in\b|a\b|en\b)[a-z']+){{{{0,2}}}}?(?:\s+{_LIES})*"
    + r"\s+(?:in|from|under|inside|at|a|en|dins(?: de)?|sota|bajo|dentro de) "
    + _THE
    + rf"(?:{_COLUMN_WORD} )?(?:called |named )?"
    + rf"(?:{QUOTES}(?P<quoted>[a-z_]\w*(?:[.-]\w+)*){QUOTES}"
    + r"|(?P<column>[a-z]\w*)(?=\s*(?:$|[,;!)]|\.(?:\s|$)|(?:and|i|y|e)\b)))"
)
_LOOSELY: Final = tuple(
    (role, re.compile(rf"(?<!\w){_LOOSE.format(words=any_of(words))}"))
    for role, words in WORDS["columns"].items()
)
_CODED: Final = re.compile(r"[_\d]")
_COLUMNS: Final = tuple(
    (role, re.compile(rf"(?<!\w){form.replace('{words}', any_of(words))}"))
    for role, words in WORDS["columns"].items()
    for form in _FORMS
)
#: Existing columns by their exact names, with spaces, dots or other signs.
_KNOWN_FORMS: Final = (
    _THE + r"(?:{words})(?: " + _COLUMN_WORD + r")?\s*(?:=|:|->|<-)\s*{name}",
    _THE
    + r"(?:{words})(?: "
    + _COLUMN_WORD
    + r")?(?: (?:is|are|es|son|sera|live|lives|sit|sits|esta|estan|viu|viuen|vive))?"
    + r"(?: (?:in|from|a|en|called|named|que es diu|que se llama|es diu|se llama))* "
    + _THE
    + r"(?:"
    + _COLUMN_WORD
    + r" )?{name}",
    _THE
    + r"(?:"
    + _COLUMN_WORD
    + r" )?{name}(?: "
    + _COLUMN_WORD
    + r")? (?:(?:is|holds|has|contains|as|es|son|te|tiene|conte|contiene|com a?|como|for|per a"
    + r"|para) "
    + _THE
    + r")+(?:{words})",
)
#: Words that show that a message is about columns, or about another file.
_SPOKEN_OF: Final = re.compile(
    rf"\b{_COLUMN_WORD}s?\b|\bcolumnes\b|[=\"'`\u201c\u00ab_]|->|<-|\.\w{{3,7}}\b"
)
_TOLD_OF: Final = re.compile(r"\b(?:what|el que|lo que)\b")
#: Not a column: a module ("targets=q_proj"), a file ("text=plain.txt"), or the word before a name
#: ("tools=col functions").
_NO_COLUMN: Final = re.compile(
    r"_proj$|\.(?:txt|jsonl?|csv|tsv|parquet|py|md)$|^(?:cols?|columns?|fields?|camps?|campos?)$",
    re.IGNORECASE,
)
_MOST_COLUMNS: Final = 60
_TEXT: Final = "/data/columns/text"
_ANSWER: Final = "/data/columns/completion"
_PROMPT: Final = "/data/columns/prompt"
_OUTPUT: Final = "/data/columns/output"
_INPUT: Final = "/data/columns/input"
_INSTRUCTION: Final = "/data/columns/instruction"
_LABEL: Final = "/data/columns/label"
_OBJECTIVE: Final = "/objective/type"
_LABELS: Final = "classification"
_VOTES: Final = "kto"
#: Objectives whose rows have two answers, one of them better.
PREFERENCES: Final = frozenset({"dpo", "orpo", "simpo", "cpo", "reward"})
_CHOSEN, _REJECTED = "/data/columns/chosen", "/data/columns/rejected"
VOTE: Final = re.compile(r"\b(?:labels?|etiquet\w+)\b")


#: "two columns, ficha and descripcion, the first is what I give and the second what it writes".
_TWO: Final = re.compile(
    r"\b(?:columns?|columnes|columnas|fields|camps|campos)[,:]? "
    r"(?:called |named |que es diuen |que se llaman )?"
    rf"{QUOTES}?(?P<first>[a-z_]\w*){QUOTES}? (?:and|i|y|e) {QUOTES}?(?P<second>[a-z_]\w*){QUOTES}?"
)
_IT_IS: Final = r"(?: (?:one|column|columna))?[,:]? (?:is |es |te |tiene |has )?"
_ORDERED: Final = (
    ("first", rf"(?:first|primera?|former){_IT_IS}"),
    ("second", rf"(?:second|segona?|segund[oa]|latter|other|altra|otra){_IT_IS}"),
)


def _read_two(message: Message) -> Iterator[Change]:
    """Yield the roles of two columns that are named together and distinguished by their order."""
    for match in list(_TWO.finditer(message.folded)):
        for group, place in _ORDERED:
            for role, words in WORDS["columns"].items():
                found = re.compile(rf"\b{place}{_THE}{any_of(words)}").search(
                    message.folded, match.end()
                )
                if found is None:
                    continue
                said = ", ".join((message.words(*match.span(group)), message.words(*found.span())))
                yield Change(
                    pointer=f"/data/columns/{role}",
                    value=message.words(*match.span(group)),
                    words=said,
                )
                message.cross_out(*found.span())
                break


_ANY_ROLE: Final = "|".join(any_of(words) for words in WORDS["columns"].values())
_ARTICLE: Final = r"(?:(?:the|la|el|les|las|los) |l')?"
_NAME: Final = rf"{QUOTES}?{_NO_NAME}(?P<{{}}>[a-z_]\w*(?:[.-]\w+)*){QUOTES}?"
_ENDS: Final = r"(?=\s*(?:$|[,.;:!)]))"
#: The second clause leaves out words of the first one: "column q is the input and a the output",
#: "columna de entrada q y de salida a".
_GAPPED: Final = (
    re.compile(
        rf"\b{_COLUMN_WORD} {_NAME.format('first')} {_HOLDS} {_ARTICLE}(?P<one>{_ANY_ROLE})"
        rf",? (?:and|i|y|e) {_NAME.format('second')} (?:{_HOLDS} )?{_ARTICLE}(?P<two>{_ANY_ROLE})"
        + _ENDS
    ),
    re.compile(
        rf"\b{_COLUMN_WORD} (?:(?:de|of|for) |d')?{_ARTICLE}(?P<one>{_ANY_ROLE})"
        rf" {_NAME.format('first')},? (?:and|i|y|e) (?:(?:de|of|for) |d')?{_ARTICLE}"
        rf"(?P<two>{_ANY_ROLE})(?: {_COLUMN_WORD})? {_NAME.format('second')}" + _ENDS
    ),
)


def _read_gapped(message: Message) -> Iterator[Change]:
    """Yield the columns of two clauses, of which the second leaves out words."""
    for pattern in _GAPPED:
        for match in message.take(pattern):
            words = message.words(*match.span())
            for said, name in (("one", "first"), ("two", "second")):
                role = next(
                    role
                    for role, known in WORDS["columns"].items()
                    if re.fullmatch(any_of(known), match[said])
                )
                value = message.words(*match.span(name))
                yield Change(pointer=f"/data/columns/{role}", value=value, words=words)


#: The roles by their own names: "messages col = turns", "instruction/input/output = ask/ctx/resp".
_ROLES: Final = tuple(
    field.name.rpartition(".")[2]
    for field in fields()
    if field.pointer.startswith("/data/columns/")
)
_ROLE: Final = rf"(?:{'|'.join(_ROLES)})"
_BY_KEY: Final = re.compile(
    rf"(?<![\w/.-])(?P<roles>{_ROLE}(?:\s?/\s?{_ROLE})*)"
    r"\s+(?:cols?|columns?|columnas?|columnes|fields?|camps?|campos?)?\s*[=:]\s*"
    rf"(?P<names>{QUOTES}?\w[\w.-]*{QUOTES}?(?:\s?/\s?{QUOTES}?\w[\w.-]*{QUOTES}?)*)(?![\w/])"
)
_SLASH: Final = re.compile(r"\s?/\s?")
#: "asunto (prompt) y categoria (completion)": each column with its role in brackets.
_BRACKETED: Final = re.compile(
    rf"(?<![\w/.-]){QUOTES}?(?P<name>{_NO_NAME}[a-z_]\w*){QUOTES}?\s?\(\s?(?P<role>{_ROLE})\s?\)"
)


def _read_by_key(message: Message) -> Iterator[Change]:
    """Yield columns after their roles and a sign; several columns have the order of their roles."""
    for match in list(_BY_KEY.finditer(message.folded)):
        roles = _SLASH.split(match["roles"])
        names = _SLASH.split(message.words(*match.span("names")))
        if len(roles) != len(names):
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        for role, name in zip(roles, names, strict=True):
            bare = re.sub(rf"^{QUOTES}|{QUOTES}$", "", name)
            yield Change(pointer=f"/data/columns/{role}", value=bare, words=words)


def _read_bracketed(message: Message) -> Iterator[Change]:
    """Yield the columns with their roles in brackets, if there are two or more."""
    found = list(_BRACKETED.finditer(message.folded))
    for match in found if len(found) > 1 else ():
        name, words = message.words(*match.span("name")), message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer=f"/data/columns/{match['role']}", value=name, words=words)


def speaks_of_columns(text: str) -> bool:
    """Return whether a text is about columns, or about another file."""
    return _SPOKEN_OF.search(fold(text)) is not None


def read_columns(message: Message, known: Sequence[str]) -> Iterator[Change]:
    """Yield the column of each role, with its name as written.

    If the columns of the data are `known`, another word is a column only in a text about columns.
    """
    spoken = not known or speaks_of_columns(message.folded)
    yield from _read_by_key(message)
    yield from _read_bracketed(message)
    yield from _read_gapped(message)
    yield from _read_two(message)
    for role, pattern in _COLUMNS:
        for match in list(pattern.finditer(message.folded)):
            column = message.words(*match.span("column"))
            told = _TOLD_OF.search(message.folded, match.start())
            if _NO_COLUMN.search(column) or is_coded_value(column):
                continue
            if told and not spoken and column not in known:
                continue  # "rslora is what I want"
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer=f"/data/columns/{role}", value=column, words=words)
    yield from _read_loose(message, known)


def is_coded_value(column: str) -> bool:
    """Return whether a name is a value of a field: "q8_0" in "output in q8_0" is not a column."""
    return _CODED.search(fold(column)) is not None and is_value(column)


def is_value(name: str) -> bool:
    """Return whether a word is one of the fixed values of a field, such as "wandb"."""
    return fold(name) in _values()


@cache
def _values() -> frozenset[str]:
    items = (
        branch
        for field in fields()
        for one in branches(field.schema)
        for branch in (one, *branches(one.get("items", {})))
    )
    return frozenset(fold(str(value)) for branch in items for value in branch.get("enum", ()))


def _read_loose(message: Message, known: Sequence[str]) -> Iterator[Change]:
    """Yield columns after "in"; an ordinary word is a column only beside a clear name."""
    found = [
        (role, match) for role, pattern in _LOOSELY for match in pattern.finditer(message.folded)
    ]
    certain = [bool(each["quoted"] or _CODED.search(each["column"])) for _, each in found]
    pair = len({role for role, _ in found}) > 1 and any(certain)
    for (role, match), is_certain in zip(found, certain, strict=True):
        column = message.words(*match.span("quoted" if match["quoted"] else "column"))
        taken = "\x00" in message.folded[slice(*match.span())]
        if taken or is_coded_value(column) or not (is_certain or pair or column in known):
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer=f"/data/columns/{role}", value=column, words=words)


def settle_roles(said: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values; beside an instruction, "input" and "output" are those roles.

    Elsewhere they are the prompt and its completion.
    """
    if not any(each.pointer == "/data/columns/instruction" for each in said):
        return list(said)
    has = {each.pointer for each in said}
    return [
        replace(each, pointer=_OF_INSTRUCTION[each.pointer])
        if each.pointer in _OF_INSTRUCTION and _OF_INSTRUCTION[each.pointer] not in has
        else each
        for each in said
    ]


def settle_text(said: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, with the text as the prompt if an answer is named beside it.

    An output column beside a prompt column is read as the completion. A prompt column
    beside an instruction column is read as the input.

    In rows for classification, the completion is the label. In rows for KTO, a label is the vote.
    """
    objectives = (
        each.value for each in said if isinstance(each, Change) and each.pointer == _OBJECTIVE
    )
    kind = next(objectives, None)
    if kind == _VOTES:
        return [
            replace(each, pointer=_LABEL)
            if each.pointer == _ANSWER and VOTE.search(fold(each.words))
            else each
            for each in said
        ]
    if kind == _LABELS:
        named = {_LABEL: _ANSWER, _TEXT: _PROMPT}
        return [replace(each, pointer=named.get(each.pointer, each.pointer)) for each in said]
    roles = {each.pointer for each in said}
    if (
        kind in PREFERENCES or _REJECTED in roles
    ) and _CHOSEN not in roles:  # "'good' is the answer that was liked"
        return [
            replace(each, pointer=_CHOSEN) if each.pointer == _ANSWER else each for each in said
        ]
    if {_PROMPT, _INSTRUCTION} <= roles and _INPUT not in roles:
        said = [replace(each, pointer=_INPUT) if each.pointer == _PROMPT else each for each in said]
    if {_PROMPT, _OUTPUT} <= roles and not roles & {_INSTRUCTION, _ANSWER}:
        said = [
            replace(each, pointer=_ANSWER) if each.pointer == _OUTPUT else each for each in said
        ]
    if _TEXT not in roles or _ANSWER not in roles or _PROMPT in roles:
        return list(said)
    return [replace(each, pointer=_PROMPT) if each.pointer == _TEXT else each for each in said]


def read_known_columns(message: Message, columns: Sequence[str]) -> Iterator[Change]:
    """Yield the existing columns to which the message gives a role, the longest name first."""
    present = tuple(name for name in columns[:_MOST_COLUMNS] if fold(name) in message.folded)
    for role, name, pattern in _known(present) if present else ():
        for match in message.take(pattern):
            words = message.words(*match.span())
            yield Change(pointer=f"/data/columns/{role}", value=name, words=words)


@cache
def _known(columns: tuple[str, ...]) -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return the role, the name and the pattern of each sentence about a column."""
    return tuple(
        (role, name, re.compile(rf"(?<!\w){_filled(form, any_of(words), name)}(?![./]?\w)"))
        for name in sorted(columns, key=len, reverse=True)
        for role, words in WORDS["columns"].items()
        for form in _KNOWN_FORMS
    )


def _filled(form: str, words: str, name: str) -> str:
    named = rf"{QUOTES}?{re.escape(fold(name))}{QUOTES}?"
    return form.replace("{words}", words).replace("{name}", named)
