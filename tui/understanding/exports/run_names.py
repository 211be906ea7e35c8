"""The name of a run: "new run called rag-v2", "run: prova-1".

It is the tracker's name of the run if the draft or the message has a tracker with such names, and
the spec's own name otherwise. A model after the word is not a name: "MoE run: qwen3-30b-a3b".
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.well_known.model_names import PART, find_said, names_a_family
from ftc.spec.schema import find_field
from ftc.tui.understanding.applying import applies
from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import QUOTES
from ftc.tui.understanding.text.message import Message, fold

_RUN: Final = "/tracking/run"
_NOUN: Final = (
    r"(?<![\w./-])(?:(?:run|execucio|ejecucion|corrida)(?:[ _-]?(?:name|nom|nombre))?"
    r"|nom (?:de l'execucio|del run)|nombre (?:de la ejecucion|del run))(?![\w-])"
)
_CALLED: Final = (
    r"(?:called|named|titled|anomenad[ao]|nombrad[ao]|llamad[ao]|titulad[ao]|(?:que )?es diu"
    r"|(?:que )?es dira|(?:que )?se (?:llama|llame|llamara)"
    r"|(?:que )?(?:salga|aparezca|conste|surti|aparegui|consti|shows? up|appears?)"
    r" (?:como|com a?|as)"
    r"|(?:que )?es dig(?:ui|a)|name|nom|nombre|(?:s'ha|ha) de dir(?:-se)?|(?:se )?(?:tiene"
    r"|ha) (?:que|de)"
    r" llamar(?:se)?)"
)
_NAME: Final = rf"{QUOTES}?(?P<name>[a-z0-9][\w.-]*\w){QUOTES}?"
_ENDS: Final = (
    r"(?=\s*(?:$|[,;!)\n\x00]|\.(?:\s|$)|\b(?:and|i|y|with|amb|con|on|in|en|a|for|per|para)\b))"
)
_NAMED: Final = re.compile(
    rf"{_NOUN}(?:\s*[:=]\s*(?![:=])|\s+(?:is |to be |(?:should|must|will|has to) be "
    rf"|es )?{_CALLED}\s*:?\s*"
    r"|(?P<bare>,?\s+)(?=[\w.]*[\d_-]))"
    rf"{_NAME}{_ENDS}"
)
#: "the project is called spam and the run": a name like a model's belongs to the run, too.
_WITH_PROJECT: Final = re.compile(
    r"\b(?:project|projecte|proyecto|experiment\w*)\b[^.;!?\n]{0,60}?(?:,|\b(?:and|i|y))\s(?:(?:the|la)\s|l')?$"
)
#: "change the name, demo looks awful... churn-bot": the new name comes last.
_RENAMED: Final = re.compile(
    r"\b(?:change|cambia(?:le|me)?|canvia(?:-li|-me|'m)?) (?:(?:the|its|my|el|lo) )?"
    r"(?:name|nombre|nom)(?: (?:of the|del?) (?:project|proyecto|projecte|it|this))?\b"
    r"(?! (?:of|del?|d')\b)[^\n\"\x00]{0,60}?(?:\.{2,}|\u2026|:|->|\u2192|\s[-\u2013\u2014])\s*"
    rf"{QUOTES}?(?P<name>[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+){QUOTES}?\s*[.!]?\s*$"
)
#: "MoE run: ...": the kind of run belongs to the label.
_LED: Final = re.compile(rf"(?:(?<![\w./-])[a-z][\w-]*\s)?{_NOUN}\s*:\s*")
#: The form of a name after the bare word "run": "run prova-1", but not "run q4_k_m".
_TELLING: Final = re.compile(r"[a-z]{2,}\w*(?:-\w+)*[-_]?v?\d+")
_MODEL: Final = re.compile(r"[\w./-]*\w")
_LONGEST: Final = 63


def read_run_names(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the name of the run, and hide the word "run" if a model follows it."""
    tracked = applies(find_field(_RUN), message, draft) is True
    for match in list(_NAMED.finditer(message.folded)):
        name = message.words(*match.span("name"))
        if message.denied(match.start()) or (match["bare"] and not (tracked or _is_name(name))):
            continue
        with_project = tracked and _WITH_PROJECT.search(message.plain[: match.start()])
        if (find_said(name) and not with_project) or not re.search(
            r"[^\W\d]", name
        ):  # "prev run: 50"
            continue
        value = name if tracked else _slug(name)
        words = message.words(*match.span())
        message.cross_out(*match.span())
        yield Change(pointer=_RUN if tracked else "/name", value=value, words=words)
    renamed = _RENAMED.search(message.folded)
    if renamed is not None and not message.denied(renamed.start()):
        words = message.words(*renamed.span())
        name = message.words(*renamed.span("name"))
        message.cross_out(*renamed.span())
        yield Change(pointer="/name", value=_slug(name), words=words)
    for match in list(_LED.finditer(message.folded)):
        first = PART.match(message.folded, match.end())
        named = _MODEL.match(message.folded, match.end())
        family = first is not None and names_a_family(first[0])  # "run: mistral 7b, lora"
        if family or (named is not None and find_said(named[0])):
            message.cross_out(*match.span())


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", fold(name)).strip("-")[:_LONGEST]


def _is_name(name: str) -> bool:
    return _TELLING.fullmatch(fold(name)) is not None and "-" in name
