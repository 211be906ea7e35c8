"""Finds the sentences of a message, its questions, and its plans for a later training."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.objectives import ABBREVIATED
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import IN_PATTERN, fold

_SENTENCE: Final = re.compile(rf"(?:[^.?!;\n]|[.](?=\S)|\?(?={IN_PATTERN}))+[.?!;]*")
_ASKING: Final = WORDS["asking"]
_LEAD: Final = re.compile(
    rf"^(?:[\s,\u00bf\u00a1]*\b{any_of(WORDS['questions']['lead'])}\b[\s,]+)+"
)
_REQUEST: Final = re.compile(rf"^[\s\u00bf]*{any_of(_ASKING['please'])}\b")
#: "I have a 4080 and a file, could you set up a training with Qwen?".
_REQUEST_BEHIND: Final = re.compile(
    rf"[,;:]\s*(?:(?:so|then|and|i|y|doncs|pues|aixi que|asi que)\s+)?{any_of(_ASKING['please'])}\b"
)
_OPENING: Final = re.compile(rf"^[\s\u00bf]*{any_of(_ASKING['opening'])}\b")
#: Words that are interrogative only with an accent: "cómo" asks, "como" compares. "Qué bien" is an
#: exclamation.
_ACCENTED: Final = re.compile(
    r"(?:qué|què|cómo|cuándo|dónde|adónde|quién(?:es)?|cuál(?:es)?|cuánt[oa]s?)"
    r"(?!\s+(?:bien|bueno|va|guay|pena|lástima|raro|lío|bé|bo|llàstima)\b)\b(?!.*!$)"
)
#: A word before a colon is a label and does not begin a question: "quants: q6_k, q8_0".
_LABEL: Final = re.compile(r"[\s\u00bf]*\w+\s?:")
#: "If I switched to ORPO, would I ...": the condition of a question is not a proposal.
_SUPPOSED: Final = re.compile(
    r"^(?:(?:if|si)\s|(?:and|but|i|y|pero) (?:if|si)\s)"
    r"|\bif (?:i|we|you|one) (?:ever )?(?:were to|went|took|did|had|chose|\w{2,}ed)\b"
    r"|\bsi (?:\w+ ){0,2}?\w{3,}(?:ara|iera|ase|iese|aramos|ieramos|asemos|iesemos|essim|issim)\b"
)
#: Questions for a fact, a comparison or advice.
_SEEKS: Final = re.compile(
    r"^(?:how|what|which|why(?:'?s)?|when|where|who|is|are|was|does|do|did|should|must|has|have"
    r"|quin(?:a|s|es)?|quant(?:a|s|es)?|com|per que|on|qui|es|son|cal|hauria|hi ha"
    r"|cual(?:es)?|cuant[oa]s?|que|como|por que|donde|quien|debo|deberia|hay)\b"
    r"|\b(?:or|o|vs|versus|better|worse|best|enough|fits?|faster|slower|cheaper|worth|difference"
    r"|instead|millor|pitjor|prou|hi cap|mejor|peor|suficiente?|cabe|cabria|diferenci\w+"
    r"|val[ae]? la pena)\b"
)
#: "how much quality do I lose with int8, more or less?": "more or less" is not a question tag.
_ASKS_WHAT: Final = re.compile(
    r"(?:(?:how|what)(?! about)|which|why(?:'?s)?|when|where|who|quin\w*"
    r"|quant\w*|cual\w*|cuant\w*|por que"
    r"|per que|donde|quien)\b"
)
#: "q4 vs q8, which one answers better"
_BETWEEN_TWO: Final = re.compile(
    r",\s*(?:which (?:one|is)|what(?:'s| is) (?:better|best)|quin (?:es|va|respon|dels)|quina es"
    r"|cual (?:es|va|responde|de))\b"
)
#: Words that make a sentence a question from its beginning.
_OPENS: Final = re.compile(
    r"(?:(?:can|could|may|should|would|will|must) (?:i|we|one|you|it|this|that)|is it|is there"
    r"|are there"
    r"|does|do (?:i|we|you)|es pot|es podria|puc|podem|podria|puedo|podemos|podria|se puede|se"
    r" podria"
    r"|cal que|hi ha|hay|es possible|es posible)\b"
)
_WORD: Final = re.compile(
    r"(?:how|what|which|where|when|why|who|com|que|quin\w*|on|quan|per que|como|cual\w*|donde"
    r"|cuando|por que)\b"
)
_TAG: Final = re.compile(rf"[,\s]+{any_of(_ASKING['tag'])}\s*\?+$")
#: In a pattern for a later training: any objective whose name is no word.
_OBJECTIVE: Final = f"(?:{'|'.join(ABBREVIATED)})"
_TRAINING, _LATER = (
    re.compile(rf"\b{any_of(_ASKING[about])}\b".replace("{objective}", _OBJECTIVE))
    for about in ("training", "later")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A range of a message as written; `asks` is set if it is a question."""

    start: int
    end: int
    asks: bool


def split_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text, from left to right."""
    for match in _SENTENCE.finditer(text):
        if match[0].strip():
            yield Sentence(start=match.start(), end=match.end(), asks=is_question(match[0]))


def is_question(sentence: str) -> bool:
    """Return whether a sentence asks; "can you use LoRA?" and "LoRA, ok?" are requests."""
    written = sentence.strip()
    folded = _LEAD.sub("", fold(written))
    asked = written[len(written) - len(folded) :].lstrip(" \u00bf").lower()
    if folded.endswith("?") and _ASKS_WHAT.match(folded.lstrip(" \u00bf")):
        return True
    if _BETWEEN_TWO.search(folded):
        return True
    if _REQUEST.match(folded) or _REQUEST_BEHIND.search(folded) or _TAG.search(folded):
        return False
    opening = _OPENING.match(folded) or _ACCENTED.match(asked)
    opens = opening is not None and _LABEL.match(folded) is None
    return folded.endswith("?") or "\u00bf" in sentence or opens


def asks_what(question: str) -> bool:
    """Return whether a question has a question word, so that yes or no is no answer to it."""
    return _WORD.match(_LEAD.sub("", fold(question.strip())).lstrip(" \u00bf")) is not None


def only_asks(text: str) -> bool:
    """Return whether all sentences of a text are questions."""
    sentences = list(split_sentences(text))
    return bool(sentences) and all(sentence.asks for sentence in sentences)


def proposes(question: str) -> bool:
    """Return whether a question proposes its value: "Could Gemma 2B learn that?".

    A question for a fact, a comparison or advice, or one with a supposition, proposes nothing.
    """
    folded = fold(question).strip(" \u00bf\u00a1")
    if _SUPPOSED.search(folded) is not None:
        return False
    return _SEEKS.search(_LEAD.sub("", folded)) is None


def outside_openings(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of sentences that begin with neither a question nor its supposition.

    "I have a 4090, is that enough?" begins with a statement; "can one do DPO, or not?" does not.
    """
    for match in _SENTENCE.finditer(text):
        folded = fold(match[0]).strip(" \u00bf\u00a1\n")
        opening = _OPENS.match(_LEAD.sub("", folded)) or _SUPPOSED.match(folded)
        opens = opening is not None and folded.endswith("?")
        if not (opens and is_question(match[0])):
            yield match.span()


def is_about_later(folded: str) -> bool:
    """Return whether a folded text is about another training after this one."""
    return _LATER.search(folded) is not None and _TRAINING.search(folded) is not None
