"""Values whose field depends on their owner: a revision, the length of an answer.

"The teacher is Qwen2.5 72B, revision main" is the teacher's revision, and with GRPO "700 tokens
each" is the length of the answers.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import Any, Final

from ftc.compiler.knowledge.objectives import REWARDED
from ftc.spec.schema import fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.models.teaching import settle_teacher
from ftc.tui.understanding.reading import Change, Choice, ask_about, value_at
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import Message, find_around, find_words, fold
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.values.rates import as_scale

_REVISION: Final = "/model/revision"
_LENGTH, _ANSWER = "/data/max_length", "/objective/answer_tokens"
_OBJECTIVE: Final = "/objective/type"
#: The owners of a revision, by the field of the revision.
_OWNERS: Final = (
    (
        "/objective/teacher/revision",
        re.compile(r"\b(?:teacher|professor\w*|mestre|profesor\w*|maestro)\b"),
    ),
    (
        "/data/revision",
        re.compile(
            r"\b(?:data ?sets?|data|rows|conjunt\w*|dades|files|datos|filas|subset|split|particio"
            r"|particion|configura\w*|streaming)\b"
        ),
    ),
    (_REVISION, re.compile(r"\b(?:models?|modelo|base)\b")),
)
_FIELDS: Final[Mapping[str, str]] = {
    "/objective/teacher/id": "/objective/teacher/revision",
    "/data/source": "/data/revision",
    "/data/subset": "/data/revision",
    "/data/split": "/data/revision",
    "/model/id": _REVISION,
}
#: "revision r1 of the teacher", "la revisió 7c0ffee del conjunt".
_OF_WHAT: Final = re.compile(
    r"\s*(?:of|for|del?|dels|d'|para|per a)\s*(?:(?:the|my|our|el|la|els|les|mi|tu)\s+|l')?"
)
#: "the branch of acme/chats": the id after the word is the owner.
_NO_REVISION: Final = re.compile(r"(?!(?:refs|pr|release|feature|hotfix)/)[\w.-]+/[\w.-]+")
_SOURCE, _FORMAT, _IMAGE = "/data/source", "/data/format", "/launch/image"
#: A container image has a registry, a path or a tag; a column of images does not.
_IMAGE_NAME: Final = re.compile(r"[/:.]")
_AT_REVISION: Final = re.compile(r"(?P<id>[\w.-]+/[\w.-]+)@(?P<revision>[\w.-]+)")
_OF_ANSWERS: Final = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|completions?|gen\w*|respost\w*|respuest\w*|each|cadascun\w*"
    r"|cada una?|new)\b"
)
_RATE, _EMBEDDINGS_RATE = "/training/learning_rate", "/training/embedding_learning_rate"
_EMBEDDINGS: Final = re.compile(r"\bembedd?ings?\b")
_THOSE: Final = re.compile(
    r"\b(?:those|them|these|es[oa]s|est[oa]s|ell[oa]s|aquests|aquestes|aquells|aquelles|ells|elles)\b"
)
#: "verify: top1 0.92, 16384 tokens": a heading selects the section for its sentence.
_LABEL: Final = re.compile(r"\s*(?P<section>[a-z_]+)\s*:\s")
#: Short forms of a field's unit.
_SHORT: Final[Mapping[str, str]] = {"tok": "tokens", "toks": "tokens", "token": "tokens"}
_WORD: Final = re.compile(r"[a-z_]+")
#: A number with a unit but without a field's name.
_AMOUNT: Final = re.compile(rf"(?:\w+ )?(?P<number>{NUMBER})\s*(?P<unit>[a-z]+)")
_KILO: Final = 1000
_PRECISION, _STORAGE = "/training/precision", "/method/quant_storage"
#: "stored as bf16", "emmagatzematge bf16".
_STORED: Final = re.compile(
    r"\b(?:stor(?:e|es|ed|age|ing)|guard\w+|almacen\w+|emmagatz\w+|des(?:a|in|at|ats|ar|em)(?:-\w+)?)"
    r"(?:\s+(?:the|els|les|los|las|them|it|be|as|in|at|with|en|amb|con|com a?|como|de|d'"
    r"|\w*quanti\w*|\w*cuanti\w*|weights|pesos|tensor\w*))*\s*[=:]?\s*$"
)
_QUANTIZED: Final = re.compile(r"\b(?:4[ -]?bits?|quant\w*|q-?lora|nf4|fp4|bnb)\b")
#: "let the check of the file look at 20,000 tokens"; a row is not checked for a length.
_CHECKED_TOKENS: Final = "/export/verify/tokens"
_CHECK: Final = re.compile(
    r"\b(?:check(?:ing|s)?|verif\w+|comprova(?:cio|r|cions)|comproba(?:cion|r|ciones))\b"
    r"(?![^;!?\n]*\b(?:rows?|longest|texts?|files|filas|fila|llarg\w*|larg\w*|truncat\w*"
    r"|context\w*)\b)"
)
_FAR: Final = 140
#: The number of characters before and after a number in which answers may be mentioned.
_NEAR: Final = 34
_PART_END: Final = re.compile(r"[;!?\n]|\.(?=\s|$)")


def move_to_owners(
    found: Sequence[Change | Choice], message: Message, draft: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values, each moved to the field of the same name that applies.

    "Label smoothing" belongs to the objective's loss if that loss has it.
    """
    known = fields_by_pointer()
    moved: list[Change | Choice] = []
    now = value_at(draft, _OBJECTIVE)
    for one in _fill_named(settle_teacher(found, message), message):
        each = as_scale(one, message, draft)
        own = known.get(each.pointer)
        unfit = (
            own is not None and isinstance(each, Change) and not admits(each.pointer, each.value)
        )
        if own is not None and (unfit or applies(own, message, draft) is False):
            fits = [
                at
                for at, owner in _find_namesakes(each.pointer).items()
                if "x-when" in known[at].schema
                and (not owner or re.search(rf"\b{owner}\b", f"{message.plain} {now}"))
                and applies(known[at], message, draft)
                and (not isinstance(each, Change) or admits(at, each.value))
            ]
            each = replace(each, pointer=fits[0]) if len(fits) == 1 else each
        moved.append(each)
    return moved


def _fill_named(found: Iterable[Change | Choice], message: Message) -> Iterator[Change | Choice]:
    """Yield the values, with those that belong to a field that was named just before without one.

    "NEFTune noise on the embeddings, alpha 5" is NEFTune's alpha, and not LoRA's.
    """
    every = list(found)
    named = {each.pointer: each for each in every if isinstance(each, Choice) and not each.values}
    owners = [_find_owner(message, named, each) for each in every]
    filled = [named[owner] for owner in owners if owner is not None]
    for each, owner in zip(every, owners, strict=True):
        if each not in filled:
            yield each if owner is None else replace(each, pointer=owner)


def _find_owner(message: Message, named: Mapping[str, Choice], said: Change | Choice) -> str | None:
    """Return the named field whose name a value shares and which it follows."""
    shared = named.keys() & _find_namesakes(said.pointer).keys()
    owners = [pointer for pointer in shared if _is_next(message, named[pointer], said)]
    return owners[0] if isinstance(said, Change) and len(owners) == 1 else None


def _is_next(message: Message, named: Choice, said: Change | Choice) -> bool:
    """Return whether a value follows the name of a field in one part, without a number between."""
    start, end = (find_words(message.written, each.words) for each in (named, said))
    between = message.written[start + len(named.words) : end]
    return 0 <= start < end and not _PART_END.search(between) and not re.search(r"\d", between)


@cache
def _find_namesakes(pointer: str) -> Mapping[str, str]:
    """Return the other fields with the same last name, each with the objective that uses the name.

    CPO's "alpha" is not LoRA's. The objective is empty if the name is the field's own.
    """
    last = pointer.rpartition("/")[2]
    return {
        at: "" if at.rpartition("/")[2] == last else name.removesuffix(f"_{last}")
        for at, field in fields_by_pointer().items()
        for name in (f"_{at.rpartition('/')[2]}", *field.schema.get("x-aliases", ()))
        if at != pointer and name.endswith(f"_{last}")
    }


def settle_owners(
    said: Sequence[Change | Choice], text: str, draft: Mapping[str, Any]
) -> list[Change | Choice]:
    """Return the values, with each revision and length moved to the field of its owner."""
    folded = fold(text)
    found = [
        part
        for each in said
        for part in _divided(each)
        if not (part.pointer == _REVISION and _NO_REVISION.fullmatch(str(_value(part))))
        if not (part.pointer == _IMAGE and not _IMAGE_NAME.search(str(_value(part))))
    ]
    files = [str(_value(each)) for each in found if each.pointer == _SOURCE]
    found = [
        each
        for each in found
        if each.pointer != _FORMAT
        or not any(file.endswith(f".{_value(each)}") for file in files)  # from the file name
    ]
    return [_settled(each, found, folded, draft) for each in found]


def _value(said: Change | Choice) -> Any:
    return said.value if isinstance(said, Change) else None


def _divided(each: Change | Choice) -> Iterator[Change | Choice]:
    """Yield an id without its revision, and the revision: "acme/chats@1f0c2d"."""
    match = _AT_REVISION.fullmatch(str(each.value)) if isinstance(each, Change) else None
    if match is None or each.pointer not in _FIELDS or not isinstance(each, Change):
        yield each
        return
    yield replace(each, value=match["id"])
    yield Change(pointer=_FIELDS[each.pointer], value=match["revision"], words=match["revision"])


def _settled(
    each: Change | Choice, said: Sequence[Change | Choice], folded: str, draft: Mapping[str, Any]
) -> Change | Choice:
    place = find_words(folded, fold(each.words))
    if place < 0:
        return each
    if (own := _labelled(each, folded[:place])) is not None:
        return replace(each, pointer=own)
    if (amount := _of_company(each, said, folded, place)) is not None:
        return amount
    if each.pointer == _LENGTH and _AMOUNT.fullmatch(fold(each.words)) is not None:
        first, last = find_around(_PART_END, folded, (place, place + len(each.words)))
        if _CHECK.search(folded[first:last]) is not None:
            return replace(each, pointer=_CHECKED_TOKENS)
    if each.pointer == _PRECISION and _is_stored(folded, place):
        return replace(each, pointer=_STORAGE)
    if each.pointer == _REVISION:
        owner = _owner(place, each.words, said, folded)
        moved = replace(each, pointer=owner)
        return ask_about(moved) if _is_unsure(owner, said) else moved
    if each.pointer == _RATE and _is_of_embeddings(folded, place, place + len(each.words)):
        return replace(each, pointer=_EMBEDDINGS_RATE)
    if each.pointer == _LENGTH and not any(other.pointer == _ANSWER for other in said):
        objective = next(
            (
                other.value
                for other in said
                if other.pointer == _OBJECTIVE and isinstance(other, Change)
            ),
            value_at(draft, _OBJECTIVE),
        )
        end = place + len(each.words)
        around = f"{_PART_END.split(folded[max(0, place - _NEAR) : place])[-1]}|{folded[place:end]}"
        around += f"|{re.split(r'[,;.]', folded[end : end + _NEAR])[0]}"
        if objective in REWARDED and _OF_ANSWERS.search(around):
            return replace(each, pointer=_ANSWER)
    return each


def _is_unsure(revision: str, said: Sequence[Change | Choice]) -> bool:
    """Return whether the owner of a revision is still a question, so that it may be another."""
    owners = [each for each in said if _FIELDS.get(each.pointer) == revision]
    return bool(owners) and all(isinstance(each, Choice) for each in owners)


def _labelled(each: Change | Choice, before: str) -> str | None:
    """Return the field that the words name in the section of the sentence's heading, if any."""
    first = find_around(_PART_END, before, (len(before), len(before)))[0]
    label = _LABEL.match(before[first:])
    if label is None or not isinstance(each, Change):
        return None
    words = [_SHORT.get(word, word) for word in _WORD.findall(fold(each.words))]
    own = [
        at
        for at in _fields_of(label["section"])
        if at.rpartition("/")[2] in words and admits(at, each.value)
    ]
    return own[0] if own and each.pointer not in _fields_of(label["section"]) else None


def _of_company(
    each: Change | Choice, said: Sequence[Change | Choice], folded: str, place: int
) -> Change | None:
    """Return an amount without a name as the field of its unit, in the section of its neighbour.

    In "KL at most 0.02, over 8,000 tokens", the tokens belong to that check and are not a length of
    rows.
    """
    amount = _AMOUNT.fullmatch(fold(each.words))
    if amount is None or not isinstance(each, Change):
        return None
    first, last = find_around(_PART_END, folded, (place, place + len(each.words)))
    places = [
        (at, other) for other in said if other is not each and other.words
        for at in (find_words(folded, fold(other.words)),) if first <= at < last
    ]  # fmt: skip
    before = [pair for pair in places if pair[0] < place]
    near = (
        max(before, key=itemgetter(0)) if before else min(places, key=itemgetter(0), default=None)
    )
    if near is None:
        return None
    unit = _SHORT.get(amount["unit"], amount["unit"])
    own = f"{near[1].pointer.rpartition('/')[0]}/{unit}"
    value = read_number(amount["number"], kilo=_KILO)
    if own not in fields_by_pointer() or value is None or not admits(own, as_written(value)):
        return None
    return replace(each, pointer=own, value=as_written(value))


def _is_stored(folded: str, place: int) -> bool:
    """Return whether a type is the storage type of quantized weights."""
    return _STORED.search(folded[:place]) is not None and _QUANTIZED.search(folded) is not None


@cache
def _fields_of(section: str) -> Sequence[str]:
    """Return the fields of the section with a name, at any depth."""
    return [at for at in fields_by_pointer() if at.split("/")[-2] == section]


def _is_of_embeddings(folded: str, start: int, end: int) -> bool:
    """Return whether a rate belongs to the embeddings before it: "train the embeddings, those"."""
    first, last = find_around(_PART_END, folded, (start, end))
    return (
        _THOSE.search(folded, first, last) is not None
        and _EMBEDDINGS.search(folded, max(0, start - _FAR), start) is not None
    )


def _owner(place: int, words: str, said: Sequence[Change | Choice], folded: str) -> str:
    """Return the field of a revision, by the last owner named before it or in its words."""
    for pointer, pattern in _OWNERS:
        if pattern.search(fold(words)):
            return pointer
    end = place + len(words)
    if (after := _OF_WHAT.match(folded, end)) is not None:
        for pointer, pattern in _OWNERS:
            if pattern.match(folded, after.end()):
                return pointer
        for each in said:
            if each.pointer in _FIELDS and folded.startswith(fold(each.words), after.end()):
                return _FIELDS[each.pointer]
    sentence = _PART_END.search(folded, end)
    near = [
        (match.end(), pointer)
        for pointer, pattern in _OWNERS
        for match in pattern.finditer(folded, 0, sentence.start() if sentence else len(folded))
    ]
    near += [
        (find_words(folded, fold(each.words)) + len(each.words), _FIELDS[each.pointer])
        for each in said
        if each.pointer in _FIELDS
    ]
    before = [pair for pair in near if pair[0] <= place]
    return max(before)[1] if before else _REVISION
