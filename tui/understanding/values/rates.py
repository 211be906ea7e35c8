"""Reads learning rates beside other values: "3 epochs at 2e-4", "5e-5 but 1e-5 on the head".

A number with a negative exponent is a rate. After "at" it belongs to the run and not to the name
before it, if that name has its own number.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.spec.schema import fields_by_pointer
from ftc.spec.values.admission import admits
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import NUMBER, WORDS, any_of
from ftc.tui.understanding.text.message import Message
from ftc.tui.understanding.text.numbers import as_written, read_number

_RATE: Final = "/training/learning_rate"
_TEMPERATURE, _SCALE = "/objective/temperature", "/objective/similarity_scale"
_EMBEDDINGS: Final = "/training/embedding_learning_rate"
RATE: Final = r"\d+(?:[.,]\d+)?e-\d+"
_AT: Final = (
    r"\s*(?:@|\b(?:at|a|amb|con|with|w/|using|en)\b)\s*(?:(?:a|un|una|the|el) )?"
    r"(?:lr (?:of |de |d')?)?"
)
_COUNTED: Final = tuple(
    (
        pointer,
        re.compile(
            rf"(?<![\w.,-])(?P<number>{NUMBER})\s*{any_of(words)}{_AT}(?P<rate>{RATE})(?![\w.])"
        ),
    )
    for pointer, words in WORDS["quantities"].items()
    if pointer != _RATE
)
_EMBEDS: Final = (
    r"(?:(?:input |token |word |new )?emb(?:ed(?:ding)?s?)?|lm[_ -]?head|output head|new tokens"
    r"|(?:tokens? |fichas )?(?:nous|nuevos) tokens?|tokens (?:nous|nuevos))"
)
_THE: Final = r"(?:(?:the|els?|la|les|los|las|l'|ambos|both|tots?|all)\s+){0,2}"
#: "lr 5e-5 but 1e-5 on the embeddings", "1e-5 for the embeddings".
_OF_EMBEDDINGS: Final = re.compile(
    rf"(?<![\w.])(?P<rate>{RATE})(?:\s+lr)?\s+(?:on|for|in|en|a|als|als|para|per als?|per)\s+"
    rf"{_THE}{_EMBEDS}(?![\w-])"
)
#: "embeddings at 2e-5", "els embeddings i el lm_head amb lr 1e-5".
_EMBEDDINGS_AT: Final = re.compile(
    rf"(?<![\w/.-]){_EMBEDS}(?:\s*(?:,|\+|/|&|and|i|y)\s*{_THE}(?:{_EMBEDS}|head(?!\w)))*"
    r"(?:\s+(?:(?P<trained>trained|unfrozen|entrena\w*|descongela\w*)|training|too|also|tambe"
    r"|tambien|sencers?|enter[ao]s|fully|whole|get|gets|take|use|usa\w*|llev\w+)){0,3}"
    rf"\s*(?:\(|@|=|:|\b(?:at|a|amb|con|with|w/|using|en)\b)\s*(?:(?:a|un|una|the|el)\s+)?"
    rf"(?:(?:peak )?(?:lr|learning rate|taxa|tasa)\s*(?:of|de|d'|=|:)?\s*)?"
    rf"(?P<rate>{RATE})(?:\s+(?:lr|learning rate))?(?![\w.])"
)
#: "lr of embeddings/head 5e-6", "la taxa dels embeddings, 1e-5".
_RATE_OF: Final = re.compile(
    r"\b(?:lr|learning rate|rate|taxa(?: d'aprenentatge)?|tasa(?: de aprendizaje)?|ritmo?)"
    rf"\s+(?:of|for|on|de|dels?|per als?|para)\s+{_THE}{_EMBEDS}"
    rf"(?:\s*(?:,|\+|/|&|and|i|y)\s*{_THE}(?:{_EMBEDS}|head|cap|cabeza))*"
    rf"(?:\s*[=:,]\s*|\s+(?:(?:at|to|is|a|en|es)\s+)?)(?P<rate>{RATE})(?![\w.])"
)
#: "also train the embeddings at 2e-5" trains them, too.
_ALSO: Final = re.compile(
    r"\b(?:(?:also|tambe|tambien)\s+)?(?:train\w*|tun(?:e|ing)|unfreez\w+|entren\w+|descongel\w+"
    r"|modules_to_save|also_train)\s*[=:]?\s*(?:(?:also|too|tambe|tambien)\s+)?"
    r"(?:(?:the|els?|la|les|los|las)\s+)?$|\+\s*(?:(?:the|els|los)\s+)?$"
)
_PARTS: Final = {
    "embeddings": re.compile(r"emb|token"),
    "head": re.compile(r"head"),
}
#: "give those a 1e-5 lr", "que aquells vagin a 2e-5": the last thing before the clause.
_OF_THOSE: Final = re.compile(
    r"\b(?:those|these|them|both|they|aquests?|aquells?|ambdos|els dos|eixos|esos|estos|ellos|ambos"
    r"|los dos|[ea]stas|esas)\b[^.;!?\n\d]{0,36}?"
    rf"(?P<rate>{RATE})(?:\s+(?:lr|learning rate))?(?![\w.])"
)
#: Things without their own rate; "those" refers to one only if nothing else is between.
_EMBEDS_BEFORE: Final = re.compile(rf"(?<![\w/.-]){_EMBEDS}(?![\w-])[^.;!?\n]*$")
_DECAYS: Final = re.compile(
    rf"\b(?:decay(?:ing|s)?|annealed|down|baja|baixa)\s+(?:from|desde|des de)\s+"
    rf"(?P<rate>{RATE})(?![\w.])"
)


def read_rates(message: Message) -> Iterator[Change]:
    """Yield the rates of these forms, with the counts before them."""
    for match in list(_OF_EMBEDDINGS.finditer(message.folded)):
        yield from _taken(message, _EMBEDDINGS, match["rate"], match.span())
    for match in list(_RATE_OF.finditer(message.folded)):
        yield from _taken(message, _EMBEDDINGS, match["rate"], match.span())
    for match in list(_EMBEDDINGS_AT.finditer(message.folded)):
        trained = _ALSO.search(message.folded[: match.start()])
        first = trained.start() if trained else match.start()
        words = message.words(first, match.end())
        found = list(_taken(message, _EMBEDDINGS, match["rate"], (first, match.end())))
        yield from found
        if (trained or match["trained"]) and found:
            names = [name for name, said in _PARTS.items() if said.search(match[0])]
            yield Change(pointer="/method/also_train", value=names, words=words)
    for match in list(_OF_THOSE.finditer(message.folded)):
        if _EMBEDS_BEFORE.search(message.plain[: match.start()]):
            yield from _taken(message, _EMBEDDINGS, match["rate"], match.span())
    for match in list(_DECAYS.finditer(message.folded)):
        yield from _taken(message, _RATE, match["rate"], match.span("rate"))
    for pointer, pattern in _COUNTED:
        for match in list(pattern.finditer(message.folded)):
            number = read_number(match["number"], kilo=1000)
            if number is None or not admits(pointer, as_written(number)):
                continue
            if message.denied(match.start()):
                continue
            words = message.words(match.start(), match.start("rate"))
            rate = message.words(*match.span("rate"))
            message.cross_out(*match.span())
            yield Change(pointer=pointer, value=as_written(number), words=words)
            yield Change(pointer=_RATE, value=read_number(match["rate"]), words=rate)


def as_scale(said: Change | Choice, message: Message, draft: Mapping[str, Any]) -> Change | Choice:
    """Return the similarity scale of a temperature, its inverse: 20 for 0.05."""
    if said.pointer != _TEMPERATURE or not isinstance(said, Change) or not said.value:
        return said
    known = fields_by_pointer()
    sampled = applies(known[_TEMPERATURE], message, draft)
    if sampled is not False or not applies(known[_SCALE], message, draft):
        return said
    return replace(said, pointer=_SCALE, value=as_written(round(1 / said.value, 4)))


def _taken(message: Message, pointer: str, rate: str, span: tuple[int, int]) -> Iterator[Change]:
    if not message.denied(span[0]):
        words = message.words(*span)
        message.cross_out(*span)
        yield Change(pointer=pointer, value=read_number(rate), words=words)
