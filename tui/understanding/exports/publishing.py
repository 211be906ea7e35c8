"""Reads the options of publishing: the licence, and whether the repository is private."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ftc.tui.understanding.reading import Change, Choice
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message, find_words, fold

_REPOSITORY: Final = "/publish/repo"
_PRIVATE: Final = "/publish/private"
_QUIET: Final = re.compile(
    r"[\s,;(]*(?:(?:and|i|y|as|but|pero|keep|make|it|kept|en|que|sea|sigui|a|un|una|repo)\s+){0,4}"
    r"(?P<word>(?P<public>public[oa]?|(?:en )?obert[ao]?|(?:en )?abiert[oa]|openly|in the open)"
    r"|private(?:ly)?|privat|privad[oa])(?:\s+repo\w*)?(?=\s*(?:$|[.,;!)]|(?:and|i|y)\b))"
)
#: Between the verb and the repository: "publish it openly as ...".
_SAID: Final = re.compile(
    r"\b(?:(?P<open>public(?:ly)?|open(?:ly)?|en (?:public|publico|obert|abierto)|obert|abierto)"
    r"|private(?:ly)?|en privat|en privado|privat|privado)\b(?=.*/)"
)
#: Anywhere in the message: "open to everyone", "que només ho vegi jo".
_SEEN_BY: Final = re.compile(
    r"\b(?:(?P<open>(?:open|visible|available|obert[ao]?|abiert[ao]|accessible|disponible)"
    r" (?:to|for|a|per a|para) (?:every(?:one|body)|any(?:one|body)|all|the world|tothom|todos"
    r"|todo el mundo|cualquiera)"
    r"|(?:any(?:one|body)|every(?:one|body)) (?:can|may|to|is able to) (?:see|download|use|get)\w*"
    r"|(?:ho|lo|la|el) (?:vegi|vea|baixi|baje|descarregui|descargue|pugui veure|pueda ver)n?"
    r" (?:tothom|todo el mundo|cualquiera|qualsevol))"
    r"|only (?:i|we|me|us) (?:can|may|should|to) (?:see|download|use|get)\w*"
    r"|(?:only |just )?(?:visible )?(?:to|for) (?:me|us) (?:only|alone)"
    r"|(?:nomes|solo) (?:ho|lo) (?:vegi|vegem|vea|veamos|pugui veure|pueda ver) (?:jo|yo|nosaltres"
    r"|nosotros)|(?:nomes|solo) (?:per a|para) (?:mi|nosaltres|nosotros))\b"
)

#: A part of a list: "adapter only, llic mit, public".
_APART: Final = re.compile(
    r"[,;(/|]\s*(?P<word>(?P<public>public[oa]?)|private|privat|privad[oa])(?:\s+repo\w*)?"
    r"(?=\s*(?:$|[,.;!)/|]))"
)
_ONLY: Final = re.compile(r"\b(?:only|just|nomes|solo|solamente)\b")


#: "ponle licencia apache-2.0", "release it under an MIT license".
_LICENSED: Final = re.compile(
    r"\b(?:(?:give|put|publish|release|upload|share|push|pon(?:le)?|publica(?:lo|-ho)?|sube(?:lo)?"
    r"|posa(?:-li|-hi)?|puja(?:-ho|'l)?) (?:it |them )?)(?:(?:under|with|con|bajo|amb|sota) )?"
    r"(?:(?:an?|the|una?|la|el) )?"
    r"(?:(?:licen[cs]ia|llicencia|licen[cs]e) (?P<after>[a-z][\w.-]*\d?)"
    r"|(?P<before>[a-z][\w.-]*(?: \d(?:\.\d)?)?) licen[cs]e)(?=\s*(?:$|[.,;!)]|(?:and|i|y)\b))"
)


#: "don't push it to the hub", and no repository: "do not publish it as acme/x".
_UNPUBLISHED: Final = re.compile(
    r"(?:\b(?:do not|don't|dont|never|no need to|not|no (?:ho |lo |la |cal |quiero |vull )*)\s*)"
    r"(?:push|publish|upload|publi(?:qu|c)\w+|puj\w+|sub(?:as|ir|irlo|irla)\w*)"
    r"(?: (?:it|this|anything|the (?:result|model)|res|nada))?"
    r"(?: (?:to|on|a|al|en) (?:the |el )?(?:hub|hugging ?face))?(?=\s*(?:$|[.,;!]))"
)
_PUBLISHED: Final = re.compile(rf"\b{any_of(WORDS['publish'])}(?!\w)")
#: A sentence that is only about the licence.
_ABOUT_LICENCE: Final = re.compile(
    r"\W*(?:(?:the|its|la|make|use|set|put|pon|posa|under|with|amb|con) )*"
    r"l?l?icen[cs]i?\w*\s*(?:=|:|should|must|is\b|has to|ha de|debe|sea|sigui|to\b|as\b|\w+\W*$)"
)


def publishes(message: Message, draft: Mapping[str, Any]) -> bool:
    """Return whether a licence is for the result, and not a wish about the model."""
    if draft.get("publish") is not None or _PUBLISHED.search(message.plain):
        return True
    return draft.get("model") is not None and _ABOUT_LICENCE.match(message.plain) is not None


def read_publishing(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the licence under which the result is published, or that it is not published."""
    yield from _read_licence(message)
    yield from _read_unpublished(message, draft)


def _read_licence(message: Message) -> Iterator[Change]:
    for match in message.take(_LICENSED):
        group = "after" if match["after"] else "before"
        name = re.sub(r"\s+", "-", message.words(*match.span(group)).lower())
        words = message.words(*match.span())
        yield Change(pointer="/publish/licence", value=name, words=words)


def _read_unpublished(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the removal of the draft's publishing: "don't push", "no ho publiquis"."""
    section = draft.get("publish")
    if not isinstance(section, Mapping) or not section:
        return
    for match in message.take(_UNPUBLISHED):
        words = message.words(*match.span())
        for name in section:
            yield Change(pointer=f"/publish/{name}", value=None, words=words)
        return


def _published(each: Change | Choice) -> Change | Choice:
    """Return what is published, if a repository is named beside "only the adapter"."""
    alone = each.pointer == "/export/adapter" and _ONLY.search(fold(each.words)) is not None
    if not alone or not isinstance(each, Change) or each.value is not True:
        return each
    return Change(pointer="/publish/what", value=["adapter"], words=each.words)


def settle_privacy(said: Sequence[Change | Choice], text: str) -> list[Change | Choice]:
    """Return the values, with the visibility that a word after the repository gives."""
    repository = next((each for each in said if each.pointer == _REPOSITORY), None)
    if repository is not None:
        said = [_published(each) for each in said]
    if repository is None or any(each.pointer == _PRIVATE for each in said):
        return list(said)
    open_or_not = _SAID.search(fold(repository.words))
    if open_or_not is not None:
        hidden = open_or_not["open"] is None
        return [*said, Change(pointer=_PRIVATE, value=hidden, words=repository.words)]
    place = find_words(text, repository.words)
    found = _QUIET.match(fold(text), place + len(repository.words)) if place >= 0 else None
    found = found or _APART.search(fold(text))
    if found is None and (seen := _SEEN_BY.search(fold(text))) is not None:
        words = text[slice(*seen.span())]
        return [*said, Change(pointer=_PRIVATE, value=seen["open"] is None, words=words)]
    if found is None:
        return list(said)
    words = text[slice(*found.span("word"))]
    hidden = (found["public"] is None) != _is_denied(text, place)
    return [*said, Change(pointer=_PRIVATE, value=hidden, words=words)]


def _is_denied(text: str, place: int) -> bool:
    """Return whether the text at a place is negated: "never push it in public"."""
    message = Message(text)
    folded = next((at for at, span in enumerate(message.origin) if span[0] >= place), 0)
    return place >= 0 and message.denied(folded)
