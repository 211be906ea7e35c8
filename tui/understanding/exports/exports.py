"""Reads which GGUF types to export or remove, and whether to export the adapter."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, get_args

from ftc.spec.sections import GgufType
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import CORRECTING, WORDS, any_of
from ftc.tui.understanding.text.message import Message, Span

#: Every type by its name with any separators, then by its common short names.
_NAMES: Final = [
    *(
        (kind.lower().replace("_", "[ _-]?"), kind)
        for kind in sorted(get_args(GgufType), key=len, reverse=True)
    ),
    *((word, kind) for kind, words in WORDS["gguf"].items() for word in words),
]
_TYPES: Final = tuple(
    (re.compile(rf"(?<![\w-]){word}(?!\w)"), kind)
    for word, kind in _NAMES
    if kind not in ("F16", "BF16") or "gguf" in word
)
_ANY_GGUF: Final = re.compile(rf"\b{any_of(WORDS['any_gguf'])}\b")
_WIDTH: Final = f"(?:{'|'.join(WORDS['bits'])})"
_JOIN: Final = r"(?:(?:\s*,)?\s+(?:and|y|i|also|tambien|tambe|de|a|in|at|en))+\s+"
#: "4 bits", "4 and 8 bits", "de 4 y de 8 bits", "4 bits and also 8".
_BITS: Final = re.compile(
    rf"\b(?P<all>(?:{_WIDTH}(?:\s*,\s*|{_JOIN}))*{_WIDTH}[ -]?bits?"
    rf"(?:{_JOIN}{_WIDTH}(?=\s*(?:$|[.,;!]|bits?\b)))*(?: bits?)?)\b"
)
#: "not 4 bits any more, make it 8".
_OTHER_BITS: Final = re.compile(
    rf"[^.;!?\n\d]{{0,16}}[,;.]\s*(?:make it|but|better|rather|put|mejor|millor|sino|fes-lo"
    r"|fes-ne|hazlo|ponlo|posa'l|que sigui|que sea)\s(?:in |at |an? |de |en |a |d'|un )?"
    rf"(?P<width>{_WIDTH})(?:[ -]?bits?)?"
    r"(?=\s*(?:$|[.,;!]))"
)
_ADAPTER: Final = re.compile(rf"\b(?:the |l'|el )?{any_of(WORDS['adapter_gguf'])}\b")
_FLOATS: Final = re.compile(r"\bb?f16\b")
_JOINT: Final = re.compile(r"\s*(?:\+|/|&|and|i|y)\s*")
_MORE: Final = re.compile(rf"\b{any_of(WORDS['more'])}\b")
#: "also load it in 4 bits" is about training, not about an export.
_TRAINS: Final = re.compile(
    r"\b(?:train\w*|load\w*|base|q?lora|optimi[sz]er|adam\w*|optimitzador|optimizador|teacher|prof\w*"
    r"|model[eo]?|entren\w+|carreg\w+|carg\w+)\b"
)
_CLAUSE_END: Final = re.compile(r"[,;.!?\n]|\b(?:and|plus|y|i)\b")
#: "no export", "sense exportar": no file at all.
_NO_EXPORT: Final = re.compile(rf"\b{any_of(WORDS['no_export'])}(?!\w)")
#: "the adapter, don't export it".
_ADAPTER_BEFORE: Final = re.compile(r"\b(?:adapter|adaptador)\b,?\s*$")
#: The bits of an export, which are not those of training.
_EXPORTED_BITS: Final = re.compile(
    rf"\bexport\w*\s+(?:\w+\s+){{0,2}}?(?:in|at|as|to|en|a|amb|con)\s+{_WIDTH}[ -]?bits?\b"
)
#: "no GGUF of 4 bits" leaves others.
_OF_BITS: Final = re.compile(rf"\s+(?:of|in|at|de|a|en|amb|con)\s+{_WIDTH}[ -]?bits?\b")
#: "q4_k_m... no wait, q8".
_CORRECTED: Final = re.compile(CORRECTING)
#: "I'd rather have q5 than q4".
_PREFERRED: Final = re.compile(
    r"\b(?:rather|prefer\w*|better|sooner|mejor|millor|abans)\b[^.;!?\n]*"
    r"\b(?:than|to|que(?: no)?|a|al)\s+(?:the |an? |el |la |un |una )?$"
)
#: "a notch above q4": the type of the comparison.
_COMPARED: Final = re.compile(
    r"\b(?:above|over|better than|more than|bigger than|higher than|up from|per sobre de|millor que"
    r"|mes que|por encima de|mejor que|mas que)\s+(?:the |an? |el |la |un |una )?$"
)
#: "out with the q4": a type that is removed.
_AWAY: Final = re.compile(
    r"\b(?:fora|fuera|out with|scratch|ditch|lose|bin|chuck|axe|nix|treu(?:-li|-me)?"
    r"|quita(?:le|me)?|saca|elimina|borra|esborra|suprime|suprimeix|retira|lleva(?:-li|-me)?"
    r"|trau(?:-li)?|prou de)"
    r"\s+(?:the |el |la |els |les |los |las )?$"
)
#: "swap the q4 for q5 and q8": the type before the word of exchange is removed.
_EXCHANGED: Final = re.compile(
    r"\b(?:swap|replace|change|switch|trade|exchange|move|go|canvi\w*|substitu\w*|reempla[cz]\w*"
    r"|passa\w*|cambi\w*|sustitu\w*|pasa\w*)(?:-me|-li)?\s(?P<out>[^,;:.!?\n]*?)"
    r"\s?\b(?:for|to|with|by|into|per|pels?|amb|por|con|al?)\s"
)
#: "where it says Q4 it should be Q5", "on posa Q4 hi ha d'anar Q5".
_WRITTEN: Final = re.compile(
    r"\b(?:where|on|alla on|donde|ahi donde) (?:it |hi )?(?:says|reads|has|posa|diu|pone|dice)\s"
    r"(?P<out>[^,;:.!?\n]{2,12}?)"
    r"[,\s]+(?:it|that|hi|ha|va|vull|voldria|volia|deberia|tiene|quiero|queria|should|must|put|i)\b"
)
#: "only the Q8", "em quedo nomes amb el Q6".
_ONLY: Final = re.compile(
    r"\b(?:only|just|nomes|solo|solament|solamente|unicament|unicamente)"
    r"\s+(?:(?:the|a|an|el|la|un|una|amb|con|keep|want|en)\s+)*$"
)
#: "anything but qlora, I don't want to quantize": about the trained weights.
_VERB: Final = re.compile(r"quanti[sz]e|(?:qua|cua)ntit?[zsf]\w*r\b|cuanti\w+r\b")
_LORA: Final = re.compile(r"q?lora\b")
#: "una cosa mes petita": a comparative, and not another type.
_COMPARATIVE: Final = re.compile(
    r"\b(?:mes|mas) (?!(?:un|una|el|la|els|les|los|las|que|amb|con|sisplau|porfa)\b)[a-z]{4,}"
)
#: "and drop the other one"; not "sin quitar el que hay".
_OTHER_OUT: Final = re.compile(
    r"(?<!sin )(?<!sense )(?<!without )(?<!no )(?<!not )(?<!n't )"
    r"\b(?:drop|remove|delete|lose|ditch|skip|forget|quita\w*|saca\w*|borra\w*|elimina\w*|treu\w*|esborra\w*"
    r"|descarta\w*|olvida\w*|oblida\w*)(?:-me|-li)? (?:(?:the |el |la |los |las |els |les )"
    r"(?:others?|otr[oa]s?|altres?|rest[oa]?|old|viej[oa]|vella?|que hi ha|que hay)|l'altr[ea])\b"
)
#: "q4 -> q6".
_ARROW: Final = re.compile(r"\s*(?:->|=>|\u2192)\s*")
#: "the Q4 I'd swap for a Q6", "el Q4 canvia'l per un Q6": between the two types.
_EXCHANGED_IT: Final = re.compile(
    r"[^.;!?\n]{0,24}?\b(?:(?:swap|change|replace|trade|exchange|switch|turn|convert)(?:ed|d)?"
    r"(?: it| that)?(?: out)? (?:for|to|with|by|into)"
    r"|(?:canvi|substitu|reempla|pass|convert)\w*(?:'l|-l[aeo]|-ho)? (?:per|a|amb|en)"
    r"|(?:cambi|sustitu|reempla|pas|conviert)\w*l[ao] (?:por|a|con|en))"
    r"\s+(?:(?:the|an?|el|la|un|una)\s+)?",
)
_BOTH: Final = re.compile(
    r"\b(?:both|(?:els|les|los|las|totes) (?:dos|dues)|ambdos|ambdues|ambos|ambas)\b"
)
_USUAL: Final = "Q4_K_M"
#: The maximum number of characters between a type and a word for its files, to belong together.
_FARTHEST: Final = 40
#: The maximum number of words in a text that names only bits.
_BARE_WORDS: Final = 5


#: The position of a type's name, the type, and whether it is negated.
Found = tuple[int, int, str, bool]


def read_exports(message: Message, have: Sequence[str]) -> Iterator[Change | Choice]:
    """Yield the new list of types; `have` is the draft's list.

    Named types replace the list, or are added if the message says so. Negated types are removed.
    """
    more = _adds(message.folded)
    without = any(message.denied(each.start()) for each in _ANY_GGUF.finditer(message.folded))
    for match in message.take(_ADAPTER):
        words, wanted = message.words(*match.span()), not message.denied(match.start())
        if not (wanted and without):  # "no gguf, only the adapter": no GGUF either
            yield Change(pointer="/export/adapter", value=wanted, words=words)
    found = _without_exchanged(message, sorted(_find(message)))
    for match in list(_EXPORTED_BITS.finditer(message.folded)) if found else ():
        message.cross_out(*match.span())  # "where it exported in 4 bits, F16"
    none = None if found else _NO_EXPORT.search(message.folded)
    if none is not None and (own := _ADAPTER_BEFORE.search(message.folded[: none.start()])):
        words = message.words(own.start(), none.end())
        message.cross_out(own.start(), none.end())
        yield Change(pointer="/export/adapter", value=False, words=words)
        none = None
    if none is not None and not _OF_BITS.match(message.folded, none.end()):
        message.cross_out(*none.span())
        yield Change(pointer="/export/types", value=[], words=message.words(*none.span()))
        return
    if found:
        floats = _find_floats(message, found[0][0]) if more else _find_joined(message, found)
        found = sorted([*found, *floats])
    if (
        _ANY_GGUF.search(message.folded)
        or _removes_bits(message, have)
        or _adds_bits(message, have)
        or any(message.replaced(each[0]) or each[-1] for each in found)
        or (found and more and not _TRAINS.search(message.folded))
    ):
        found = sorted([*found, *_find_bits(message)])
    if any(_alone(message, each) for each in found):
        more = False
        found = [each for each in found if each[-1] or _alone(message, each)]
    general = [
        (m.start(), m.end(), message.denied(*m.span()) or _is_away(message, m.start()))
        for m in message.take(_ANY_GGUF)
        if not (_VERB.match(m[0]) and _LORA.search(message.plain) and message.denied(m.start()))
    ]
    said, found = found, _without_corrected(message, _without_replaced(message, found))
    if not found and not general:
        return
    named = [each[:2] for each in (said if found else ())]
    places = [*named, *(each[:2] for each in general if _is_near(each, named))]
    start, end = min(place[0] for place in places), max(place[1] for place in places)
    corrected = {each[2] for each in said} - {each[2] for each in found}
    types = choose_types(found, [each for each in have if each not in corrected], more=more)
    if not found:
        types = [] if general[0][2] else list(have) or [_USUAL]
    elif not types and (other := _other_wanted(message, found, general)) is not None:
        yield Choice(pointer="/export/types", values=(), words=message.words(*other))
        return
    yield Change(pointer="/export/types", value=types, words=message.words(start, end))


def _is_near(place: tuple[int, int, bool], named: Sequence[Span]) -> bool:
    """Return whether a word for the files is near the named types, or there are none."""
    start, end, _ = place
    return not named or any(max(start - last, first - end) <= _FARTHEST for first, last in named)


def is_type(name: str) -> bool:
    """Return whether a folded word names a GGUF type: "q5_k_m", "q8"."""
    return any(pattern.fullmatch(name) for pattern, _ in _TYPES)


def _adds(folded: str) -> bool:
    """Return whether a message adds types; "something smaller" and "drop the other" do not."""
    told = _COMPARATIVE.sub(" ", folded)
    return _MORE.search(told) is not None and _OTHER_OUT.search(folded) is None


def _alone(message: Message, found: Found) -> bool:
    """Return whether a type is the only requested one: "just the Q6"; not "only Q4 and Q8"."""
    start, end, _, denied = found
    before = _ONLY.search(message.plain[:start])
    return not denied and before is not None and not _JOINT.match(message.plain, end)


def _without_corrected(message: Message, found: list[Found]) -> list[Found]:
    """Return the types without those that the words before the next one retract."""
    if _BOTH.search(message.folded):
        return found
    kept: list[Found] = []
    for each in found:
        between = (message.folded, kept[-1][1], each[0]) if kept else None
        replaces = (_CORRECTED, _ARROW, _EXCHANGED_IT)
        if between and any(pattern.fullmatch(*between) for pattern in replaces):
            kept.pop()
        kept.append(each)
    return kept


def _without_exchanged(message: Message, found: list[Found]) -> list[Found]:
    """Return the types, with those that are exchanged for the following ones marked as negated."""
    out = [match.span("out") for match in _EXCHANGED.finditer(message.plain)]
    out += [match.span("out") for match in _WRITTEN.finditer(message.plain)]
    out = [
        (first, last)
        for first, last in out
        if any(last < start and not denied for start, _, _, denied in found)
    ]
    return [
        (start, end, kind, denied or any(first <= start < last for first, last in out))
        for start, end, kind, denied in found
    ]


def _other_wanted(
    message: Message, found: Sequence[Found], general: Sequence[tuple[int, int, bool]]
) -> Span | None:
    """Return the position of a separate clause that requests an export whose type was not read.

    For "remove the q4 and give me a gguf that is really good", ftc asks about the type.
    """
    for start, end, denied in general:
        apart = all(
            _CLAUSE_END.search(message.plain, min(end, each[1]), max(start, each[0]))
            for each in found
        )
        if apart and not denied and not _is_away(message, start):
            return start, end
    return None


def _is_away(message: Message, start: int) -> bool:
    """Return whether the words before a place remove what it names: "scratch the gguf"."""
    return _AWAY.search(message.plain[:start]) is not None


def _without_replaced(message: Message, found: list[Found]) -> list[Found]:
    """Return the types without those after "instead of", if no other type is requested."""
    if any(not denied for *_, denied in found):
        return found
    return [each for each in found if not message.replaced(each[0])]


def read_bits(text: str) -> tuple[str, ...]:
    """Return the types that a text names by their bits alone, such as "4 bits, please"."""
    folded = Message(text).folded
    found = _BITS.search(folded)
    is_bare = found is not None and len(re.findall(r"\w+", folded)) <= _BARE_WORDS
    if found is None or not is_bare:
        return ()
    return tuple(WORDS["bits"][width] for width in re.findall(_WIDTH, found["all"]))


def _find(message: Message) -> Iterator[Found]:
    """Yield each named type with its position, and whether it is negated."""
    for pattern, kind in _TYPES:
        for match in message.take(pattern):
            before = message.folded[: match.start()]
            if _COMPARED.search(before):
                continue
            other = _PREFERRED.search(before) is not None or _AWAY.search(before) is not None
            end = None if _BOTH.search(message.plain) else match.end()
            yield *match.span(), kind, other or message.denied(match.start(), end)


def _find_floats(message: Message, start: int) -> Iterator[Found]:
    """Yield the 16-bit types that follow another type, as in "q8, and also bf16"."""
    for match in _FLOATS.finditer(message.folded, start):
        yield *match.span(), match[0].upper(), message.denied(*match.span())
        message.cross_out(*match.span())


def _find_joined(message: Message, found: Sequence[Found]) -> Iterator[Found]:
    """Yield the 16-bit types in a list of types: "gguf: bf16 + iq3_xxs"."""
    for match in list(_FLOATS.finditer(message.folded)):
        places = [(min(match.end(), each[1]), max(match.start(), each[0])) for each in found]
        if any(_JOINT.fullmatch(message.folded[first:last]) for first, last in places):
            yield *match.span(), match[0].upper(), message.denied(*match.span())
            message.cross_out(*match.span())


def _find_bits(message: Message) -> Iterator[Found]:
    """Yield the types that are named only by their bits, if the message is about GGUF.

    "adamw 8bit, gguf" names the bits of an optimizer.
    """
    for match in list(_BITS.finditer(message.folded)):
        before, behind = message.folded[: match.start()], message.folded[match.end() :]
        clause = _CLAUSE_END.split(before)[-1] + match[0] + _CLAUSE_END.split(behind)[0]
        if _TRAINS.search(clause) and not _ANY_GGUF.search(clause):
            continue
        if match["all"].startswith("16") and not _ANY_GGUF.search(clause):
            continue  # "a folder in 16 bits" is not a GGUF file
        denied = message.denied(match.start())
        other = _OTHER_BITS.match(message.folded, match.end()) if denied else None
        message.cross_out(*match.span())
        for width in re.findall(_WIDTH, match["all"]):
            yield *match.span(), WORDS["bits"][width], denied
        if other is not None:
            message.cross_out(*other.span())
            yield *other.span(), WORDS["bits"][other["width"]], False


def _removes_bits(message: Message, have: Sequence[str]) -> bool:
    """Return whether the message negates the width of a type in the draft: "no 4 bit either"."""
    match = _BITS.search(message.folded)
    if match is None or not message.denied(match.start()):
        return False
    return any(WORDS["bits"][width] in have for width in re.findall(_WIDTH, match["all"]))


def _adds_bits(message: Message, have: Sequence[str]) -> bool:
    """Return whether a clause adds a width to the types of the draft: "the 8-bit one too"."""
    match = _BITS.search(message.folded)
    if match is None or not have:
        return False
    clause = message.clause(*match.span())
    return _MORE.search(clause) is not None and _TRAINS.search(clause) is None


def choose_types(found: Sequence[Found], have: Sequence[str], *, more: bool) -> list[str]:
    """Return the new list: named types replace or extend the draft's, negated ones are removed."""
    wanted = [kind for _, _, kind, denied in found if not denied]
    unwanted = {kind for _, _, kind, denied in found if denied}
    base = have if more or not wanted else ()
    return list(dict.fromkeys([*(kind for kind in base if kind not in unwanted), *wanted]))
