"""Decides whether the words around a value make it a request.

People also report ("my friend uses QLoRA", "it crashed at epoch 2"), quote, hope and complain, in
more ways than a list can have. A value is therefore set only if its clause begins with a request
verb ("classify my emails on a 4090"), if all its other words belong to a request (function words,
verbs of wanting or setting, technical terms or, for hardware, words of owning), or if its sentence
is unlike a report (`requested`). Otherwise ftc asks about the value.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from string import ascii_lowercase
from typing import Final

from ftc.tui.understanding.bare import DESCRIBED, hide_read
from ftc.tui.understanding.certainty import OWN_CONDITION, is_endorsed
from ftc.tui.understanding.learned.requested import find_features, report_score
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import QUOTES, WORDS, any_of
from ftc.tui.understanding.text.message import (
    SENTENCE_END,
    Span,
    find_around,
    find_places,
    fold,
)
from ftc.tui.understanding.text.ordinary import read_words
from ftc.tui.understanding.text.verbs import asking_forms, english_verbs, quiet_forms
from ftc.tui.understanding.wanted.orders import (
    COMMANDS,
    OBLIGES,
    ORDERS,
    OTHERS_SAY,
    REPEATS,
    SUBJECTS,
    WISHES,
    WORD,
    bare_forms,
    begins_as_request,
    is_enclitic,
)

#: Not the English "I", which people also write in lower case.
_CATALAN_AND: Final = (
    r"i(?!'|\s+(?:am|can|could|don't|got|had|have|like|need|think|tried|used|wanna|want|was"
    rf"|will|would|{'|'.join(sorted(english_verbs() - {'set', 'cap', 'export', 'train'}))})\b)"
)
CLAUSE_END: Final = re.compile(
    r"[!?;,\n()|]|:(?=\s)|\.(?=\s|$)|\s[-\u2013\u2014/\u00b7]\s|->|\u2192"
    r"|\b(?:but|pero|sino|because|since|porque|pues|perque|ja que|ya que|puesto que)\b"
    rf"|\b(?:and|then|so|{_CATALAN_AND}|y|e|luego|llavors|asi que|aixi que|o sea que)\b"
)
LONGEST_CLAUSE: Final = 400  # characters of a clause before or after the value
_AND: Final = re.compile(rf"\b(?:and|{_CATALAN_AND}|y|e)$")
_PLURAL: Final = re.compile(r"(?<=[a-z]{3})(?:es|s)$")
#: Several quoted words: somebody else's sentence.
_QUOTED: Final = re.compile(
    rf"(?<!\w){QUOTES}[^\"\n]{{0,200}}?\S\s+\S[^\"\n]{{0,200}}?{QUOTES}(?!\w)"
)
_CORRECTS: Final = re.compile(rf"\b{any_of(WORDS['corrects'])}(?!\w)")
#: The purpose of a value is no evidence against a request.
_PURPOSE: Final = re.compile(
    r"\b(?:for|per(?: al?s?)?|para) (?:the|my|our|his|her|their|el|la|els|les|los|las|l'|una?"
    r"|mis?|nuestr\w+|al|que)\b"
)
REPORTS: Final = re.compile(
    r"\b(?:say|says|said|tells?|told|uses|used|tried|heard|read|dicen?|dijo|dijeron|diu|diuen|dit"
    r"|usan?|usaba|probe|vaig|vam|he|va|was|were|had|has|is|are|es|son|era)\b"
)
#: The minimum number of fields in an expert's line, and of read fields for each unread word.
_FEWEST_OF_JARGON: Final = 3
_LEAST_READ: Final = 2
#: The words after the verb are what the writer wants or has, whatever the rest of the clause says:
#: "apart from the one that comes out, I also want the Q6_K", "at the bank we have one H100".
_BARE_BEFORE: Final = (
    r"(?: (?:also|tambe|tambien|just|only|nomes|solo|ara|ahora|now|ademas|a mes|ja|ya|please|a"
    r"|an|the"
    r"|my|our|one|el|la|els|les|los|las|l'|un|una|unes|unas|uns|unos|about))* ?$"
)
_WANTING: Final = (
    r"(?<!no )(?<!'t )(?<!not )\b(?:quiero|queremos|vull|volem|(?:i|we) (?:want|need)"
    r"|(?:i|we)(?:'d| would) like|necesito|necesitamos|necessito|necessitem|dame|dona'm|posa'm"
    r"|ponme|give me)"
)
#: A wish that may also be a dream of hardware.
_LIKED: Final = re.compile(
    r"(?<!no )\b(?:(?:i|we)(?:'d| would) (?:love|like) to|(?:m'|ens |me |nos )(?:agradaria"
    r"|gustaria)"
    rf"|voldri(?:a|em)|quisiera|quisieramos|querria|querriamos){_BARE_BEFORE}"
)
_WANTED: Final = re.compile(_WANTING + _BARE_BEFORE)
#: "on top of the Q4 I'd like a Q6_K": the verb is among the words of the value.
_WANTS_INSIDE: Final = re.compile(
    rf"{_WANTING}\b|\b(?:(?:m'|em |me |ens |nos )interess?a que|(?:i|we) (?:only "
    rf"|just )?care about)\b"
    r"|\b(?:take|throw|cut|drop|remove|strip|delete|chop|keep|leave) (?:it|them|those)\b"
)
_MACHINE: Final = (
    r"(?:laptop|pc|computer|desktop|box|rig|server|workstation|machine|portatil|ordinador|ordenador"
    r"|servidor|equip[oa]?|torre|sobretaula|sobremesa|maquina|estacio|estacion)"
)
_OWNED: Final = re.compile(
    r"(?<!no )(?<!que )(?<!si )(?<!if )\b(?:(?:i|we)(?:'ve| have)? (?:have|got|own|rent)"
    r"|(?:tengo|tenemos|tinc|tenim)|dispon(?:go|emos) de|dispos(?:o|em) (?:de|d')"
    r"|(?:cuento|contamos|compto|comptem) (?:con|amb)"
    rf"|(?:my|our|mi|nuestr[oa]|el meu|la meva|el nostre"
    rf"|la nostra) (?:[a-z]+ )?{_MACHINE}(?: [a-z]+)?"
    r" (?:has|comes with|runs|carries|tiene|lleva|trae|monta|te|porta|duu|munta))"
    rf"{_BARE_BEFORE}"
)
#: The writer says that a value is enough: "me basta con 3000 filas", "4 epoques ja va be".
_CONTENT_VERB: Final = (
    r"\b(?:(?:me|nos) (?:basta|vale|llega|conform\w+)|(?:em|ens) conform\w+|n'hi ha prou"
    r"|(?:en )?(?:tinc"
    r"|tenim) prou|tengo bastante|(?:i'?m|we'?re|i am|we are) (?:fine|happy|good|ok|okay))"
    r" (?:with|con|amb)"
)
_CONTENT_WITH: Final = re.compile(_CONTENT_VERB + _BARE_BEFORE)
_CONTENT_INSIDE: Final = re.compile(_CONTENT_VERB)
_CONTENT: Final = re.compile(
    r"\s*(?:ja |ya )?(?:(?:me|nos|em|ens) (?:vale|basta|llega|sobra|va be|va bien|serveix|sirve)"
    r"|en (?:tinc|tenim) prou|(?:ja|ya) (?:va be|va bien|esta be|esta bien|n'hi ha prou|basta|vale)"
    r"|n'hi ha prou|(?:is|are) (?:fine|plenty|enough|good|ok) (?:for|by|with) (?:me|us|now)"
    r"|(?:will|'ll) do(?=\s*(?:$|[.,;!)]|(?:me|us|nicely|fine|just|for now|to start)\b)))"
    r"(?=\s*(?:$|[.,;:!?)]|\w))"
)
#: A check of the files: "if it gets worse by 2 points, fail".
_FAILS: Final = re.compile(
    r"\b(?:if|when|whenever|si|quan|cuando)\b[^;!?\n]*\b(?:fail\w*|fall\w+|stop|atur\w+|par[ei]n?|error)\b"
    r"|\b(?:fail|falli|falle|falla|stop|que peti)\b[^;!?\n]*\b(?:if|when|si|quan|cuando)\b"
)
#: A statement that names something sets it: "the project there is called churn-replies".
_CALLED: Final = re.compile(
    r"\b(?:is called|is named|called|se llam[ae]|es diu|es digui|s'anomen\w+)\b"
)
_CHECKED: Final = "/export/verify/"
#: "q5 > q4" is a comparison.
_COMPARES: Final = re.compile(r"\s(?:[<>\u2264\u2265]|[<>]=)\s(?!\d)")
#: Beside a number of passes, a batch is the batch of one pass.
_BATCH: Final = "/training/global_batch"
_WHOLE_BATCH: Final = re.compile(r"\b(?:global|total|effective|efectiu|efectivo)\b")
_ACCUMULATES: Final = re.compile(r"\b(?:grad\w*[ _-])?(?:accum|acumul)")
#: "rank 8 no: 16".
_TAKEN_BACK: Final = re.compile(r",?\s+(?:no|not)\s*:")
#: An option of a command, or a key of code: "-p long", "push_to_hub acme/bot".
_OPTION: Final = re.compile(r"-|[a-z]+(?:_[a-z]+){2,}[ =:]")
#: Articles that also stand in shorthand: "an int8 base", "5% del pico".
_CONTRACTED: Final = frozenset({"a", "an", "al", "als", "del", "dels"})
_OBJECTIVE: Final = "/objective/type"
#: Thresholds of the score (`requested.report_score`), chosen by cross-validation. Below the first,
#: a value is set even if the words around it are unknown. Above the second, ftc asks about a value
#: instead of setting it.
SURELY_ASKED: Final = -3.0
SURELY_TOLD: Final = 0.5
#: A model may be followed by anything that it should learn, so only the words before it are
#: examined.
_MODEL: Final = "/model/id"
#: A price counts only if it is the price of a machine, which the words after it show.
_PRICE: Final = "/hardware/price_per_hour"


def find_unlicensed(text: str, changes: Sequence[Change], spans: Sequence[Span]) -> set[str]:
    """Return the pointers of changes whose clauses contain words that no request has.

    `spans` are the ranges of all words that had an effect, which are no evidence against a value.
    """
    if not changes:
        return set()
    bare = hide_read(text, spans)
    jargon = _is_jargon(text, bare, changes)
    return {
        change.pointer for change in changes if _is_unlicensed(bare, change, text, jargon=jargon)
    }


def list_features(text: str, change: Change, spans: Sequence[Span]) -> frozenset[str]:
    """Return the features of a change, from which its score is computed."""
    return _evidence(hide_read(text, spans), change, text)


def _evidence(bare: str, change: Change, text: str) -> frozenset[str]:
    places = find_places(text, change.words)
    return find_features(bare, places[0], change.pointer) if places else frozenset()


def is_examined(pointer: str) -> bool:
    """Return whether the words around a field's value are examined."""
    return pointer == _OBJECTIVE or not pointer.startswith((*DESCRIBED, *OWN_CONDITION))


def _is_unlicensed(bare: str, change: Change, text: str, *, jargon: bool) -> bool:
    if not is_examined(change.pointer) or _OPTION.match(change.words):
        return False
    if is_governed(text, change):
        return False
    score = report_score(_evidence(bare, change, text))
    if change.pointer == _OBJECTIVE:
        return score > SURELY_TOLD
    if score > SURELY_TOLD and not change.pointer.endswith("/id"):  # a name is a wish by itself
        return not _is_wished(bare, change, text)
    return _has_foreign(bare, change, text, jargon=jargon, lenient=score < SURELY_ASKED)


def is_governed(text: str, change: Change) -> bool:
    """Return whether a verb of wanting, or of having for a machine, is right before the value."""
    places = find_places(text, change.words)
    if not places or any(begin < places[0][0] < end for begin, end in find_quoted(text)):
        return False
    owned = change.pointer.startswith("/hardware/")
    folded = fold(text)
    before = folded[: places[0][0]]
    start, end = places[0]
    inside = _CONTENT_INSIDE.search(folded, max(0, start - len("nos ")), end)
    content = inside or _CONTENT_WITH.search(before) or _CONTENT.match(folded, end)
    if is_endorsed(folded, end):
        return True  # "the paper had seed 99, use the same one here"
    if OTHERS_SAY.search(folded[find_around(SENTENCE_END, folded, (start, end))[0] : start]):
        return False
    if content and change.pointer != _BATCH:  # "800 rows per step are enough": of which step?
        return True
    if _WANTS_INSIDE.search(folded, start, end):
        return True
    if not owned and _LIKED.search(before):
        return True
    return _WANTED.search(before) is not None or (owned and _OWNED.search(before) is not None)


def _is_wished(bare: str, change: Change, text: str) -> bool:
    """Return whether the clause of a change begins as a wish: "que recalcule ...", "let it"."""
    places = find_places(text, change.words)
    if not places:
        return False
    start, end = places[0]
    first = max(find_begin(bare, start), start - LONGEST_CLAUSE)
    order = f"{bare[first:start]}{fold(text)[start:end]}"
    if is_enclitic(order):
        return True
    quoted = find_quoted(text)  # words of an earlier quotation are no order
    apart = bool(quoted) and all(stop <= first for _, stop in quoted)
    return WISHES.match(order) is not None or (apart and begins_as_request(order))


def _is_jargon(text: str, bare: str, changes: Sequence[Change]) -> bool:
    """Return whether a message is an expert's line: it has no article, and most of it was read.

    The few unread words are then names and abbreviations, and not a report.
    """
    fields = {change.pointer for change in changes}
    if len(fields) < _FEWEST_OF_JARGON or not is_terse(text):
        return False
    words = [word for word in WORD.findall(bare) if "_" not in word]
    if SUBJECTS.intersection(words) - {"i"} or REPORTS.search(bare):
        return False
    foreign = [word for word in words if not _is_near(word, ("thing", "machine"))]
    return len(foreign) * _LEAST_READ <= len(fields)


def has_foreign_words(bare: str, change: Change, text: str) -> bool:
    """Return whether the clauses of a change have words that no request has, and no order."""
    return _has_foreign(bare, change, text, jargon=False, lenient=False)


def _has_foreign(bare: str, change: Change, text: str, *, jargon: bool, lenient: bool) -> bool:
    places = find_places(text, change.words)
    again = [each.span() for each in re.finditer(re.escape(change.words), text)]
    places = again if len(again) > 1 else places[:1]
    foreign = [_is_foreign(bare, change, text, place, known=jargon or lenient) for place in places]
    return bool(foreign) and all(foreign)


def _is_foreign(bare: str, change: Change, text: str, place: Span, *, known: bool) -> bool:
    """Return whether the clause around an occurrence of a change has a word that no request has."""
    start, end = place
    if any(begin < start and end < stop for begin, stop in find_quoted(text)):
        return True
    if _TAKEN_BACK.match(bare, end):
        return True
    told = fold(text)
    if (
        change.pointer == _BATCH
        and _ACCUMULATES.search(told)
        and not _ACCUMULATES.search(fold(change.words))
        and not _WHOLE_BATCH.search(fold(change.words))
    ):
        return True
    if is_endorsed(fold(text), end):
        return False
    first = max(find_begin(bare, start), start - LONGEST_CLAUSE)
    whole, bare = bare, f"{bare[:start]}{'_' * (end - start)}{bare[end:]}"
    last = CLAUSE_END.search(bare, end, end + LONGEST_CLAUSE)
    stop = last.start() if last else min(len(bare), end + LONGEST_CLAUSE)
    stop = start if change.pointer == _MODEL else stop
    purpose = None if change.pointer == _PRICE else _PURPOSE.search(bare, end, stop)
    if purpose is not None:  # the purpose does not matter
        stop = purpose.start()
    if _COMPARES.search(fold(text)[first:stop]):
        return True
    if known:
        return False
    words = WORD.findall(bare[first:stop])
    if not words and (joined := _AND.search(bare[:first])):  # "and zero2" ends another clause
        words = WORD.findall(bare[find_begin(whole, joined.start()) : first])
    order = f"{bare[first:start]}{fold(text)[start:end]}"
    if begins_as_request(order):
        return False
    if COMMANDS.match(text[first:end]) or is_ordered(bare, first, change) or ORDERS.match(order):
        return False
    if REPEATS.match(order) or WISHES.match(order) or OBLIGES.search(bare, first, stop):
        return False
    if isinstance(change.value, str) and _CALLED.search(fold(change.words)):
        return False
    if change.pointer.startswith(_CHECKED) and _FAILS.search(told):
        return False
    owning = ("machine",) if change.pointer.startswith("/hardware/") else ()
    return not all(is_known(word, ("thing", *owning)) for word in words)


def is_known(word: str, things: tuple[str, ...]) -> bool:
    """Return whether a word belongs to a request; a verb with a third-person ending does not.

    Every part of a compound must be known: "fine-tuned" is a past form, so it is not.
    """
    verbs = _verbs()
    nouns = read_words(things)
    forms = bare_forms(word)
    if not nouns.isdisjoint({*forms, *(_PLURAL.sub("", form) for form in forms)}):
        return True
    parts = word.split("-")
    return not verbs.isdisjoint(forms) or (
        len(parts) > 1 and all(is_known(part, things) for part in parts)
    )


def is_request_word(word: str) -> bool:
    """Return whether a request word may precede a noun: a function word, a thing, a machine."""
    forms = bare_forms(word)
    words = read_words(("grammar", "request", "thing", "machine", "lead", "determiner"))
    return not words.isdisjoint({*forms, *(_PLURAL.sub("", form) for form in forms)})


@cache
def _verbs() -> frozenset[str]:
    return frozenset(read_words(("grammar", "request")) | asking_forms() | quiet_forms())


def is_ordered(bare: str, first: int, change: Change) -> bool:
    """Return whether a sentence begins with a verb and its object, like an order.

    People also report about machines in this form: "sold my 3090".
    """
    before = bare[:first].rstrip()
    begins = not before or before[-1] in ".,;:!?"
    owned = change.pointer.startswith("/hardware/")
    return begins and not owned and ORDERS.match(bare, first) is not None


@cache
def _is_near(word: str, things: tuple[str, ...]) -> bool:
    """Return whether a word is known, or differs from a known word in one letter: "kep"."""
    parts = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    swapped = (f"{a}{b[1]}{b[0]}{b[2:]}" for a, b in parts if len(b) > 1)
    shorter = (f"{a}{b[1:]}" for a, b in parts if b)
    longer = (f"{a}{letter}{b}" for a, b in parts for letter in ascii_lowercase)
    return any(is_known(each, things) for each in (word, *swapped, *shorter, *longer))


def find_begin(bare: str, place: int) -> int:
    """Return where the clause of a place begins."""
    ends = _find_ends(bare)
    before = bisect_right(ends, place)
    return ends[before - 1] if before else 0


@lru_cache(maxsize=8)
def _find_ends(bare: str) -> Sequence[int]:
    return [match.end() for match in CLAUSE_END.finditer(bare)]


@lru_cache(maxsize=8)
def find_quoted(text: str) -> Sequence[Span]:
    """Return the ranges of the quoted sentences of a text."""
    return [match.span() for match in _QUOTED.finditer(text)]


def is_terse(text: str) -> bool:
    """Return whether a text has no article, like a line of shorthand.

    Words of correction are ignored: "T=0.9, no scratch that 0.7".
    """
    words = set(WORD.findall(_CORRECTS.sub(" ", _QUOTED.sub(" ", fold(text)))))
    return words.isdisjoint(read_words(("determiner",)) - _CONTRACTED)
