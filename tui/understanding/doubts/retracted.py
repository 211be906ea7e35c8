"""Values that a later part of the message retracts: "seed 1234 ... no wait, leave the seed"."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ftc.spec.schema import choices, fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.certainty import REVISED
from ftc.tui.understanding.fields.relative import read_factor, scale
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.reading import Change, Choice, ask_about
from ftc.tui.understanding.text.lexicon import CORRECTING, NUMBER, QUOTES, WORDS, any_of
from ftc.tui.understanding.text.message import (
    SENTENCE_END,
    Message,
    find_around,
    find_places,
    find_words,
    fold,
)
from ftc.tui.understanding.text.numbers import as_written, read_number
from ftc.tui.understanding.text.ordinary import is_ordinary

_COLUMNS: Final = "/data/columns/"
_KEPT: Final = re.compile(rf"\b{any_of(WORDS['kept'])}(?!\w)")
_KEPT_BEFORE: Final = re.compile(
    rf"\b{any_of(WORDS['kept'])}\s+(?:(?:the|el|la|els|les|los|las)\s+)?$"
)
_KEPT_IT: Final = re.compile(
    rf"\b{any_of(WORDS['kept'])}(?:\s+(?:it|that|them|ho|lo|la)|-(?:ho|la|lo|les|los)|l[oa]s?)?"
    rf"(?:\s+{any_of(WORDS['as_is'])})?\s*(?:[.,;!?]|$|(?:que|perque|porque|because|since)\b)"
)
_ENDS: Final = re.compile(rf"\s*(?:$|[.,;:!?]|{any_of(WORDS['as_is'])}\b)")
_AGAIN: Final = r"[\s,.]*(?:(?:the|la|el)\s+)?(?:columna?\s+)?"

#: "5 epochs, sorry I meant 4": the number with which words of correction replace a value.
_INSTEAD: Final = re.compile(
    r"(?:\s+[a-z]{2,12})?"
    r"(?:\s*(?:com a molt|com a maxim|como mucho|como maximo|at most|max|or so|o asi|tops))?"
    rf"(?:{CORRECTING}|\s*(?:->|=>|\u2192)\s*)(?:(?:every|each|cada|after|al?|en|de)\s+)?(?P<number>{NUMBER})\s*(?P<share>%)?(?P<unit>\s+[a-z]+)?(?=\s*(?:$|[.,;:!?)]))"
)

#: "42 is a boring seed, put 1337": an order with nothing but a number.
_ORDERED: Final = re.compile(
    r"[^.;:!?\n\d]{0,40}[.,;:!]\s*(?:(?:so|just|then|please|better|doncs|pues|aixi que|asi que"
    rf"|mejor|millor)\s+)*(?:{any_of(WORDS['put'])})\s+(?:(?:it|to|at|a|en)\s+)*(?P<number>{NUMBER})"
    r"\s*(?P<share>%)?(?P<unit>(?!))?(?=\s*(?:$|[.;!?)]|,(?!\d)))"
)
#: "alpha 8... 16, sorry": the words of correction follow the new number.
_SORRY_AFTER: Final = re.compile(
    rf"\s*(?:\.{{2,}}|\u2026|,|\u2013|\s-)\s*(?P<number>{NUMBER})\s*(?P<share>%)?(?P<unit>(?!))?,?\s+"
    r"(?:sorry|i mean(?:t)?|my bad|perdon|perdo|perdona|disculpa|volia dir|vull dir|queria decir"
    r"|quiero decir)(?=\s*(?:$|[.,;!)]))"
)
#: "a batch of 16, sorry, 16 per GPU"
_OF_ONE_CARD: Final = re.compile(
    rf"{CORRECTING}(?P<number>{NUMBER})\s+(?:per|for each|on each|on every|por|para cada|a cada)"
    r"\s+(?:gpu|card|device|targeta|tarjeta|grafica)\b"
)
_GLOBAL, _MICRO = "/training/global_batch", "/training/micro_batch"
#: "1912... no, hold on, that's unlucky. 1805."
_LAST_SAID: Final = re.compile(
    rf"(?:\s+[a-z]{{2,12}})?{CORRECTING}[^.!?\n\d]{{0,60}}[.!]\s+(?P<number>{NUMBER})\s*(?P<share>%)?\s*[.!]?\s*$"
)
_CORRECTED_BY: Final = re.compile(rf"{CORRECTING}(?P<rest>[^.,;!?\n]{{2,30}})")
_GAP: Final = r"[\s,.;:!\u2026-]*"
#: "DoRA... well no, it is slow": retracted without a replacement.
_NOT_SO: Final = re.compile(
    r"[\s,.;:\u2026-]*(?:(?:actually|well|hmm+|oh|wait|bueno|be|mejor|millor|better|uy|ui|ai|ay|pero|but"
    r"|on second thoughts?)[\s,.]*)*(?<=[.,;:\u2026\s])(?:no|nope|mejor no|millor no|better not)"
    r"(?=[,.;!]|\s*$|\s(?:que|perque|porque|because|don'?t|mejor no|millor no)\b)"
)
#: "tensorboard I never look at, remove it".
_REMOVED_IT: Final = re.compile(
    r"[^.;:!?\n]{0,40}?[,;]\s*(?:so |and |just |please |aixi que |asi que |i |y )*"
    r"(?:(?:remove|drop|disable|delete) (?:it|that)|get rid of (?:it|that)"
    r"|(?:take|turn|switch) (?:it|that) (?:out|off|away)"
    r"|(?:treu|elimina|apaga|desactiva|esborra)(?:-l[ao]|-ho|'l)"
    r"|(?:quit|elimin|apag|desactiv|borr)al[oa]|fora|fuera)(?=\s*(?:$|[.,;!]))"
)
#: "repair encoding off", "liger fora".
_OFF_AFTER: Final = re.compile(
    r"\s*[:=]?\s*(?:(?:is|to|at|set to|es|a|en)\s)?"
    r"(?:off|fora|fuera|disabled|desactiva[dt][oa]?|apaga[dt][oa]?)"
    r"(?=\s*(?:$|[.,;!|/)\n]|(?:and|i|y)\b))"
)
#: "fora packing".
_OUT_BEFORE: Final = re.compile(r"(?<!\w)(?:fora|fuera)\s+(?:(?:el|la|de|del|d')\s*)?$")
#: "in the column draft... sorry, in final": another name replaces the first.
_OTHER_NAME: Final = re.compile(
    rf"{CORRECTING}(?P<placed>(?:(?:in|a|en|the|la|el|it is|it's|es|columna?|field|camp)\s+)+)?"
    rf"(?<!\w){QUOTES}?(?P<name>[a-z_][\w.-]*\w|[a-z]){QUOTES}?(?=\s*(?:$|[,;!)\n]|\.(?:\s|$)))"
)
#: Fields whose readers see both names.
_OWN_NAMES: Final = frozenset({"/model/id", "/objective/teacher/id", "/data/source"})
_CLEANING: Final = "/data/cleaning/"
#: "no duplicates... well, leave them".
_KEPT_THEM: Final = re.compile(
    r"\b(?:leave|keep) them\b|\b(?:deja|conserva|manten)l[oa]s\b"
    r"|\b(?:deixa|conserva|mante)(?:'ls|-l[eo]s)(?!\w)"
)
#: "every 100 steps, sorry, every two fifty": corrected, but to what?
_TAKEN_BACK: Final = re.compile(CORRECTING + rf"(?:(?:every|each|cada)\s+){NUMBER}")

#: "rank 8, alpha 64. No, swap them"; "not the other way round" changes nothing.
_EXCHANGED: Final = re.compile(
    rf"(?:^|[.,;:!?\u2026-]\s*)(?:{any_of(WORDS['hesitate'])}{_GAP})*(?:{any_of(WORDS['corrects'])}{_GAP})*"
    r"(?:(?:i|we|yo|jo|nosotros|nosaltres)(?:'d)? )?(?:(?:need|want|like|do"
    r"|(?:lo )?(?:quiero|queremos|necesito|necesitamos)"
    r"|(?:ho )?(?:vull|volem|necessito|necessitem))"
    r"\s+(?:(?:it|that|them|this) )?(?:(?:exactly|precisely|exactamente|exactament|justo|just) )?)?"
    r"(?:(?:just )?(?:swap|switch|exchange) (?:them|those|these|the two|both)(?: (?:around|round"
    r"|over))?"
    r"|(?:it'?s |make (?:it|that) )?(?:the )?other way (?:a)?round|vice versa|(?:in )?reverse"
    r"|(?:intercanvia|gira|canvia)(?:'ls|-los|-les)(?: de lloc)?|(?:intercambia|cambia)l[oa]s(?:"
    r" de sitio)?"
    r"|(?:es |son )?(?:justo |just )?al reves|a l'inreves|al contrario|al contrari)(?!\w)"
)

_NUMBER: Final = re.compile(rf"\d|(?<!\w){NUMBER}")
_PAIR: Final = 2
_BROKEN_OFF: Final = re.compile(
    r"\s*(?:\.{3}|\u2026)\s*(?:(?:oh|ah|ai|ay|uy|ui)\s+)?(?:no|nah|nope|wait|espera)\s*[,.:;!]"
    # words that restore the value: "q8... no, wait, both"
    r"(?!(?:\s*(?:wait|espera|hmm+|mira)\s*[,.:;!])*\s*(?:both|els dos|les dues|los dos|las dos"
    r"|ambdos|ambdues|ambos|ambas|all (?:of them|two|three)|tots|totes|todos|todas)(?!\w))"
)
#: A word that is a value: "qlora", "zero2".
_ONE_WORD: Final = re.compile(r"[a-z][\w-]{3,}")

#: "I have a lore.jsonl, but don't use it yet": a pronoun retracts the nearest value.
_UNUSED_IT: Final = re.compile(
    r"(?<=[\s,;.(])(?:(?:(?:do not|don'?t|dont|please don'?t|let'?s not|never|not going to|won'?t)"
    r"\s+(?:(?:yet|just|even|actually)\s+)?"
    r"(?:use|add|put|set|include|take|load|pick|touch|write|enter|note|apply|count)"
    r"\s+(?:it|that|this|them|those|that one|this one)(?: (?:in|down|on))?"
    r"|(?:leave|keep) (?:it|that|this|them|those) out(?: of (?:it|this))?)"
    r"|no (?:l'|(?:el|la|lo|ho|els|les|los|las|en|hi)\s)(?:hi )?"
    r"(?:(?:pos|us|agaf|afeg|inclo|incl|apunt|carregu|toqu|fiqu|fac|escr|utilitz|compt|tri)\w*?(?:is|eu|im|em|guis)"
    r"|(?:facis|feu|fem) servir"
    r"|(?:pong|us|coj|met|anad|incluy|apunt|cargu|toqu|escrib|utilic|cuent|elij|agregu)\w*?(?:as|es|ais|eis|amos|emos)))"
    r"(?:\s+(?:yet|for now|now|just yet|still|encara|ara|ara per ara|de moment|per ara|todavia|aun"
    r"|ahora|por ahora|de momento|pas|eh))*(?=\s*(?:$|[.,;:!?)\n]))"
)
_PAUSES: Final = re.compile(r"[.!?;\n](?=\s|$)")
_OVERLONG: Final = "/data/cleaning/overlong"
#: "cut the long ones, no sorry, drop them".
_ACTS: Final = tuple(
    (act, re.compile(rf"(?:\s+[a-z]{{2,12}})?{CORRECTING}{any_of(WORDS['overlong'][said])}(?!\w)"))
    for act, said in (("truncate", "cut"), ("drop", "dropped"))
)

_Said = Sequence[Change | Choice]


def revise(text: str, said: _Said) -> list[Change | Choice]:
    """Apply corrections: replace each number by the one in the correction after it.

    A unit after the new number must be that of the value: "5 epochs, no, 4 GPUs" corrects nothing.
    """
    revised = [_revised(text, each) if isinstance(each, Change) else each for each in said]
    return _exchanged(text, revised)


def _removed(text: str, change: Change) -> Change | None:
    """Return a change switched off if words after it retract or remove it."""
    off = next((each for each in (False, "none") if admits(change.pointer, each)), None)
    start = find_words(text, change.words)
    if off is None or start < 0 or change.value in (False, None, "none"):
        return None
    end = start + len(change.words)
    folded = fold(text)
    switch = change.value is True or off is False
    match = _REMOVED_IT.match(folded, end) or _OFF_AFTER.match(folded, end)
    match = match or (_NOT_SO.match(folded, end) if switch else None)
    if match is not None:
        return replace(change, value=off, words=text[start : match.end()].strip(" ,.;:"))
    outside = _OUT_BEFORE.search(folded[:start])
    return outside and replace(change, value=off, words=text[outside.start() : end].strip())


def _renamed(text: str, change: Change) -> Change:
    """Return a change of a name with the name in the correction after it."""
    start = find_words(text, change.words)
    field = fields_by_pointer().get(change.pointer)
    if field is None or choices(field.schema) or start < 0 or change.pointer in _OWN_NAMES:
        return change
    end = start + len(change.words)
    match = _OTHER_NAME.match(fold(text[end:]))
    if match is None or not change.words.rstrip("\"'\u00bb`").endswith(str(change.value)):
        return change
    name = text[end + match.start("name") : end + match.end("name")]
    if (is_ordinary(fold(name)) and not match["placed"]) or not admits(change.pointer, name):
        return change
    return replace(change, value=name, words=text[start : end + match.end()].strip())


def _exchanged(text: str, said: _Said) -> list[Change | Choice]:
    """Return the values, with two numbers swapped if words after them say so."""
    match = _EXCHANGED.search(fold(text))
    before = [
        each
        for each in said
        if isinstance(each, Change)
        and isinstance(each.value, int | float)
        and not isinstance(each.value, bool)
        and match is not None
        and 0 <= find_words(text, each.words) < match.start()
    ]
    if len(before) != _PAIR:
        return list(said)
    first, second = before
    swapped = (replace(first, value=second.value), replace(second, value=first.value))
    if not all(admits(each.pointer, each.value) for each in swapped):
        return list(said)
    return [*(each for each in said if each not in before), *swapped]


def _revised(text: str, change: Change) -> Change | Choice:
    value = change.value
    if (removed := _removed(text, change)) is not None:
        return removed
    if isinstance(value, str) and change.pointer != _OVERLONG:
        return _renamed(text, change)
    start = find_words(text, change.words)
    if change.pointer == _OVERLONG and start >= 0:
        rest = fold(text[start + len(change.words) :])
        other = next((act for act, pattern in _ACTS if pattern.match(rest)), value)
        return replace(change, value=other)
    if value is True and change.pointer.startswith(_CLEANING):
        kept = _KEPT_THEM.search(fold(text), start + len(change.words))
        return replace(change, value=False) if kept else change
    if isinstance(value, bool) or not isinstance(value, int | float) or start < 0:
        return change
    end = start + len(change.words)
    after = Message(text[end:])
    if change.pointer == _GLOBAL and (own := _OF_ONE_CARD.match(after.folded)):
        words = text[start : end + after.origin[own.end() - 1][1]].strip()
        rows = as_written(read_number(own["number"].strip()) or value)
        return replace(change, pointer=_MICRO, value=rows, words=words)
    if (part := _factor_of(after.folded)) is not None:
        words = text[start : end + after.origin[part[1] - 1][1]].strip()
        return replace(change, value=scale(change.pointer, value, part[0]), words=words)
    if (last := _LAST_SAID.match(after.folded)) is not None:
        number = read_number(last["number"].strip())
        words = text[start : end + after.origin[last.end() - 1][1]].strip()
        if number is not None and (last["share"] or "%" in change.words):
            number = round(number / 100, 6)
        if number is not None and admits(change.pointer, as_written(number)):
            return replace(change, value=as_written(number), words=words)
    found = (each.match(after.folded) for each in (_SORRY_AFTER, _INSTEAD, _ORDERED))
    match = next(filter(None, found), None)
    unit = match["unit"].strip() if match and match["unit"] else None
    if match is None or (unit and unit not in Message(change.words).folded):
        return ask_about(change) if _TAKEN_BACK.match(after.folded) else change
    kilo = 1024 if change.pointer == "/data/max_length" else 1000
    number = read_number(match["number"].strip(), kilo=kilo)
    if number is None:
        return change
    shared = match["share"] is not None or "%" in change.words
    now = as_written(round(number / 100, 6) if shared else number)
    if not admits(change.pointer, now):
        return change
    words = text[start : end + after.origin[match.end() - 1][1]].strip()
    return replace(change, value=now, words=words)


def _factor_of(after: str) -> tuple[float, int] | None:
    """Return the factor in a correction, and its end: "batch of 16, no, half of that"."""
    match = _CORRECTED_BY.match(after)
    factor = read_factor(match["rest"].strip()) if match else None
    return None if match is None or factor is None else (factor, match.end())


def drop_retracted(text: str, said: _Said) -> list[Change | Choice]:
    """Return the values without those that the message later retracts.

    Those are a field that it later leaves unchanged, a column that later gets another role, and a
    value that it later negates or says not to use yet. A value at which the sentence breaks off is
    also dropped ("half of the rows... no, that is too many"); if a number follows, ftc asks about
    the field.
    """
    folded, message = fold(text), Message(text)
    said = _without_unused(text, folded, said)
    left = [*_left_fields(text)] if _KEPT.search(folded) or _KEPT_IT.search(folded) else []
    kept: list[Change | Choice] = []
    for each in said:
        end = find_words(text, each.words) + len(each.words)
        # "no duplicates dropped, leave them"
        off = isinstance(each, Change) and each.value is False
        if any(
            (pointer == each.pointer or (pointer is None and not off)) and end <= at
            for pointer, at in left
        ):
            continue
        if isinstance(each, Change) and (
            _has_other_role(folded, each, end) or _is_denied_later(message, each, end)
        ):
            continue
        broken = _BROKEN_OFF.match(folded, end) if isinstance(each, Change) else None
        if broken is None:
            kept.append(each)
        elif _NUMBER.search(folded, *find_around(SENTENCE_END, folded, (broken.end(),) * 2)):
            kept.append(Choice(pointer=each.pointer, values=(), words=each.words))
    return kept


def _without_unused(text: str, folded: str, said: _Said) -> _Said:
    """Return the values without those that a later pronoun retracts: "don't use it yet".

    The pronoun refers to the nearest value before it, in its sentence or in the one before, but not
    to a value that switches something off.
    """
    places = [
        (place[-1], each)
        for each in said
        if (place := find_places(text, each.words))
        and not (isinstance(each, Change) and each.value in (False, None, "none", []))
    ]
    unused = []
    for match in _UNUSED_IT.finditer(folded):
        before = [(span, each) for span, each in places if span[1] <= match.start()]
        if not before:
            continue
        nearest = max(span for span, _ in before)
        if len(_PAUSES.findall(folded, nearest[1], match.start())) <= 1:
            unused += [each for span, each in before if span == nearest]
    return [each for each in said if each not in unused]


def _is_denied_later(message: Message, change: Change, end: int) -> bool:
    """Return whether a later clause negates the words of a value: "we're not doing QLoRA"."""
    words = fold(change.words)
    if not isinstance(change.value, str) or not _ONE_WORD.fullmatch(words):
        return False
    again = [
        match.span()
        for match in re.finditer(rf"(?<![\w-]){re.escape(words)}(?![\w-])", message.folded)
        if message.origin[match.start()][0] >= end
    ]
    return bool(again) and message.denied(*again[-1])


def _left_fields(text: str) -> Iterator[tuple[str | None, int]]:
    """Yield each field that is left unchanged, with its place; None means any field before it."""
    message = Message(text)
    for mention in find_mentions(message):
        before = message.folded[: mention.start]
        if _KEPT_BEFORE.search(before) and _ENDS.match(message.folded, mention.end):
            yield mention.pointer, message.origin[mention.start][0]
    for match in _KEPT_IT.finditer(message.folded):
        place = message.folded[: match.start()]
        revised = [each.end() for each in REVISED.finditer(place)]
        if revised and not place[revised[-1] :].strip(" ,.;:"):
            yield None, message.origin[match.start()][0]


def _has_other_role(folded: str, change: Change, end: int) -> bool:
    """Return whether the text names a column again after words that revise."""
    if not change.pointer.startswith(_COLUMNS) or not isinstance(change.value, str):
        return False
    again = re.compile(rf"{_AGAIN}{re.escape(fold(change.value))}(?!\w)")
    return any(again.match(folded, match.end()) for match in REVISED.finditer(folded, end))
