"""Adds the values of the learned models; only this module calls them for a message.

A model adds a value only if the patterns set none, from words that nothing else read, and outside
questions.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ftc.spec.schema import Field, choices
from ftc.tui.understanding.certainty import is_endorsed
from ftc.tui.understanding.columns.column_clauses import find_column_clauses
from ftc.tui.understanding.columns.column_roles import NO_COLUMN, is_description, is_language
from ftc.tui.understanding.columns.columns import speaks_of_columns
from ftc.tui.understanding.elsewhere import find_elsewhere
from ftc.tui.understanding.learned.linear import NONE
from ftc.tui.understanding.learned.roles import SECTION, assign, find_names, may_stand_beside
from ftc.tui.understanding.learned.worded import Clause, find_clauses, find_option, tell
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NEGATORS, WORDS, any_of
from ftc.tui.understanding.text.message import Message, Span, find_places, fold
from ftc.tui.understanding.text.ordinary import is_ordinary, read_words
from ftc.tui.understanding.text.sentences import split_sentences
from ftc.tui.understanding.values.overlong import says_what_happens

#: The minimum probabilities of a column's role and of a value, chosen on held-out messages.
SURELY_NAMED: Final = 0.85
SURELY_WORDED: Final = 0.5
_SURELY_OTHER: Final = 0.9
#: Fields whose descriptions the patterns also read, with more words.
_OWN: Final = frozenset(
    {"/objective/type", "/method/type", "/distribution/strategy", "/data/form", "/model/id"}
)
#: The minimum weight of a word that indicates a value.
_TELLING: Final = 0.25

#: "Our rows are twice as long as theirs" is a comparison, and not a request.
_COMPARES: Final = re.compile(
    r"\b(?:(?:as|tan) \w+ (?:as|com|como)|twice as|el doble de|(?:mes|mas) \w+ (?:que|del que)"
    r" (?:els|les|los|las|el|la) (?:seu|seva|seus|seves|suyos|suyas|teu|teus|teves|tuyos))\b"
)
#: "els accents, si que els arregli": a switch that is on in contrast to another one.
_AFFIRMS: Final = re.compile(
    r"\bsi,? (?:que\b|(?:els?|les|la|los|las|lo|hi|ho|n'|l'|se|me|nos|ens|em) ?\w)"
    r"|(?<!\byou )(?<!\bwe )(?<!\bi )(?<!\bthey )\bdo (?!not\b|n't)(?:repair|fix|drop|remove"
    r"|keep)\b"
)
#: Values that turn a field off, and further words that do so beside negations.
_OFF: Final = ("none",)
_OFF_WORDS: Final = re.compile(
    r"\b(?:off|out|none|nothing|nobody|nowhere|zero|only|just|local\w*|stop\w*|leave|keep|plain|ordinary"
    r"|normal|res|gens|cap|ningu\w*|nomes|apag\w*|atur\w*|deix\w*|guard\w*|nada|nadie|cero|solo"
    r"|dej\w*|par[ae]\w*|quit\w*|tre[uit]\w*|fora|fuera|lliure|libre|\w*n't|without|sense|sin)\b"
)
#: The part of a value with a number: "_8bit".
_NUMBERED: Final = re.compile(r"[_-]\w*\d\w*$")
_QUANTIZATION: Final = "/quantization"
#: Words for the machine, which tell nothing about a value of another section.
_MACHINE: Final = re.compile(r"gpus?|cards?|target(?:a|es)|tarjetas?|grafi(?:ca|cas|ques)")
#: A shorter word has no meaning by itself.
_SHORTEST: Final = 3

#: A name with more words that is not a column of the data is a quotation.
_MOST_WORDS: Final = 2
_SHORT: Final = 3
_SAID: Final = re.compile(r"[^\W_]+")
_OBJECTIVE: Final = "/objective/type"
_PROMPT, _TEXT = f"{SECTION}prompt", f"{SECTION}text"
_OVERLONG: Final = "/data/cleaning/overlong"
_PUBLISH: Final = "/publish/"
_PUBLIC: Final = ("/publish/private", False)
#: Words that a message must have to set these: "MoE" alone does not train experts, "4 bits" belongs
#: to a teacher only beside a word for one, and "publish it" does not say whether it is public.
_NEEDED: Final[Mapping[str, re.Pattern[str]]] = {
    "/objective/teacher/quantization": re.compile(
        r"\b(?:teach\w*|tutor\w*|profe\w*|m(?:a)?estr[aeo]\w*|distil\w*|destil\w*|imit\w*|mentor\w*"
        r"|bigger|larger|brother|gran|gros|grande?)\b"
    ),
    "/method/experts": re.compile(r"\bexpert"),
    "/publish/private": re.compile(
        r"\b(?:priva|publi[ck]\b|public[oa]?\b|publicly|open|obert|abiert|hidden|ocult|amag|visible"
        r"|secret|nobody|everyone|everybody|anyone|anybody|tothom|ningu|nadie|todos|jo"
        r"|only (?:me|us|i|we)|yo|nosaltres|nosotros|see|seen|veu|vegi|vea|team|equip)"
    ),
}
_PUBLISHES: Final = re.compile(
    rf"\b(?:{any_of(WORDS['publish'])}|hub|hugging ?face|hf|push_to_hub|repo\w*)(?!\w)"
)
_METRIC: Final = "/training/evaluation/metric"
#: Errors of one kind, for which there is no metric: "a false negative is worse than a false alarm".
_ONE_ERROR: Final = re.compile(
    r"\b(?:false (?:negatives?|positives?|alarms?)|fals(?:os?|es|as?)? (?:negati\w+|positi\w+"
    r"|alarm\w+)"
    r"|recall|sensib\w+|sensitivity|missed cases?)\b"
)
_Said = Sequence[Change | Choice]


def add_roles(
    text: str, told: _Said, said: _Said, draft: Mapping[str, Any], columns: Sequence[str]
) -> list[Change | Choice]:
    """Return the values, with the columns that the model of roles adds.

    A column in `said` but not in `told` was retracted, and is not set again.
    """
    gone = (each for each in said if isinstance(each, Change) and each not in told)
    left = {each.value for each in gone if each.pointer.startswith(SECTION)}
    kept = list(told)
    read = _spans(text, (each for each in told if not each.pointer.startswith(SECTION)))
    clauses = [(each.start, each.end) for each in find_column_clauses(fold(text)) if each.role]
    taken = [*read, *_questions(text), *clauses]
    spoken = not columns or speaks_of_columns(text)
    names = [
        each
        for each in find_names(text, columns)
        if each.text not in left
        and (each.is_marked or fold(each.text) not in NO_COLUMN)
        and not _overlaps((each.start, each.end), taken)
        and not is_description(text, each.end)
        and not (columns and _is_phrase(each.text) and each.text not in columns)
        and (each.is_marked or (spoken and not is_language(each.text)) or each.text in columns)
    ]
    plain = {_PROMPT: _TEXT} if _is_plain(told, draft) else {}
    for name, likeliest, share in assign(names, [each.weigh() for each in names]):
        pointer = plain.get(likeliest, likeliest)
        known = value_at(draft, pointer) == name.text or (plain and pointer != _TEXT)
        if share >= SURELY_NAMED and name.may_be(pointer) and not known:
            surely = share >= _SURELY_OTHER and name.is_marked
            if surely or not any(_is_rival(each, name.text, pointer) for each in kept):
                kept = _with_column(kept, name.text, pointer, share)
    return kept


def _is_phrase(name: str) -> bool:
    """Return whether a name has so many words that it is probably a quotation."""
    return len(name.split()) > _MOST_WORDS


def _is_plain(told: _Said, draft: Mapping[str, Any]) -> bool:
    """Return whether the rows are plain text, which has no prompt."""
    said = (each.value for each in told if isinstance(each, Change) and each.pointer == _OBJECTIVE)
    return str(next(said, value_at(draft, _OBJECTIVE))) == "cpt"


def _with_column(told: _Said, name: str, pointer: str, share: float) -> list[Change | Choice]:
    """Return the values with a column in a role, unless the other columns contradict it.

    The column replaces the same column in another role, and a part of its name in any role.
    """
    own = [each for each in told if isinstance(each, Change) and each.pointer.startswith(SECTION)]
    same = [each for each in own if each.value == name]
    worded = any(each.words != name for each in same)  # "messages are in `conv`"
    if worded or any(each.pointer == pointer for each in same) or (same and share < _SURELY_OTHER):
        return list(told)
    replaced = [*same, *(each for each in own if str(each.value) in name)]
    if any(not may_stand_beside(pointer, each.pointer) for each in own if each not in replaced):
        return list(told)
    asked = (each for each in told if isinstance(each, Choice) and each.pointer == pointer)
    gone = [*replaced, *asked]
    kept = [each for each in told if each not in gone]
    return [*kept, Change(pointer=pointer, value=name, words=name)]


def _is_rival(said: Change | Choice, name: str, pointer: str) -> bool:
    """Return whether a question is about another name in a role, or the name in another role."""
    if not isinstance(said, Choice) or not said.pointer.startswith(SECTION) or not said.values:
        return False
    return (name in said.values) != (said.pointer == pointer)


def add_worded(
    message: Message,
    text: str,
    told: _Said,
    said: _Said,
    draft: Mapping[str, Any],
    *,
    doubted: Sequence[Choice] = (),
) -> list[Change | Choice]:
    """Return the values, with those that the model of words finds in unread words.

    A field in `said` but not in `told` was retracted, and is not set again. A field in the words of
    a `doubted` value is not set either.
    """
    kept = list(told)
    gone = {each.pointer for each in said} - {each.pointer for each in told}
    asked = [*_questions(text), *find_elsewhere(text)]
    for clause in find_clauses(message, draft):
        place = message.origin[clause.start][0], message.origin[clause.end - 1][1]
        if _overlaps(place, asked) or _COMPARES.search(message.plain, clause.start, clause.end):
            continue
        shares = clause.weigh()
        key = max((each for each in shares if each != NONE), key=lambda each: shares[each])
        option = find_option(key)
        pointer = option.field.pointer
        if (
            pointer in _OWN | gone
            or shares[key] < SURELY_WORDED
            or value_at(draft, pointer) == option.value
        ):
            continue
        if any(each.pointer == pointer and _denies(each, option.value) for each in kept):
            continue
        doubts = _spans(text, (each for each in doubted if each.pointer == pointer))
        if _overlaps(place, doubts):
            continue  # "I always had packing on"
        others = [each for each in kept if each.pointer != pointer]
        words = _words(message, clause, key, _spans(text, others))
        if words is None or not _tells(words) or not _is_topic(pointer, message, draft):
            continue
        if pointer == _METRIC and _ONE_ERROR.search(message.plain):
            continue
        if option.value in _OFF and not _turns_off(message, clause, key):
            continue
        if _adds_digits(option.field, option.value, message, clause):
            continue
        if pointer == _OVERLONG and not says_what_happens(message.plain[clause.start : clause.end]):
            continue  # "these are long texts"
        if option.value is False and option.field.schema.get("default") is False:
            continue  # it is already off
        if option.value is False and _AFFIRMS.search(message.plain, clause.start, clause.end):
            continue  # "keep the duplicates, but the accents do repair"
        if (pointer, option.value) == _PUBLIC and message.denied(clause.start, clause.end):
            continue  # "never push it publicly"
        kept = [*others, Change(pointer=pointer, value=option.value, words=words)]
    return kept


def _tells(words: str) -> bool:
    """Return whether any word has its own meaning; none in "more than the" has."""
    short = (each for each in _SAID.findall(fold(words)) if len(each) <= _SHORT)
    longer = any(len(each) > _SHORT for each in _SAID.findall(fold(words)))
    return longer or not read_words(("grammar", "determiner")).issuperset(short)


def _is_topic(pointer: str, message: Message, draft: Mapping[str, Any]) -> bool:
    """Return whether a message can be about a field: publishing needs a word for it."""
    needed = _NEEDED.get(pointer)
    if needed is not None and needed.search(message.plain) is None:
        return False
    published = draft.get("publish") is not None or _PUBLISHES.search(message.plain) is not None
    return published or not pointer.startswith(_PUBLISH)


def _adds_digits(field: Field, value: Any, message: Message, clause: Clause) -> bool:
    """Return whether a value has a number that the words lack, so another value may be meant.

    "adamw" is not `adamw_8bit`, and neither "not in 4 bits" nor "quantised weights" requests
    `int8`.
    """
    said, text = message.plain[clause.start : clause.end], str(value)
    numbers = re.findall(r"\d+", text)
    if NEGATORS.search(said) is not None and not all(each in message.plain for each in numbers):
        return True
    if field.pointer.endswith(_QUANTIZATION):
        return not all(each in said for each in numbers)
    plain = _NUMBERED.sub("", text)
    shared = plain != text and plain in choices(field.schema)
    return shared and not all(each in said for each in numbers)


def _turns_off(message: Message, clause: Clause, key: str) -> bool:
    """Return whether a clause has a word that turns something off, and a word for the thing."""
    said = message.plain[clause.start : clause.end]
    telling = (
        message.plain[start:end] for word, start, end in clause.words if tell(word, key) > _TELLING
    )
    if all(map(is_ordinary, telling)):
        return False  # "don't run any code"
    return NEGATORS.search(said) is not None or _OFF_WORDS.search(said) is not None


def _denies(said: Change | Choice, value: Any) -> bool:
    """Return whether the values of a field exclude a value.

    A choice between the value and no value does not: "anything but wandb, log to mlflow".
    """
    if isinstance(said, Change):
        return True
    return any(each not in ("none", value) for each in said.values)


def _words(message: Message, clause: Clause, key: str, read: Sequence[Span]) -> str | None:
    """Return the words of a clause that indicate a value, or None if all of them were read."""
    telling = [(start, end) for word, start, end in clause.words if tell(word, key) > _TELLING]
    fresh = [
        span
        for span in telling
        if span[1] - span[0] >= _SHORTEST
        and message.plain[slice(*span)] not in read_words(("grammar", "determiner"))
        and not _MACHINE.fullmatch(message.plain, *span)
        and not _overlaps((message.origin[span[0]][0], message.origin[span[1] - 1][1]), read)
    ]
    if not fresh:
        return None
    return message.words(fresh[0][0], fresh[-1][1])


def _questions(text: str) -> list[Span]:
    """Return the ranges of a message's questions, except those that it answers itself."""
    return [
        (each.start, each.end)
        for each in split_sentences(text)
        if each.asks and not is_endorsed(fold(text[each.end :]), 0)
    ]


def _spans(text: str, said: Iterable[Change | Choice]) -> list[Span]:
    return [span for each in said for span in find_places(text, each.words)]


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in others)
