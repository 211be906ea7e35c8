"""Statements about other people, texts, the past, or mere wishes.

"My boss always sets rank 256", "the notebook takes 32 rows", "last time it was 8 epochs", "if only
I had an H100". Such a part ends with its sentence, or at words that turn to the writer's own
settings ("but", "this time", "I'm going with"). "I'll do what Pau says" adopts Pau's settings.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import SENTENCE_END, Span, find_around, find_places, fold
from ftc.tui.understanding.text.ordinary import read_words
from ftc.tui.understanding.text.verbs import asking_forms
from ftc.tui.understanding.text.word_tables import word_table

_ELSEWHERE: Final[Mapping[str, Any]] = word_table("elsewhere")
_DET: Final = (
    r"(?:(?:my|our|his|her|their|the|this|that|those|an?|some|another|old|mis?|sus?|nuestr[oa]s?|ese"
    r"|esa|un[oa]?s?|el|la|els|les|los|las|aquell?|aquella)\s+|l'|(?:el|la|els|les)\s+"
    r"(?:meu|meva|meus|meves|teu|teva|seu|seva|nostre|nostra|nostres)\s+){1,2}"
)
_DOES: Final = any_of(_ELSEWHERE["does"])
#: Between a subject and its verb: ", who knows a lot (he says), always".
_ASIDE: Final = (
    r"(?:,?\s+(?:who|that|que|el qual|la qual|de|del|d'|dels|at|in|from|of|on|over|down)\b"
    r"[^.;:!?\n]{1,40}?)?(?:\s*\([^)\n]{1,40}\))?,?\s+"
    r"(?:(?:\w+ly|also|just|always|only|ja|ya|sempre|siempre|em|ens|me|nos|li|le|les|lo|la|els|hi|ho|en"
    r"|se|es|que|who|often|never)\s+|n'|m'|s')*"
)
_GROUP: Final = (
    r"(?:los|las|els|les|the (?:guys|people|folks|ones|lot))"
    r" (?:de |del |d'|dels |of |at |in |from |over )(?:the |la |l'|el |los |les |els )?\w+"
)
_SUBJECTS: Final = (
    rf"{_DET}(?:[\w-]+ )?{any_of(_ELSEWHERE['person'])}",
    any_of(_ELSEWHERE["pronoun"]),
    _GROUP,
)
#: The action of a text: any verb in the third person, such as "caps", "toca" or "marque".
_VERB_FORMS: Final = (
    r"[a-z]{3,}(?<![sui])s(?!\w)|(?!(?:para|sobre|entre|contra|sense|sota|hasta|fora|fuera|antes"
    r"|desde|encara|llavors|donde|cada|esta|este)\b)[a-z]{3,}(?:[ae]|eix|uix)n?(?!\w)"
)
_PEOPLE: Final = re.compile(
    rf"(?<![\w'-])(?:{'|'.join(_SUBJECTS)}){_ASIDE}(?P<verb>{_DOES})(?![\w'])"
)
_TEXTS: Final = re.compile(
    rf"(?<![\w'-])(?:(?:(?:in|on|from|en|a|al|per|segons|segun)\s+)?(?:{_DET}(?:[\w-]+ )?)"
    r"|(?:al|als|del|dels)\s+)"
    rf"{any_of(_ELSEWHERE['document'])}{_ASIDE}(?:they |it |he |she |people )?"
    rf"(?!(?:has|have|had|te|tenen|tienen?|han?|van?|goes|gets?|got)\b)(?P<verb>{_DOES}|{_VERB_FORMS})(?![\w'])"
)
#: A person by name: "en Pep", "la Núria", "Priya lets hers", "Anna's spec has".
_NAME: Final = (
    r"(?P<article>(?:\b[Ee]n|\b[Ll]a|\b[Nn]a|\b[Ee]l)\s|\b[LlNnDd]')?"
    r"(?<![\w/.-])(?P<name>[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+)(?![\w/-])"
)
_NAMED: Final = re.compile(
    rf"{_NAME}(?P<own>(?:'s|\u2019s)\s+(?:\w+\s+)?(?:spec|config\w*|setup|run|file|version|notebook"
    rf"|script|settings|one|recipe|card|model))?{_ASIDE}(?P<verb>{_DOES})(?![\w'])"
)
_WHO: Final = (
    r"(?:(?:[Ee]n|[Nn]a|[Ee]l|[Ll]a|my|our|the|mi|su|el meu|la meva)\s|[LlNn]')?"
    r"(?P<name>[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+)(?![\w/-])"
)
#: "drop it to zero, Iker writes", "baja el dropout a cero, me escribe Iker".
_ATTRIBUTED: Final = re.compile(
    r",\s+(?:(?:me|nos|em|ens)\s|m')?(?:dice|escribe|pide|suelta|diu|escriu|demana|says|writes|asks"
    rf"|wrote|said)\s+{_WHO}"
)
#: "NVFP4 lo usa Tomás": the verb before the person.
_USED_BY: Final = re.compile(
    r"\b(?:l[oae]s?|ho|el|els|hi|en)\s+(?:usa|tiene|lleva|quiere|pide|fa servir|utilitza|utiliza|te"
    rf"|vol|porta|demana|corre|entrena)\s+{_WHO}"
)
#: "Anna wants Q8_0, I want Q5_K_M": a wish beside the writer's own.
_WANTS: Final = re.compile(
    rf"{_WHO}\s(?:wants?|needs?|prefers?|likes?|would like|vol|voldria|prefereix|necessita"
    rf"|quiere|prefiere|necesita)\s"
    r"(?P<what>[^.;!?\n]{2,40}?)"
    r"(?=,?\s(?:(?:and|but|i|y|pero|per\u00f2)\s)?(?:I|we|jo|nosaltres|yo|nosotros|a m\u00ed)\b)"
)
#: "la llavor d'en Pau \u00e9s la 7": the verb after a possessor.
_OF_PERSON: Final = re.compile(
    r"\b(?:d'en|de na|de la|del|de|d'|of)\s?(?P<name>[A-Z\u00c0-\u00de][a-z\u00df-\u00ff]+)\s"
    r"(?:\u00e9s|es|era|son|s\u00f3n|eran|eren|is|was|are|were)(?!\w)"
    r"|(?<![\w/.-])(?P<owner>[A-Z][a-z]+)(?:'s|\u2019s)\s(?:\w+\s){1,2}(?:is|was)(?!\w)"
)
#: Where a statement about somebody begins.
_BREAK: Final = re.compile(r"[;:!?\n]|\.(?=\s|$)|,\s|\b(?:y|i|and|but|pero)\b")
_PAST: Final = re.compile(
    r"(?<!like )(?<!as )(?<!same )(?<!since )(?<!com )(?<!como )(?<!que )(?<!from )(?<!de )"
    rf"(?<![\w'-]){any_of(_ELSEWHERE['past'])}(?![\w'])"
)
_WISH: Final = re.compile(rf"(?<![\w'-]){any_of(_ELSEWHERE['wish'])}")
_OWN: Final = re.compile(rf"(?<![\w'-]){any_of(_ELSEWHERE['own'])}(?![\w'])")
#: "the wiki says "rank 128", use 16": a demand after a pause.
_DEMAND: Final = re.compile(
    r"[,;:]\s*(?:(?:so|then|just|please|doncs|pues|asi que|aixi que)\s+)*"
    r"(?!(?:with|amb|con|only|just|nomes|solo|mejor|do|that|que)\b)"
    rf"(?:{any_of(WORDS['put'])}|{any_of(WORDS['acts'])})\s"
)
_PAUSE: Final = re.compile(r"[,;:]\s*|\s[-\u2013\u2014]\s")
_NOT: Final = re.compile(r"(?:\b(?:no|not|never|mai|nunca)|n't)\s+(?:\w+\s+)?$")
_HEEDED: Final = re.compile(
    rf"(?<![\w'-]){any_of(_ELSEWHERE['heeded'])}\s*"
    r"(?:(?:en|na|la|el|lo|my|mi|the|the one of)\s+|l')?(?P<who>[a-z]+)(?:'s)?"
)
_HEEDED_THEM: Final = re.compile(rf"(?<![\w'-]){any_of(_ELSEWHERE['heeded_them'])}(?![\w'])")
#: Advice for the writer, who passes it on as a wish: "she says that I should use QLoRA".
_ADVICE: Final = re.compile(rf"(?<![\w'-]){any_of(_ELSEWHERE['advice'])}(?![\w'])")
_THEM: Final = frozenset(
    [
        "him",
        "her",
        "them",
        "he",
        "she",
        "they",
        "his",
        "hers",
        "theirs",
        "that",
        "ell",
        "ella",
        "ells",
        "elles",
        "el",
        "ellos",
        "ellas",
        "eso",
        "aixo",
        "same",
        "mateix",
        "mismo",
    ]
)
#: Words with a capital letter that are not people.
_NO_NAMES: Final = frozenset(
    [
        "qwen",
        "llama",
        "mistral",
        "gemma",
        "phi",
        "colab",
        "kaggle",
        "slurm",
        "ollama",
        "unsloth",
        "axolotl",
        "lora",
        "dora",
        "adam",
        "it",
        "this",
        "that",
        "what",
        "when",
        "if",
        "how",
        "why",
        "the",
        "a",
        "an",
        "and",
        "but",
        "so",
        "then",
        "training",
        "evaluation",
        "hub",
        "github",
        "google",
        "kubernetes",
        "nvidia",
        "runpod",
        "lambda",
        "aws",
        "azure",
        "catalan",
        "spanish",
        "english",
        "french",
        "german",
        "es",
        "el",
        "la",
        "los",
        "las",
        "els",
        "les",
        "un",
        "una",
        "y",
        "i",
        "tu",
        "yo",
        "jo",
        "no",
        "si",
        "that's",
        "there",
        "here",
        "which",
        "who",
        "everything",
        "nothing",
        "my",
        "our",
        "mi",
        "nuestro",
        "meu",
        "qui",
        "quien",
        "que",
        "com",
        "como",
    ]
)


@lru_cache(maxsize=8)
def find_elsewhere(text: str) -> Sequence[Span]:
    """Return the ranges of a text about other people's actions, the past, and wishes."""
    folded = fold(text)
    found = [*find_people(text), *_past(folded)]
    found += [(each.start(), _end(folded, each.end())) for each in _WISH.finditer(folded)]
    adopted = find_heeded(text)
    return [part for span in found for part in _outside(span, adopted)]


@lru_cache(maxsize=8)
def find_people(text: str) -> Sequence[Span]:
    """Return the ranges about statements and actions of people and texts, without advice."""
    folded = fold(text)
    spans = dict.fromkeys(_people(text, folded))
    return [(start, end) for start, end in spans if not _ADVICE.search(folded, start, end)]


def find_past(text: str) -> Sequence[Span]:
    """Return the ranges of a text about the past."""
    return list(_past(fold(text)))


@lru_cache(maxsize=8)
def find_reports(text: str) -> Sequence[Span]:
    """Return the ranges about statements and actions of people and texts, including advice."""
    return list(_people(text, fold(text)))


@lru_cache(maxsize=8)
def find_heeded(text: str) -> Sequence[Span]:
    """Return the ranges of statements that the message adopts: "I'll do what Pau says"."""
    folded = fold(text)
    spans = [*_people(text, folded), *_past(folded)]
    found: list[Span] = []
    for match in _HEEDED.finditer(folded):
        if _NOT.search(folded[: match.start()]):
            continue
        for start, end in spans:
            if start <= match.start() < end:
                continue
            who = re.search(rf"\b{match['who']}\b", folded[start:end])
            if match["who"] in _THEM:
                found.append((start, end))
            elif who is not None:
                first = start + who.start()
                pause = _PAUSE.search(folded, first, end)
                found.append((first, pause.start() if pause else end))
    for match in _HEEDED_THEM.finditer(folded):
        found += [span for span in spans if span[1] <= match.start()]
    return found


def adopt(
    text: str, told: Sequence[Change | Choice], read: Callable[[str], Sequence[Change]]
) -> list[Change | Choice]:
    """Return the values, with a change for each value of a person whom the message follows.

    Words that may be a value of a field are read with the field's name.
    """
    spans = find_heeded(text)
    return [_adopted(each, read) if _is_in(text, each, spans) else each for each in told]


def drop_unheeded(text: str, told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values; for fields that the followed people name, only their values."""
    spans = find_heeded(text)
    fields = {each.pointer for each in told if _is_in(text, each, spans)}
    return [each for each in told if each.pointer not in fields or _is_in(text, each, spans)]


def _is_in(text: str, said: Change | Choice, spans: Sequence[Span]) -> bool:
    return any(
        first <= start and end <= last
        for start, end in find_places(text, said.words)[:1]
        for first, last in spans
    )


def _adopted(said: Change | Choice, read: Callable[[str], Sequence[Change]]) -> Change | Choice:
    if isinstance(said, Change) or len(said.values) > 1:
        return said
    if said.values:
        return Change(pointer=said.pointer, value=said.values[0], words=said.words)
    name = said.pointer.rpartition("/")[2].replace("_", " ")
    same = [each for each in read(f"{name} {said.words}") if each.pointer == said.pointer]
    return Change(pointer=said.pointer, value=same[0].value, words=said.words) if same else said


def _people(text: str, folded: str) -> Iterator[Span]:
    """Yield the statements and actions of people and texts, up to the end of the sentence."""
    for pattern in (_PEOPLE, _TEXTS):
        for match in pattern.finditer(folded):
            yield match.start(), _end(folded, match.end())
    for match in _ATTRIBUTED.finditer(text):
        if fold(match["name"]) not in _NO_NAMES:
            yield find_around(SENTENCE_END, folded, match.span())[0], match.end()
    for match in _WANTS.finditer(text):
        if fold(match["name"]) not in _NO_NAMES and _is_name(match["name"]):
            yield match.span()
    for match in _OF_PERSON.finditer(text):
        name = match["name"] or match["owner"]
        if fold(name) not in _NO_NAMES and _is_name(name):
            yield find_around(_BREAK, folded, match.span())[0], _end(folded, match.end())
    for match in _USED_BY.finditer(text):
        if fold(match["name"]) not in _NO_NAMES:
            yield find_around(_BREAK, folded, match.span())[0], match.end()
    for match in _NAMED.finditer(text):
        first = find_around(SENTENCE_END, folded, (match.start(), match.start()))[0]
        begins = not folded[first : match.start()].strip(" \t\n\"'\u201c\u00ab(")
        known = fold(match["name"]) in _NO_NAMES
        if not known and (
            not begins or match["own"] or match["article"] or _is_name(match["name"])
        ):
            yield match.start(), _end(folded, match.end())


def _is_name(word: str) -> bool:
    """Return whether the first word of a sentence is a name, and not a request word."""
    known = read_words(("grammar", "request", "thing", "machine", "lead", "determiner"))
    return fold(word) not in known | asking_forms()


def _past(folded: str) -> Iterator[Span]:
    """Yield the clauses about the past, up to the end of the sentence."""
    for match in _PAST.finditer(folded):
        first = find_around(SENTENCE_END, folded, match.span())[0]
        cuts = [each.end() for each in _PAUSE.finditer(folded, first, match.start())]
        cuts += [each.start() for each in _OWN.finditer(folded, first, match.start())]
        yield max(cuts, default=first), _end(folded, match.end())


def is_advice(folded: str, start: int, end: int) -> bool:
    """Return whether a range is advice for the writer: "they say that I should use QLoRA"."""
    return _ADVICE.search(folded, start, end) is not None


def find_own(folded: str, start: int, end: int) -> Sequence[Span]:
    """Return the words of a range that turn to the writer's own settings: "but", "this time"."""
    return [match.span() for match in _OWN.finditer(folded, start, end)]


def _end(folded: str, place: int) -> int:
    """Return the end of the sentence after a place, or the turn to the writer's own settings."""
    end = SENTENCE_END.search(folded, place)
    stop = end.start() if end else len(folded)
    turns = (pattern.search(folded, place, stop) for pattern in (_OWN, _DEMAND))
    return min((each.start() for each in turns if each), default=stop)


def _outside(span: Span, others: Sequence[Span]) -> Iterator[Span]:
    """Yield the parts of a range that lie outside of others."""
    start, end = span
    for first, last in sorted(others):
        if first < end and start < last:
            if start < first:
                yield start, first
            start = last
    if start < end:
        yield start, end
