"""Reads pairs of columns: "question -> answer", "best=chosen", "a/b as chosen/rejected".

The column before an arrow is the prompt, and the column after it is the completion. If the name of
a role follows the sign, the column before the sign gets that role. In a list, each column may
follow its role without a sign: "prompt q, chosen good, rejected bad".
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations
from typing import Final

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.spec.schema import fields, fixed_values
from ftc.tui.understanding.columns.column_roles import ADJECTIVES, NO_COLUMN
from ftc.tui.understanding.columns.mentioned import Doubt
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import QUOTES, WORDS, any_of
from ftc.tui.understanding.text.message import Message, fold

_SECTION: Final = "/data/columns/"
_ROLES: Final = tuple(
    field.name.rpartition(".")[2] for field in fields() if field.pointer.startswith(_SECTION)
)
_NAME: Final = rf"{QUOTES}?[a-z_]\w*(?:-\w+)*{QUOTES}?"
_NAMES: Final = rf"{_NAME}(?:/{_NAME})*"
_PAIR: Final = re.compile(
    rf"(?<![\w/.-])(?P<left>{_NAMES})"
    r"(?P<sign>\s?(?:->|=>|\u2192)\s?|\s?=\s?|\s(?:as|com(?: a)?|como)\s)"
    rf"(?P<right>{_NAMES})(?![\w/]|[.-]\w)"
)
_SAID: Final = rf"(?:{'|'.join(_ROLES)})(?:\s*:\s*|\s+){_NAME}"
_LIST: Final = re.compile(
    rf"(?<![\w/.-]){_SAID}(?:(?:\s*[,;/]\s*|\s+)(?:(?:and|i|y)\s+)?{_SAID})+(?![\w/]|[.-]\w)"
)
_EACH: Final = re.compile(
    rf"(?P<role>{'|'.join(_ROLES)})(?:\s*:\s*|\s+){QUOTES}?(?P<name>[a-z_]\w*(?:-\w+)*)"
)
#: Words that show that a message is about data.
_OF_DATA: Final = re.compile(
    r"\.(?:csv|tsv|jsonl?|parquet)\b|\b(?:col(?:s|umn|umns|umna|umnes|umnas)?|fields?|camps?|campos?)\b"
)
#: A word right before a name that belongs to the name and does not introduce columns.
_PHRASE: Final = re.compile(
    r"(?<!\w)(?!(?:col(?:s|umns?|umna|umnes|umnas)?|fields?|camps?|campos?|map|maps|from|de|data|dades"
    r"|datos|sft|classify|translate|with|amb|con|is|are|on|and|i|y)\b)[a-z]{2,}(?:\s|')$"
)
_ARROWS: Final = frozenset({"->", "=>", "\u2192"})
_SIZE: Final = re.compile(r"\d")
_COLUMN: Final = r"(?:column|columna|field|camp|campo)"
_MOST_KNOWN: Final = 50  # the number of the data's columns that are searched for in a message
#: "predict the category column from the description", for columns that the data has.
_PREDICTED: Final = (
    r"\b(?:predict|guess|infer|learn|generat|produc|writ|classif|predi|adivin|endevin|apren|apren"
    r"d|gener|escri)\w*\s(?:{the}){answer}(?:\s{column})?"
    r"\s(?:(?:just|only|nomes|solo)\s)?(?:from|given|out of|using|based on|by|a partir (?:de|del)"
    r"|segons|segun|usando|con|amb|desde|des de)\s(?:{the}){asked}(?![\w/-])"
)
_THE: Final = (
    r"(?:(?:the|its|their|each|el|la|els|les|los|las|lo)\s|l')?"
    r"(?:(?:column|columna|field|camp|campo)\s)?"
)
_ASKED, _ANSWERED = f"{_SECTION}prompt", f"{_SECTION}completion"


def read_column_pairs(
    message: Message, known: Sequence[str], doubt: Doubt
) -> Iterator[Change | Choice]:
    """Yield the roles of the columns on both sides of a sign; `known` are the columns of the data.

    The two sides of an arrow may not be columns: `doubt` decides whether to ask.
    """
    columns = {fold(each) for each in known}
    about_data = _OF_DATA.search(message.plain) is not None
    if about_data:
        yield from _read_listed(message)
    yield from _read_predicted(message, known)
    for match in list(_PAIR.finditer(message.folded)):
        left, right = (_split(match[side]) for side in ("left", "right"))
        before, behind = (_split(message.words(*match.span(side))) for side in ("left", "right"))
        if _gives_roles(left, right) and (len(left) > 1 or about_data or left[0] in columns):
            roles = {f"{_SECTION}{role}": name for role, name in zip(right, before, strict=True)}
        elif _leads(match, left, right) and (about_data or {*left, *right} <= columns):
            if _is_phrase(message, match):
                continue
            roles = {_ASKED: before[0], _ANSWERED: behind[0]}
        else:
            continue
        words = message.words(*match.span())
        message.cross_out(*match.span())
        spaced = match["sign"].strip() in _ARROWS and match["sign"] not in _ARROWS
        guessed = spaced and not {*left, *right} <= columns
        for pointer, name in roles.items():
            column = Change(pointer=pointer, value=name, words=words)
            yield doubt(column, told=False) if guessed else column


def _is_phrase(message: Message, match: re.Match[str]) -> bool:
    """Return whether a side of an arrow is the end of a longer phrase: "photos of cats -> name"."""
    quoted = not re.match(r"[a-z_]", match["left"])
    return not quoted and _PHRASE.search(message.plain, 0, match.start()) is not None


def _read_listed(message: Message) -> Iterator[Change]:
    """Yield the columns of a list such as "prompt q, chosen good"."""
    for match in list(_LIST.finditer(message.folded)):
        found = [*_EACH.finditer(message.folded, *match.span())]
        no_names = {*(NO_COLUMN - ADJECTIVES), *_ROLES}
        if any(each["name"] in no_names or _is_value(each["name"]) for each in found):
            continue
        words = [message.words(*each.span()) for each in found]
        message.cross_out(*match.span())
        for each, said in zip(found, words, strict=True):
            name = said[len(said) - len(each["name"]) :]
            yield Change(pointer=f"{_SECTION}{each['role']}", value=name, words=said)


def _read_predicted(message: Message, known: Sequence[str]) -> Iterator[Change]:
    """Yield two columns of the data, one of which is predicted from the other."""
    present = [each for each in known[:_MOST_KNOWN] if fold(each) in message.folded]
    for asked, answer in permutations(present, 2):
        names = {"asked": re.escape(fold(asked)), "answer": re.escape(fold(answer))}
        match = re.search(_PREDICTED.format(the=_THE, column=_COLUMN, **names), message.folded)
        if match is not None and not message.denied(*match.span()):
            words = message.words(*match.span())
            yield Change(pointer=_ASKED, value=asked, words=words)
            yield Change(pointer=_ANSWERED, value=answer, words=words)
            return


def _gives_roles(left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether each column on the left has its role on the right: "good/bad as a/b"."""
    return len(left) == len(right) and left[0] not in _ROLES and {*right} <= {*_ROLES}


def _leads(match: re.Match[str], left: Sequence[str], right: Sequence[str]) -> bool:
    """Return whether an arrow points from one column to another: "question -> answer"."""
    return (
        match["sign"].strip() in _ARROWS
        and len(left) == len(right) == 1
        and not (_is_value(left[0]) or _is_value(right[0]))
        and not _is_role_of(left[0], right[0])
    )


def _split(names: str) -> list[str]:
    return [re.sub(rf"^{QUOTES}|{QUOTES}$", "", name) for name in names.split("/")]


def _is_role_of(left: str, right: str) -> bool:
    """Return whether the left side names the role of the right one: "prompt -> question"."""
    if right in _ROLES:
        return False
    return left in _ROLES or (_ROLE.fullmatch(left) is not None and not _ROLE.fullmatch(right))


def _is_value(name: str) -> bool:
    """Return whether a name is a value of a field, a GPU or a model's size: "cosine -> linear"."""
    return name in _values() or _SIZE.search(name) is not None


@cache
def _values() -> frozenset[str]:
    accelerators = {each.name.lower() for each in all_accelerators()}
    return (fixed_values() | accelerators) - {*_ROLES}


_ROLE: Final = re.compile(
    "|".join((*_ROLES, *(any_of(words) for words in WORDS["columns"].values())))
)
