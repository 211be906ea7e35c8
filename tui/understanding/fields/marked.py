"""Values recognised by their form: a finding's code, a template, a pattern, a new token.

"No m'avisis més del FTC152", "templates/shop.jinja", "`<order>` and `</order>` as single words".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ftc.compiler.knowledge.objectives import REWARDED
from ftc.spec.values.admission import admits
from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.lexicon import QUOTES
from ftc.tui.understanding.text.message import SENTENCE_END, Message
from ftc.tui.understanding.text.sentences import split_sentences

_CODE: Final = re.compile(r"(?<!\w)ftc\d{3}(?!\w)")
_TEMPLATE: Final = re.compile(r"(?<!\S)[\w./~-]+\.(?:jinja2?|j2)(?![\w/])")
_PATTERN: Final = re.compile(r"(?<!\S)(?=\S*(?:\.\*|\\\.))(?=\S*[a-z_]{3})\S+?(?=,?(?:\s|$))")
_MODULE: Final = re.compile(r"(?<![\w/.])[\w./~-]+\.py(?![\w/])")
_TOKEN: Final = re.compile(r"<(?:/?[a-z][\w-]*|\|[\w-]+\|)>|\[[a-z][\w-]*\](?=\s|,|$)")
_AS_TOKENS: Final = re.compile(
    r"(?<![a-z])(?:tokens?|words?|paraul(?:a|es)|palabras?|vocabular\w+|symbols?|marks?|etiquet(?:a|es|as))\b"
)
_PREFIX: Final = re.compile(rf"(?<!\w){QUOTES}(?P<text>[^\"'`\n]{{1,40}}?: ?){QUOTES}")
_OF_DOCUMENT: Final = re.compile(
    r"\b(?:doc\w*|passages?|pass?atges?|pasajes?|answers?|respost\w+|respuestas?|textos?)\b"
)
_OF_QUERY: Final = re.compile(
    r"\b(?:quer(?:y|ies)|questions?|consult\w+|pregunt\w+|cerc\w+|search)\b"
)
_EMBEDS: Final = re.compile(
    r"\b(?:embed\w*|prefix\w*|prefij\w*|queries|query|consult\w+|cerqu\w+|busqued\w+|vectors?)\b"
)
_QUERY, _DOCUMENT = "/objective/query_prompt", "/objective/document_prompt"
_NAMED_TOOLS: Final = re.compile(
    rf"\b(?:tools?|eines|herramient\w+|func\w+|{'|'.join(REWARDED)})\b"
)


def read_marked(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the values recognised by their form; several items form one list."""
    if not _asks_about_code(message):
        yield from _listed(message, "/allow", _CODE, str.upper)
    if _AS_TOKENS.search(message.plain):
        yield from _listed(message, "/model/new_tokens", _TOKEN, str)
    if _NAMED_TOOLS.search(message.plain) or value_at(draft, "/objective/type") in REWARDED:
        yield from (
            replace(each, value=each.value[0]) if len(each.value) == 1 else each
            for each in _listed(message, "/objective/tools", _MODULE, str)
        )
    for pointer, pattern in (
        ("/model/chat_template", _TEMPLATE),
        ("/method/target_pattern", _PATTERN),
    ):
        for match in list(pattern.finditer(message.folded)):
            value = message.words(*match.span())
            if not message.denied(match.start()) and admits(pointer, value):
                message.cross_out(*match.span())
                yield Change(pointer=pointer, value=value, words=value)
    yield from _read_prefixes(message)


def _asks_about_code(message: Message) -> bool:
    """Return whether a question contains the code of a finding: "I get FTC231, is that bad?"."""
    places = [match.start() for match in _CODE.finditer(message.folded)]
    return any(
        each.asks and any(each.start <= place < each.end for place in places)
        for each in split_sentences(message.written)
    )


def _listed(
    message: Message, pointer: str, pattern: re.Pattern[str], form: Any
) -> Iterator[Change]:
    """Yield the list of a pattern's matches, as written."""
    found = [match.span() for match in pattern.finditer(message.folded)]
    if not found or (message.denied(found[0][0]) and pointer != "/allow"):
        return
    written = [message.words(*span) for span in found]
    for span in found:
        message.cross_out(*span)
    values = list(dict.fromkeys(map(form, written)))
    yield Change(pointer=pointer, value=values, words=", ".join(dict.fromkeys(written)))


def _read_prefixes(message: Message) -> Iterator[Change]:
    """Yield the prefixes of queries and of documents, which end with a colon."""
    if not _EMBEDS.search(message.plain):
        return
    taken: set[str] = set()
    last = 0
    for match in list(_PREFIX.finditer(message.folded)):
        around = SENTENCE_END.split(message.plain[last : match.start()])[-1]
        own = match["text"]  # "query: " names its own field
        is_query = _OF_QUERY.search(own) is not None or _DOCUMENT in taken
        is_document = not is_query and (
            _QUERY in taken or _OF_DOCUMENT.search(f"{around} {own}") is not None
        )
        pointer = _DOCUMENT if is_document else _QUERY
        start, end = match.span("text")
        last = match.end()
        if pointer in taken:
            continue
        taken.add(pointer)
        value = message.written[message.origin[start][0] : message.origin[end - 1][1]]
        words = message.words(start, end)
        message.cross_out(*match.span())
        yield Change(pointer=pointer, value=value, words=words)
