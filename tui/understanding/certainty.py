"""Finds changes that the words of their message make doubtful, so that ftc asks about them.

A value is doubtful if it depends on a condition ("if it does not fit, QLoRA"), if its clause
reports an action or a statement of somebody, if it is a bound, an increment or an end of a range
("at least 5 epochs", "3 to 5 epochs"), if it is only the other side of a comparison ("better than
Q4"), if it is the machine that will run the model, or if the message gives a field two values.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ftc.spec.schema import choices, fields_by_pointer
from ftc.tui.understanding.reading import UNSURE, Change, Choice, ask_about
from ftc.tui.understanding.text.lexicon import NEGATORS, NUMBER, any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, find_words, fold
from ftc.tui.understanding.text.numbers import read_number
from ftc.tui.understanding.text.word_tables import word_table

_HEDGES: Final[Mapping[str, Any]] = word_table("hedges")
_CLAUSE_END: Final = re.compile(r"[!?;:,\n]|\.(?=\s|$)|\b(?:but|pero|so|now)\b")
CONDITION: Final = re.compile(rf"\b{any_of(_HEDGES['condition'])}(?!\w)")
TOLD: Final = re.compile(rf"\b{any_of(_HEDGES['told'])}\b")
_DESCRIBED: Final = re.compile(rf"\b{any_of(_HEDGES['described'])}\b")
_LIMITED: Final = re.compile(rf"\b{any_of(_HEDGES['limited'])}\b")
_SUBJECT: Final = re.compile(
    rf"^\s+{any_of(_HEDGES['subject'])}\b(?! (?:the|my|our|el|la|mi|nuestr\w+|to|de|que) )"
)
_WAS: Final = re.compile(r"^\s+(?:was|were|era|eran|eren|fue|fueron|va ser|van ser)\b")
_ANSWERING: Final = re.compile(rf"\b{any_of(_HEDGES['answering'])}\b")
_UP_TO: Final = re.compile(
    rf"^\s*(?:-|\u2013|to|or|a|o|u)\s*(?:{NUMBER})(?=\s*(?:$|[.;!?]|,(?!\d)))"
)
GUESS: Final = re.compile(rf"\b{any_of(_HEDGES['guess'])}\b")
_THE: Final = r"(?: (?:an?|the|el|la|els|les|los|las|un|una))?"
_UNLIKE: Final = re.compile(rf"\b{any_of(_HEDGES['unlike'])}{_THE}\s*$")
_LEAST: Final = re.compile(rf"\b{any_of(_HEDGES['least'])}{_THE}\s*$")
#: "never more than two GPUs": the most that may be used.
_MOST: Final = re.compile(
    r"\b(?:never|no|not|nunca|mai|don'?t|nor)\b[^.;,!?\n]{0,24}?"
    r"\b(?:more than|over|above|mes de|mas de|de)\s*$"
)
#: "no more than 2 epochs": the bound is the value.
_NO_MORE: Final = re.compile(
    r"\b(?:no|not|never|nunca|mai|don'?t|ni)\s+(?:\w+ ){0,2}?(?:more than|over|above|mes (?:de"
    r"|d')|mas de)\s*$"
)
_RANGE: Final = re.compile(
    rf"(?<![\w.,])(?:{NUMBER})\s*%?\s*(?:-|\u2013|to|or|a|o|u)\s*$"
    r"|\b(?:between|entre) [\w.,]+ (?:and|i|y)\s*$"
)
_ENDORSED: Final = re.compile(rf"(?<!\w){any_of(_HEDGES['endorsed'])}(?!\w)")
#: "q4_k_m is fine" asks for it; "rank 8 is what they use" does not.
_WELCOME: Final = re.compile(
    rf"^\s*{any_of(_HEDGES['welcome'])}(?=\s*(?:$|[.,;!)]|\b(?:and|i|y|for|per|para|thanks)\b))"
)
_WELCOMED: Final = re.compile(rf"^\S+(\s+{any_of(_HEDGES['welcome'])}[\s.!]*)$")
#: A clause with a reason: its value is not the requested one.
_REASON: Final = re.compile(rf"[\s,]{any_of(_HEDGES['reason'])}\s+(?:[^\s.;!?]+\s+){{1,}}$")
#: "they told me to take a 3B and I have a 4070": what the writer has is a separate part.
_OWN_PART: Final = re.compile(
    r"\b(?:and|but|y|i|pero) (?:(?:i|we)(?:'ve| have)? (?:have|got|own|want|need)|tengo"
    r"|tenemos|tinc"
    r"|tenim|quiero|queremos|vull|volem|necesito|necessito)\b"
)
#: A report followed by an order: the value in the order counts.
_ORDERED: Final = re.compile(
    r"\w[^.;!?\n]*[,.;:]\s*(?:so |just |please |then |let'?s |doncs |pues |asi que |aixi que )?"
    rf"{any_of(_HEDGES['orders'])}(?: (?:the|plain|simple|normal|just|only|el|la|un|una))*\s+$"
)
_ARROW: Final = re.compile(r"\s*(?:->|=>|\u2192)\s*")
_RATHER: Final = re.compile(r"\b(?:better|rather|mejor|millor|prefer\w*|prefier\w*)\b[^.;!?\n]*$")
_THAN: Final = re.compile(
    r"\s+(?:que(?: no(?: pas)?)?|than|rather than|antes que|abans que)\s+(?:(?:the|an?|el|la|l[oa]s"
    r"|una?)\s+)?"
)
#: Values of a list, joined by commas.
_LISTED: Final = re.compile(
    r"_+(?:[\s,]+(?:and |with |i |y |amb |con )?_+)*\s*(?:,|\b(?:and|i|y)\b|,\s*(?:and|i|y))\s*$"
)
#: The text between two parts of a list that different readers read.
_PARTS: Final = re.compile(r"[\s,+&/]+(?:(?:and|i|y|e)\s+)?")
_FURTHER: Final = re.compile(rf"^\s*{any_of(_HEDGES['further'])}\b")
_MORE_INSIDE: Final = re.compile(r"\b(?:more|extra|mes|mas|less|fewer|menys|menos)\b")
#: "cinc e menys cinc"
_EXPONENT: Final = re.compile(r"\b(?:e|a|a la|to the) (?:menys|menos|minus)\b")
USING: Final = re.compile(rf"\b{any_of(_HEDGES['using'])}(?!\w)")
_COMPARED: Final = re.compile(rf"\b{any_of(_HEDGES['compared'])}\b")
_EITHER: Final = re.compile(rf"^[\s,]*{any_of(_HEDGES['either'])}\b")
REVISED: Final = re.compile(rf"(?:^|[\s,.;:]){any_of(_HEDGES['revise'])}(?=$|[\s,.;:])")
#: "swap the 4090 for a 3090", "from rank 8 to rank 16": the second of two values counts.
_SWAPS: Final = re.compile(rf"\b{any_of(_HEDGES['swap'])}(?!\w)[^.;!?\n]*$")
_FOR: Final = re.compile(rf"^(?:\s+\w+){{0,2}}?\s*{any_of(_HEDGES['swapped_for'])}(?!\w)")
#: The beginning of a separate part: "zero3, and if needed ...", "the bucket so that ... if ...".
_APART: Final = re.compile(rf"[\s,]{any_of(_HEDGES['apart'])}\b")
#: "use qlora, otherwise it does not fit", "que si no no m'hi cap".
_OTHERWISE: Final = re.compile(
    r"[\s,;.(-](?:(?:que|perque|porque|because|cause) (?:si no|if not)|otherwise|or else|si no|sino"
    r"|altrament|de lo contrario|d'altra manera)\b"
)
#: A fact after a hypothesis: "if I were rich I'd buy a 5090 but I have ...".
_REALLY: Final = re.compile(
    r"\b(?:but|pero)\b.*\b(?:i have|i'?ve got|we have|we'?ve got|i'?m stuck with|tinc|tenim|tengo"
    r"|tenemos|de moment|de momento|for now|el que hi ha|lo que hay)\b"
)
#: Fields whose own words say "if" or "more": stopping, failing, what happens to rows that are too
#: long, file lists.
OWN_CONDITION: Final = (
    *("/training/early_stopping", "/training/evaluation/allow_worse", "/export/verify/"),
    *("/training/evaluation/regression", "/data/cleaning/overlong", "/data/columns/"),
)
#: "q6_k, fail if the mean KL is above 0.03": a check, and not a condition on the words before it.
_CHECKS: Final = re.compile(
    r"\b(?:fail|stop|abort|error(?: out)?|falli|falla|falle|peti|aborta\w*|atura\w*|para)\s+$"
)
#: "show 5 answers at each evaluation, so I see if it learns": "see if" is not a condition.
_SEES: Final = re.compile(
    r"\b(?:so|aixi|asi|to|per|para|i|y|and)\b[\w', ]{0,30}?\b(?:see|check|tell|find out|judge|watch"
    r"|veig|veiem|veure|vegi|vegem|mir\w+|comprov\w+|comprob\w+|compruebo|ver|veo|vemos|vea|veamos"
    r"|se|sabre)\b[\w' ]{0,30}?$"
)
_WHICH: Final = re.compile(r"\s*(?:which|that|que|el qual|la qual|el cual|la cual)\b")
_TYPES: Final = "/export/types"
_COLUMNS: Final = "/data/columns/"
_OBJECTIVE: Final = "/objective/type"
#: Numeric fields that are limits: "at most 3" sets them to 3.
_LIMITS: Final = frozenset(
    {"/data/max_length", "/data/max_rows", "/training/max_steps", "/launch/hours"}
)

#: Numbers whose own words say "less" or "more": "everything but the last three layers".
_COUNTED: Final = (
    *("/data/max_length", "/data/max_rows", "/method/layers", "/training/keep_checkpoints"),
    "/export/verify/",
)

#: A number after these words is not the value of a field.
_RELATIVE: Final = re.compile(
    r"\b(?:or|o|vs|than|que|times|by|more|less|over|under|above|below|between|entre|mes|mas|menys"
    r"|menos|per|por)\b(?! (?:1|0)(?:[.,]\d+)?$)"
)

#: "it used to run on an A100; from now on, on the 3090": the machine after these words counts.
_THEN: Final = re.compile(
    r"\b(?:abans|antes|used to|had|till|until|fins|hasta|previously|formerly|teni\w+|tenia|havi\w+"
    r"|habi\w+|corri\w+|entrenava\w*|entrenaba\w*|denegat|denegado|gone)\b"
)
_MINE: Final = re.compile(
    r"[.;,:!]\s(?:\w+,?\s)?(?:el meu|la meva|el nostre|la nostra|el mio|la mia|el nuestro"
    r"|la nuestra|mine|ours"
    r"|for this one|aqui|nosaltres|nosotros|jo (?:vull|poso|faig)|yo (?:quiero|pongo|hago)"
    r"|i want|i'?d say)\b"
)
_OTHERS: Final = re.compile(
    r"\s(?:\w+\s){1,4}?(?:(?:the )?(?:other|another) (?:team|group|project|people|folks|department)"
    r"|(?:l'altre|un altre|el otro|otro) (?:equip|grup|projecte|departament|equipo|grupo|proyecto"
    r"|departamento))\b"
)
_SPURNED: Final = re.compile(
    r"\b(?:nobody|no one|noone|ningu|nadie)\s(?:\w+\s)?(?:trusts?|likes?|wants?"
    r"|believes?(?: in)?|needs?|se'n refia"
    r"|es (?:fia|creu|refia)|se (?:fia|cree)|confia|cree|vol|quiere)\s(?:(?:en|de|del|d'|in|the"
    r"|la|el|l')\s?)*$"
)
_USELESS: Final = re.compile(
    r"\s+(?:(?:always |sempre |siempre )?(?:makes me think|reminds me|em (?:fa pensar|recorda)"
    r"|me (?:hace pensar|recuerda))|(?:is|es|resulta|seems?) (?:(?:just|so|too|very|molt"
    r"|muy) )?(?:useless|misleading"
    r"|pointless|inutil"
    r"|enganyos\w*|enganos\w*)|no (?:(?:em|me|ens|nos) )?(?:serveix|sirve|diu (?:res|gaire)"
    r"|dice (?:nada|mucho)"
    r"|convenc\w*)|no t(?:e|iene) (?:(?:cap|gaire|mucho|ningun) )?senti(?:t|do)"
    r"|does(?:n'?t| not) (?:help|work|say|tell|mean))\b"
)
_FROM_NOW: Final = re.compile(
    r"\b(?:en tindrem|tendremos|we'?ll have|we now have|en tenim|ara|ahora|now|d'ara endavant"
    r"|de ahora en adelante|from now on|avui|hoy|today"
    r"|currently)\b"
)
_HERE: Final = re.compile(
    r"\b(?:pero|but)\s(?:aixo|esto|this|it|aquest\w*|este)\s(?:\w+\s){0,2}?(?:correra|s'entrenara|entrenara|anira"
    r"|ira|will (?:run|train|go)|runs|trains|corre|se entrena(?:ra)?|ha de (?:correr"
    r"|entrenar)\w*)\b"
)
#: Only this many occurrences of a value are examined.
_MOST_TIMES: Final = 3

#: A sentence that is only an order about the previous one: "Put it on.", "Ponlo."
_ORDERED_SO: Final = re.compile(
    r"\s*(?:(?:so|please|then|and|yes|ok|doncs|pues|i|y|si|venga|va|vinga),? )*"
    r"(?:(?:use|put|set|take|do|try|enable|activate|add|fix) (?:it|that|this|them)(?: (?:on|in))?"
    r"|(?:posa|fes|activa|usa|afegeix|agafa|apunta|corregeix)(?:-l[aeo]s?|-ho|-l'hi|'l|'ls)|fem-ho"
    r"|(?:pon|haz|activa|usa|anade|coge|apunta|corrige)l[aeo]s?|hagamoslo)"
    r"(?: (?:please|then|si us plau|por favor|doncs|pues))?\s*(?=$|[.,;!])"
)

Said = Change | Choice


def settle(text: str, said: Sequence[Said]) -> list[Said]:
    """Return the values in the order of the message, with doubtful changes as choices.

    `text` is the message as written. If a field has two values, the later one is used if the words
    between them revise the first; otherwise both are offered.
    """
    folded = fold(text)
    placed = sorted(_places(text, said), key=lambda pair: pair[0])
    bare = _without(folded, [(start, len(each.words)) for start, each in placed])
    kept: dict[str, Said] = {}
    for start, each in placed:
        now = _doubted(folded, bare, each, start) if isinstance(each, Change) else each
        other = kept.get(each.pointer)
        kept[each.pointer] = now if other is None else _one_of(folded, text, other, now)
    return list(kept.values())


def _places(text: str, said: Sequence[Said]) -> list[tuple[int, Said]]:
    """Return the values with their places; a repeated value gets the place of each repetition."""
    placed: list[tuple[int, Said]] = []
    for index, each in enumerate(said):
        if each in said[:index]:
            earlier = [start for start, other in placed if other == each]
            if len(earlier) >= _MOST_TIMES:
                continue
            last = max(earlier)
            again = text.find(each.words, last + 1) if each.words else -1
            if again < 0:
                continue
            placed.append((again, each))
        else:
            placed.append((_place(text, each), each))
    return placed


def _place(text: str, each: Said) -> int:
    """Return the place of the words; several parts joined by commas have the place of the first."""
    place = find_words(text, each.words)
    return place if place >= 0 else find_words(text, each.words.split(", ")[0])


def _without(folded: str, places: Sequence[tuple[int, int]]) -> str:
    """Return the text with the words of all changes as underscores."""
    for start, length in places:
        if start >= 0:
            folded = f"{folded[:start]}{'_' * length}{folded[start + length :]}"
    return folded


def _doubted(folded: str, bare: str, change: Change, start: int) -> Said:
    words = fold(change.words)
    if not folded.startswith(words, start):  # separate parts
        words = words.split(", ")[0]
    if start < 0 or not _is_doubtful(folded, bare, change, start, start + len(words)):
        return change
    return ask_about(change)


def find_hedge(folded: str) -> bool:
    """Return whether words report, guess, set a condition, compare or negate."""
    patterns = (NEGATORS, _RELATIVE)
    return find_doubt(folded) or any(pattern.search(folded) for pattern in patterns)


def find_doubt(folded: str) -> bool:
    """Return whether words report, guess or set a condition."""
    return any(pattern.search(folded) for pattern in (TOLD, GUESS, CONDITION))


def strip_welcome(text: str) -> str:
    """Return an answer without words that only approve it: "ticket-sorter is fine"."""
    match = _WELCOMED.match(fold(text))
    return text[: match.start(1)] if match else text


def is_endorsed(folded: str, end: int) -> bool:
    """Return whether the sentence goes on to request what it reported: "so let's do that".

    The sentence after a question belongs to it: "what about 8? Go ahead, use that".
    """
    after = SENTENCE_END.search(folded, end)
    if after is not None and after[0] == "?":
        after = SENTENCE_END.search(folded, after.end())
    stop = after.start() if after else len(folded)
    if _ENDORSED.search(folded, end, stop) is not None:
        return True
    return after is not None and _ORDERED_SO.match(folded, after.end()) is not None


def _is_doubtful(folded: str, bare: str, change: Change, start: int, end: int) -> bool:
    if is_endorsed(folded, end):
        return False
    sentence = bare[slice(*find_around(SENTENCE_END, bare, (start, end)))]
    begin, stop = find_around(_CLAUSE_END, bare, (start, end))
    own = [each.start() for each in _OWN_PART.finditer(bare, begin, start)]
    clause = bare[own[-1] if own else begin : stop]
    if not change.pointer.startswith(OWN_CONDITION) and _depends(
        sentence, start - find_around(SENTENCE_END, bare, (start, end))[0]
    ):
        return True
    described = change.pointer.startswith(_COLUMNS)  # "what our agents wrote" describes the column
    told = TOLD.search(clause) or _goes_on_telling(bare, start)
    if (told and not described) or GUESS.search(clause):
        return True
    first, last = find_around(_CLAUSE_END, folded, (start, end))
    if _WHICH.match(folded, first) and first > 1:  # "it must run on a laptop, which has no card"
        first = find_around(_CLAUSE_END, folded, (first - 1, first - 1))[0]
    written = folded[first:last]
    if change.pointer.startswith("/hardware/") and USING.search(written):
        return True  # the machine that answers, not the one that trains
    if change.pointer == _TYPES and _COMPARED.search(written):
        return True
    before, after = folded[:start], folded[end:]
    if _WAS.match(after):
        return True  # "the 4090 was from when we tested"
    if _UNLIKE.search(before) and not _NO_MORE.search(before):
        return True
    phrase = change.pointer == _OBJECTIVE and " " in folded[start:end]
    if not (described or phrase) and _SUBJECT.match(after) and not _WELCOME.match(after):
        return True
    if change.pointer == "/data/max_length" and _ANSWERING.search(clause):
        return True
    if change.pointer == "/data/max_length" and _DESCRIBED.search(clause):
        around = folded[slice(*find_around(_CLAUSE_END, folded, (start, end)))]
        return _LIMITED.search(around) is None
    if isinstance(change.value, bool) or not isinstance(change.value, int | float):
        return False
    begins = re.match(NUMBER, folded[start:end]) is not None
    bounded = (
        change.pointer in _LIMITS
        or _NO_MORE.search(before)
        or (change.pointer == "/hardware/count" and _MOST.search(before))
    )
    spread = change.pointer == "/hardware/count" and before.endswith("over ")
    if (begins and _RANGE.search(before)) or (not bounded and not spread and _LEAST.search(before)):
        return True
    if folded[start:end][-1:].isdigit() and _UP_TO.match(after):
        return True
    plain = _EXPONENT.sub(" ", folded[start:end])
    inside = not change.pointer.startswith(_COUNTED) and _MORE_INSIDE.search(plain)
    if inside and (said := re.search(NUMBER, Message(change.words).folded)):
        inside = read_number(said[0]) == change.value and inside  # otherwise it was added
    return bool(_FURTHER.match(after) or inside)


def _goes_on_telling(bare: str, start: int) -> bool:
    """Return whether a value belongs to a list in a report: "I tried qlora, nf4, dq off"."""
    before = _LISTED.sub("", bare[:start])
    if before.rstrip().endswith("_") or len(before) == start:
        return False
    told = before[find_around(_CLAUSE_END, before, (len(before), len(before)))[0] :]
    return TOLD.search(told) is not None


def _depends(sentence: str, place: int) -> bool:
    """Return whether a condition in the sentence applies to the words at a place in it.

    A condition after the place applies unless "and", "but" or a purpose is between them.
    """
    reasons = [match.span() for match in _OTHERWISE.finditer(sentence, place)]
    for match in CONDITION.finditer(sentence):
        if any(start <= match.start() < end for start, end in reasons):
            continue
        if place < match.start() and _CHECKS.search(sentence[: match.start()]):
            continue
        if place < match.start() and _SEES.search(sentence[place : match.start()]):
            continue
        if match.start() < place and _REALLY.search(sentence[match.end() : place]):
            continue
        if match.start() < place or not _APART.search(sentence[place : match.end()]):
            return True
    return False


def _is_spurned(folded: str, start: int, end: int) -> bool:
    """Return whether the words before or after the first of two values say that it is no good."""
    return _SPURNED.search(folded, 0, start) is not None or _USELESS.match(folded, end) is not None


def _as_change(said: Said) -> Said:
    """Return a value in doubt as a change if it is the only one."""
    values = _values(said)
    if isinstance(said, Change) or len(values) != 1:
        return said
    return Change(pointer=said.pointer, value=values[0], words=said.words)


def _is_present(folded: str, end: int, between: str) -> bool:
    """Return whether the words before the second of two machines turn to it: "it was ..., now"."""
    first = find_around(SENTENCE_END, folded, (end, end))[0]
    before = _THEN.search(folded[first:end]) or _THEN.search(between)
    return _HERE.search(between) is not None or (
        before is not None and _FROM_NOW.search(between) is not None
    )


def _one_of(folded: str, text: str, first: Said, second: Said) -> Said:
    """Return the valid one of two values, or a choice between both."""
    if _values(first) == _values(second):
        return first if isinstance(first, Change) else second
    begin, end = _place(text, first) + len(first.words), _place(text, second)
    between = folded[begin:end] if begin <= end else ""
    either = _EITHER.match(between) is not None
    if (
        not either
        and first.pointer.startswith("/hardware/")
        and _is_present(folded, begin, between)
    ):
        return _as_change(second)
    if not either and _MINE.search(between) and not _MINE.search(folded[:begin]):
        return _as_change(second)  # "Paula's goes to a/b. Mine goes to c/d"
    if not either and _OTHERS.match(folded, end + len(second.words)):
        return _as_change(first)  # "log to mlflow, wandb is the other team's"
    if not either and _is_spurned(folded, begin - len(first.words), begin):
        return _as_change(second)  # "nobody trusts exact match, score it with ROUGE-L"
    if not either and isinstance(first, Change) != isinstance(second, Change):
        return first if isinstance(first, Change) else second
    if not either and isinstance(first, Change) and _REASON.search(between):
        return first  # "fp16, since the card has no bf16"
    if (joined := _joined(text, first, second)) is not None:
        return joined
    if isinstance(second, Change) and _only_denies(first, second):
        return first
    if not either and isinstance(first, Change) and first.value is None:
        return second  # "no classifier, it should answer with the label as text"
    if isinstance(first, Change) and _THAN.fullmatch(between) and _RATHER.search(folded[:begin]):
        return first  # "better an H100 than the 4090"
    if not either and isinstance(second, Change) and REVISED.search(between):
        return second
    if isinstance(second, Change) and _ARROW.fullmatch(between):
        return second  # "cosine -> linear"
    if not either and isinstance(second, Change) and _ORDERED.search(between):
        return second  # "flash attention crashes, use plain sdpa"
    swapped = _FOR.match(between) and _SWAPS.search(folded[: _place(text, first)])
    if swapped and isinstance(second, Change):
        return second
    values = [*_values(first), *(each for each in _values(second) if each not in _values(first))]
    words = first.words if first.words == second.words else f"{first.words}, {second.words}"
    return Choice(pointer=first.pointer, values=tuple(values), words=words, why=UNSURE)


def _joined(text: str, first: Said, second: Said) -> Change | None:
    """Return two parts of one list as one: "target modules gate_proj up_proj"."""
    if not (isinstance(first, Change) and isinstance(second, Change)):
        return None
    if not (isinstance(first.value, list) and isinstance(second.value, list)):
        return None
    start, begin = _place(text, first), _place(text, first) + len(first.words)
    place = _place(text, second)
    last = second.words.split(", ")[-1]
    end = text.find(last, place) + len(last)
    if not (0 <= start < begin <= place < end and _PARTS.fullmatch(fold(text[begin:place]))):
        return None
    value = [*first.value, *(each for each in second.value if each not in first.value)]
    return Change(pointer=first.pointer, value=value, words=text[start:end])


def _only_denies(first: Said, second: Change) -> bool:
    """Return whether `second` only excludes another value: "log to MLflow, anything but W&B"."""
    if second.value not in ("none", None) or not isinstance(first, Change):
        return False
    others = set(choices(fields_by_pointer()[first.pointer].schema)) - {first.value, second.value}
    return any(str(other) in fold(second.words) for other in others)


def _values(said: Said) -> tuple[Any, ...]:
    return (said.value,) if isinstance(said, Change) else said.values
