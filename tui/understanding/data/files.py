"""Reads files and texts: the data set, a system message, the name of the run."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

from ftc.tui.understanding.data.hub_data import HubData, read_hub_data
from ftc.tui.understanding.data.weights import find_weights, weighted
from ftc.tui.understanding.fields.spoken import find_mentions
from ftc.tui.understanding.reading import Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import CORRECTING, QUOTES, WORDS, any_of
from ftc.tui.understanding.text.message import PART_END, SENTENCE_END, Message, find_around, fold
from ftc.tui.understanding.wanted.licence import is_request_word

_QUOTED_FILE: Final = re.compile(
    rf"{QUOTES}(?P<path>[^\"\u201c\u201d\u00ab\u00bb`]+?\.(?:csv|jsonl|json|parquet)){QUOTES}"
)
_FILE: Final = re.compile(
    r"(?:\b[a-z_]+=)?"
    r"(?P<path>(?:(?<!\S)(?:\.{0,2}|~|[a-z]:)/(?=[^\s/])[^\s\"'`,;:!?()\x00]+ )?(?:(?<!\w)[a-z]:)?"
    r"[^\s\"'`,;:!?()\x00]+\.(?:csv|jsonl|json|parquet|xlsx?|ods|tsv|txt|docx?|pdf|arrow))(?![\w/\\])"
)
#: "acme/chats weight 0.3", "acme/chats (30%)".
_WEIGHTED: Final = re.compile(
    r"(?<![\w./-])(?P<path>[a-z0-9][\w.-]*/[\w.-]*\w)"
    r"(?=\s*[(,:]?\s*(?:(?:at|with|amb|con)\s+)?"
    r"(?:(?:a )?(?:weight|weighted|peso|pes)\b|\d+(?:[.,]\d+)?\s*%|x\d|\d+x\b))"
)
#: A file with another suffix, if the message says that it is the data: "the data are in log.data".
_PLACED_FILE: Final = re.compile(
    r"\b(?:data ?set|data|dades|datos|file|fitxer|arxiu|fichero|archivo)\s"
    r"(?:is|are|es|son|estan?)\s(?:(?:in|a|en|at)\s)?(?P<path>[\w./-]*[a-z]\w*\.[a-z]{2,8})(?=\s*(?:$|[,;:!?)]|\.(?:\s|$)|\s))"
)
_SUFFIX: Final = r"\.(?:csv|jsonl|json|parquet|tsv)(?![\w/\\])"
_PIECE: Final = r"\w[^\s\"'`,;:!?()\x00/]+"
#: Words that separate a name from the text before it.
_NO_PIECE: Final = (
    r"(?!(?:is|are|be|as|sea|sean|sigui|siguin|on|in|at|from|it|its|the|my|our|a|an|with|use|and|for|to|has|have|called|named|es|son|en"
    r"|el|la|els|les|los|las|un|una|con|amb|per|para|i|y|e|que|te|tiene|diu|llama|anomenat|llamado|now"
    r"|ara|ahora|not|no|but|sino|or|o|ni|than)\s)"
)
#: A name with spaces after words that name a file: "file called Visites CAP 2023.csv".
_CALLED_FILE: Final = re.compile(
    r"\b(?:called|named|titled|es diu|se llama|anomenat|llamado|titulado|titulat"
    r"|(?:file|fitxer|fichero|archivo|arxiu|dataset|data)(?: (?:is|es|son))?:?)\s"
    rf"(?P<path>(?:{_NO_PIECE}{_PIECE}\s){{1,4}}(?:\([\w.-]+\)|[\w.-]+){_SUFFIX})"
)
#: A name whose last part is a number or stands in parentheses: "partes 2016.csv", "v (2).csv".
_NUMBERED_FILE: Final = re.compile(
    rf"(?<![^\s\"'(])(?P<path>(?:{_NO_PIECE}{_PIECE}\s)?{_NO_PIECE}{_PIECE}\s?(?:\([\w-]+\)|(?<=\s)\d[\w-]*){_SUFFIX})"
)
#: Before a name: "on repair orders.csv", "data: faq v3.csv".
_BEFORE_FILE: Final = re.compile(
    r"(?:\b(?:on|from|with|in|using|amb|con|de|en|a|file|fitxer|fichero|archivo|arxiu"
    r"|data|datos|dades|dataset)(?:\s*[:=]\s*|\s+)"
    r"(?:(?:the|my|our|this|el|la|els|les|los|las|mi|mis|meu|meva)\s+)*(?P<more>(?:[a-z]{2,}\s){1,2})"
    r"|[,:(]\s*(?P<word>[a-z]{2,}\s))$"
)
#: A version is not a complete name: "faq v3.csv".
_VERSION: Final = re.compile(
    r"(?:v?\d[\w.]*|final\w*|new|old|copy|nou|nova|nuevo|nueva|copia)\.\w+"
)
_APART: Final = re.compile(
    r"\b(?:valid\w*|test(?:ing)?|eval\w*|avalua\w*|held[ -]?out|prova|proves|prueba|pruebas)\b"
)
_APART_NAME: Final = re.compile(r"(?i)(?:val|valid|validation|test|eval|dev)\b")
#: Words about a file that is not used: "the old file was called ...", "ja no existeix".
_GONE: Final = re.compile(
    r"\b(?:no longer|not any ?more|ja no|ya no) (?:exist\w*|here|there|hi es|esta|el tinc|lo tengo)"
    r"|\b(?:doesn'?t|does not|no) exist\w* (?:any ?more|ja|ya)\b"
)
#: "leave old.csv alone", "deja old.csv fuera".
_LEAVE: Final = re.compile(
    r"\b(?:leave|leaving|let|put|set|deja\w*|deixa\w*|deixeu|deixem|dejemos)\s+"
    r"(?:(?:the|that|this|el|la|l')\s*)?(?:(?:file|fitxer|fichero|archivo|arxiu)\s+)?$"
)
_ALONE: Final = re.compile(
    r"\s+(?:alone|out|aside|be(?=\s*(?:$|[,.;!]|and\b|so\b))|en paz|en pau|fuera|fora|de banda"
    r"|de lado"
    r"|aparte?|tranquil\w*)\b"
)
#: "old.csv is wrong, don't use it": the pronoun refers to the file.
_SHUNNED: Final = re.compile(
    r"[^;!?\n\x00]{0,30}?\b(?:(?:don'?t|do not|never|dont) (?:use|touch|take|train on|include|read)"
    r" (?:that|it|this)\b|no (?:(?:la|lo|el|me la|em) |l')(?:fac\w+ servir|us(?:is|eu|i|es"
    r"|eis)|toqu\w+"
    r"|agaf\w+|cojas|cojais|utili[tz]\w+|pong\w+|incluy\w+|inclog\w+)"
    r"|no (?:en|li|le) (?:fa(?:cis|ceu)|hagas|hagais) ca(?:s|so)\b|ignore (?:it|that)\b"
    r"|ignora'l|ignoral[oa]"
    r"|forget (?:about )?(?:it|that)\b)"
)
_REPLACING: Final = re.compile(
    r"\b(?:replace|swap|change|instead|canvia|cambia|substitueix|sustituye|en vez|en lugar"
    r"|en comptes)\b"
)
_ADDING: Final = re.compile(
    r"\b(?:add|also|too|as well|besides|on top of|along with|together with|both|afegeix\w*|tambe"
    r"|a mes|juntament amb|junts|juntes|anad\w+|tambien|ademas|junto con|junt[oa]s)\b"
)
#: "the data are no longer a csv but chats.json".
_NO_LONGER: Final = re.compile(
    r"\b(?:no longer|not any ?more|ja no|ya no|no (?:es|son|era)|isn'?t|aren'?t|instead)\b"
)
#: A name of letters and numbers: "q8_0".
_VALUE: Final = re.compile(r"\b[a-z]+\d")
_SYSTEM: Final = re.compile(
    r"(?:system|sistema)(?: (?:prompt|message))?|missatge de sistema|mensaje (?:de|del) sistema"
)
_QUOTED: Final = re.compile(
    r"(?:\s*(?:=|:|is|of|to|a|es|de|sera|ha de ser|debe ser|tiene que ser|should be|must be|saying"
    r"|que (?:digui|diga|diu|dice)))*\s*"
    rf"(?P<quote>{QUOTES})"
)
_IN_QUOTES: Final = re.compile(r"\"[^\"]+\"|\u00ab[^\u00bb]+\u00bb|\u201c[^\u201d]+\u201d|'.+'")
#: "put 'You help nurses.' as the system message": the words of an order, and the text.
_QUOTED_BEFORE: Final = re.compile(
    rf"\b(?:{any_of(WORDS['put'])}|{any_of(WORDS['acts'])}|prepend\w*|want|vull|quiero"
    rf"|fes servir)\b[^.;!?\n]{{0,20}}?"
    rf"\s{QUOTES}(?P<text>[^\"\n\u201c\u201d\u00ab\u00bb`]+?){QUOTES}"
    r"\s(?:(?:as|for|com a|como|per a|para|de)\s)(?:(?:the|a|el|la|un)\s)?$"
)
_AFTER_COLON: Final = re.compile(
    r"(?: (?:i|we|it|hi|em|me|lo|el|te|que|should|must|to|has to|ha de|debe|tiene que|this"
    r"|the following"
    r"|aquest|el seguent|este|el siguiente|is|be|es|sera|sigui|sea|say|says|read|reads|want"
    r"|use|put|set"
    r"|write|dir|digui|diu|diga|dice|decir|vull|volem|voldria|posa|poseu|pose?m|escriu"
    r"|posa-?(?:hi|li|m'hi)|posem-?(?:hi|li)|fica-?hi|ponle|ponme|ponlo|poneis|metele|mete|add|try"
    r"|(?:on|in|to|for|a|en|para|per|per a) (?:every|each|all|cada|totes|tots|todas|todos)"
    r"(?: (?:els|les|los|las|the))? (?:rows?|files?|filas?|conversations?|convers\w+|messages?"
    r"|examples?|exemples?|ejemplos?)"
    r"|fes servir|usa"
    r"|quiero|queremos|pon|poned|escribe|utiliza)){0,5}\s*:\s*(?P<text>\S[^\n]*)"
)
_LEFT_OUT: Final = re.compile(
    r"\b(?:(?:leave|take|throw) out|(?:deja|saca|quita)\w*(?: fuera)?|(?:deixa|treu)\w*(?: fora)?)"
    r"(?: (?:the|any|el))?\s*$"
)
_TRACKER: Final = re.compile(
    r"\b(?:wandb|w&b|weights (?:and|&) biases|ml ?flow|trackio|tensor ?board)\b"
)
#: A tracker has its own names of runs.
_RUN: Final = re.compile(r"\b(?:run|attempt|try|execucio|ejecucion|intent|intento)\b")
_PROJECT: Final = re.compile(
    r"\b(?:proj(?:ect(?:e|o)?)?|proy(?:ecto)?|experiment(?:o)?)"
    r"(?: (?:of|in|de|en|del|a) (?:wandb|w&b|ml ?flow|trackio))?"
    r"(?: (?:(?:over |in )?there|in it|alla|alli|hi))?(?:'s)?"
    r"(?: (?:called|named|name|is|anomenat|llamado|(?:que )?(?:es diu|es digui|es diria|se llam\w+)"
    r"|(?:se )?(?:tiene|ha) (?:que|de) llamar(?:se)?|(?:s'ha|ha) de dir(?:-se)?"
    r"|(?:(?:should|would|will|to|could|has to|must) )?be|seria|sera|fos|sea|sigui"
    r"|es))*(?:\s?[:=]\s?| )"
    rf"{QUOTES}?(?!(?:runs?|is|was|has|uses?|goes|lives|va|te|usa|corre|tiene|vive|fa)\b)"
    rf"(?P<name>[a-z0-9][\w-]*(?:\.\w[\w-]*)*){QUOTES}?"
    r"(?=\s*(?:$|[.,;!\x00]|(?:run|run name|and|i|y|in|on|en|al?|del?|of)\b))"
)
#: The end of a quotation; an apostrophe inside a word does not end it.
_CLOSING: Final = {"\u201c": "\u201d", "\u00ab": "\u00bb", "'": r"'(?!\w)"}
_AND: Final = r"(?=\s+(?:and|then|i|y)\s"
#: A name ends with its sentence, or before "and use ..."; one with a hyphen before any "and".
_NAME: Final = re.compile(
    r"\b(?!(?:(?<=any )|(?<=each )|(?<=every )|(?<=tool )|(?<=function )|(?<=per ))calls?\b)"
    rf"{any_of(WORDS['called'])}\s*:?\s*{QUOTES}?(?P<name>"
    rf"(?<={QUOTES})[a-z0-9][\w -]{{0,62}}(?={QUOTES})|"
    r"[a-z0-9]+(?:[_-][a-z0-9]+)+(?=\s+(?:and|then|i|y|on|in|for|at|en|del?|per|para|please)\s)"
    rf"|[a-z0-9][\w -]{{0,60}}?{_AND}+(?:{any_of(WORDS['put'])}|{any_of(WORDS['acts'])}|que|prou"
    r"|basta|ya)\b)"
    rf"|(?:[a-z0-9][\w -]*\w|[a-z0-9])(?={QUOTES}?\s*(?:$|[,;!]|\.(?!\w)))){QUOTES}?"
)
#: The name first: "parrot should be the name", "lloro com a nom".
_NAMED_SO: Final = re.compile(
    rf"(?:^|(?<=[,.;:\n] )|(?<=use )|(?<=usa )|(?<=with )|(?<=amb )|(?<=con ))"
    rf"{QUOTES}?(?P<name>[a-z0-9][a-z0-9-]*){QUOTES}? (?:(?:should|must|will|shall|has to) be "
    r"(?:the|its|my|our)|as (?:the|its|a)|(?:ha de ser|sera|sigui|sea|debe ser|tiene que ser) el"
    r"|com a|como) (?:run'?s? |model'?s? |project'?s? )?(?:name|nom|nombre)(?![\w-])"
    r"(?! (?:of|del?) (?!(?:(?:the|my|our|la|el) )?(?:run|model|project|experiment|training))\w)"
)
_NO_LABEL: Final = re.compile(
    r"(?:(?:after|as|like|what|whatever|something|com|como|algo)\b|(?:\S+ ){3})"
)
#: "call it garden-helper please".
_COURTESY: Final = re.compile(
    r"(?:[\s,]+(?:please|pls|plz|thanks?(?: you)?|porfa|por favor|si us plau|sisplau|gracies"
    r"|gracias))+$"
)
_LONGEST_NAME: Final = 63
#: The words of a numbered name that has no other name before it.
_PIECES: Final = 2
#: The number of characters before a name in which the run may be mentioned: "and the run, call it
#: n3".
_BESIDE: Final = 14
#: A verb that gives a field its value as well as a run its name.
_PUT: Final = re.compile(r"(?:ponle|posa-li)(?! (?:de|por|como|per|com|nom|nombre)\b)")


_CORRECTED: Final = re.compile(CORRECTING)
#: "in mails.xlsx -- sorry, I exported that, it's mails.csv now".
_SORRY: Final = re.compile(rf"[\s,.;(\u2013\u2014-]{any_of(WORDS['corrects'])}(?!\w)")
_IS_NOW: Final = re.compile(
    r"(?:\b(?:it'?s|it is|that'?s|i meant?|now|ara es|es ara|ahora es|es|era|seria|digo)"
    r"|\b(?:converted|exported|moved|renamed|saved|turned|he (?:passat|convertit|exportat|canviat)"
    r"|(?:he |lo )+(?:pasado|convertido|exportado|cambiado))\b[^.;!?\n]{0,20}[:,]?)"
    r"(?: (?:now|called|named|the|el|la|ara|ahora))*\s*$"
)
_RENAMED: Final = re.compile(CORRECTING + r"(?P<name>[a-z0-9][\w-]*)(?=\s*(?:$|[.,;!)]))")
_FORM: Final = "/data/form"
_OF_ROWS: Final = re.compile(
    r"\b(?:rows?|data|formats?|forms?|files?|messages?|columns?|fil(?:a|es)|dades|fitxers?|arxius?"
    r"|missatges?|column(?:a|es|as)|filas|datos|formatos?|ficheros?|archivos?|mensajes?)\b"
)


def take_known_files(message: Message, files: Sequence[str]) -> Mapping[int, str]:
    """Return the existing files that the message names, by their place, and cross them out.

    The longest name takes precedence: "tickets 2024.csv" is not "2024.csv".
    """
    named: dict[int, str] = {}
    for name in sorted(files, key=len, reverse=True):
        pattern = re.compile(rf"(?<![\w./\\-]){re.escape(fold(name))}(?![\w/\\])")
        for match in message.take(pattern):
            if not (message.denied(match.start()) or _is_left(message, *match.span())):
                named[match.start()] = name
    return named


def _is_left(message: Message, start: int, end: int) -> bool:
    """Return whether the message says not to use a file: "leave it alone", "don't use that"."""
    text = message.folded
    alone = _ALONE.match(text, end) is not None and _LEAVE.search(text[:start]) is not None
    return alone or _SHUNNED.match(text, end) is not None


def read_files(
    message: Message,
    draft: Mapping[str, Any],
    known: Mapping[int, str],
    hub: Mapping[int, HubData],
) -> Iterator[Change | Choice]:
    """Yield the data file that the message names, or the files of a mixture in their order.

    `known` are the existing files, and `hub` the data sets of the Hub that were already read, by
    their places. If a file is only for validation or test, ftc asks, since a spec divides one
    source into splits.
    """
    named = {**known, **{place: data.id for place, data in hub.items()}}
    apart = []
    for pattern in (_QUOTED_FILE, _CALLED_FILE, _NUMBERED_FILE, _FILE, _PLACED_FILE):
        for match in message.take(pattern):
            path = message.words(*match.span("path"))
            if pattern is _NUMBERED_FILE:
                path = _spaced(path)
            if message.denied(match.start()) or _GONE.search(message.folded, match.end()):
                continue
            if _is_left(message, *match.span("path")):
                continue
            if pattern is _FILE and not match["path"].startswith((".", "/", "~")):
                path = _with_words_before(message, match.start("path"), path)
            named[match.start("path")] = path
            around = message.clause(*match.span()).replace(match["path"], " ")
            if _APART.search(around) or _APART_NAME.match(PurePath(path).name):
                apart.append(path)
    if set(named) - set(hub):
        named |= _take_weighted(message)
    paths = list(dict.fromkeys(_uncorrected(message, named)))
    now = value_at(draft, "/data/source")
    if now in paths and len(paths) > 1 and _REPLACING.search(message.folded):
        paths.remove(now)
    if apart:
        yield Choice(pointer="/data/source", values=(), words=", ".join(paths))
    elif (
        len(paths) == 1 and isinstance(now, str) and now not in paths and _is_added(message, named)
    ):
        yield Change(pointer="/data/sources", value=[now, *paths], words=paths[0])
    elif len(paths) > 1:
        yield _mixture(message, named, paths, hub)
    elif hub and paths:
        yield from read_hub_data(next(iter(hub.values())))
    elif paths:
        yield Change(pointer="/data/source", value=paths[0], words=paths[0])


def _is_added(message: Message, named: Mapping[int, str]) -> bool:
    """Return whether a sentence adds its file to the data instead of replacing the data.

    Words that add something else in another part of the sentence do not add the file: "train on
    pairs.csv, and also set rank 16".
    """
    place = min(named)
    file = (place, place + len(named[place]))
    first, last = find_around(SENTENCE_END, message.plain, file)
    if _NO_LONGER.search(message.plain, first, file[0]):
        return False
    for adding in _ADDING.finditer(message.plain, first, last):
        part = message.clause(*adding.span())
        own = find_around(PART_END, message.plain, adding.span())
        other = "\0" in part or _VALUE.search(part) or find_mentions(Message(part))
        if own[0] <= file[0] < own[1] or not other or _OF_ROWS.search(part):
            return True
    return False


def _take_weighted(message: Message) -> dict[int, str]:
    """Return the Hub data sets that have a weight, like the files beside them, by their places."""
    found = {}
    for match in list(_WEIGHTED.finditer(message.folded)):
        if not message.denied(match.start()):
            found[match.start()] = message.words(*match.span("path"))
            message.cross_out(*match.span("path"))
    return found


def _with_words_before(message: Message, start: int, path: str) -> str:
    """Return a file name with the preceding words that belong to it: "on repair orders.csv"."""
    before = _BEFORE_FILE.search(message.folded[:start])
    if before is None or (before["word"] and not _VERSION.fullmatch(fold(path))):
        return path
    group = "word" if before["word"] else "more"
    pieces = re.fullmatch(rf"(?:{_NO_PIECE}\S+\s)+", before[group])
    if pieces is None or any(map(is_request_word, before[group].split())):
        return path
    first = before.start(group)
    words = message.words(first, start)
    message.cross_out(first, start)
    return f"{words} {path}"


def _spaced(path: str) -> str:
    """Return a file name with spaces, without a leading word that belongs to the request.

    "Consultas Web 2021.csv" is a name; in "rows Web 2021.csv", the name begins after "rows".
    """
    pieces = path.split()
    if len(pieces) > _PIECES and not pieces[0][0].isupper() and is_request_word(fold(pieces[0])):
        return " ".join(pieces[1:])
    return path


def _mixture(
    message: Message,
    named: Mapping[int, str],
    paths: Sequence[str],
    hub: Mapping[int, HubData],
) -> Change:
    """Return the sources of a mixture, with their weights if the message has one for each."""
    places = {path: place for place, path in sorted(named.items(), reverse=True)}
    starts = [places[path] for path in paths if path in places]
    ends = [start + len(named[start]) for start in starts]
    weights = find_weights(message, starts, ends) if len(starts) == len(paths) else ()
    told = {data.id: data.options["weight"] for data in hub.values() if "weight" in data.options}
    if told and len(starts) == len(paths):  # the weights of the files follow them
        left = [place for place in starts if named[place] not in told]
        found = find_weights(message, left, [place + len(named[place]) for place in left])
        rest = dict(zip((named[place] for place in left), found, strict=False))
        weights = [{**told, **rest}[path] for path in paths] if len(found) == len(left) else weights
    sources: list[Any] = weighted(paths, weights) if weights else list(paths)
    for data in hub.values():
        at = paths.index(data.id)
        whole = sources[at] if isinstance(sources[at], Mapping) else {"source": data.id}
        if data.options:
            sources[at] = {**whole, **data.options}
    said = {data.id: data.words for data in hub.values()}
    words = ", ".join(said.get(path, path) for path in paths)
    return Change(pointer="/data/sources", value=sources, words=words)


def _uncorrected(message: Message, named: Mapping[int, str]) -> Iterator[str]:
    """Yield the files in order, without those that "no wait" before the next file retracts."""
    places = sorted(named)
    for place, following in zip(places, (*places[1:], None), strict=False):
        end = place + len(named[place])
        if following is None or not _is_corrected(message.folded, end, following):
            yield named[place]


def _is_corrected(text: str, end: int, following: int) -> bool:
    """Return whether the words between two files retract the first one."""
    said = text[end:following]
    return bool(_CORRECTED.fullmatch(said)) or (
        _SORRY.search(said) is not None and _IS_NOW.search(said) is not None
    )


def read_texts(message: Message) -> Iterator[Change | Choice]:
    """Yield the system message and the run's name, if quoted or at the end of the sentence."""
    for match in list(_SYSTEM.finditer(message.folded)):
        opening = _QUOTED.match(message.folded, match.end())
        if opening is None and (quoted := _QUOTED_BEFORE.search(message.folded[: match.start()])):
            text = message.words(*quoted.span("text"))
            message.cross_out(quoted.start(), match.end())
            yield Change(pointer="/data/system", value=text, words=text)
            continue
        if opening is None:
            yield from _read_unquoted(message, match)
            continue
        closing = _CLOSING.get(opening["quote"], opening["quote"])
        end = re.compile(closing).search(message.folded, opening.end())
        stop = end.start() if end else len(message.folded)
        text = message.words(opening.end(), stop)
        message.cross_out(match.start(), end.end() if end else stop)
        if text:
            yield Change(pointer="/data/system", value=text, words=text)
    tracked = _TRACKER.search(message.folded)
    for match in message.take(_PROJECT) if tracked else ():
        name, words = message.words(*match.span("name")), message.words(*match.span())
        yield Change(pointer="/tracking/project", value=name, words=words)
    for match in message.take(_NAMED_SO):
        name, words = message.words(*match.span("name")), message.words(*match.span())
        yield Change(pointer="/name", value=fold(name), words=words)
    for match in list(_NAME.finditer(message.folded)):
        if _PUT.match(match[0]) and find_mentions(Message(match["name"])):
            continue  # "ponle semilla 42"
        said, last = _COURTESY.sub("", match["name"]), match.end()
        if _NO_LABEL.match(said):
            yield Choice(pointer="/name", values=(), words=message.words(*match.span()))
            message.cross_out(*match.span())
            continue
        if (again := _RENAMED.match(message.folded, last)) is not None:
            said, last = again["name"], again.end()
        coded = said.split()[-1]  # "the whole thing pizza-test"
        said = coded if re.fullmatch(r"[a-z]\w*(?:[-_]\w+)+", coded) else said
        name = re.sub(r"[^a-z0-9]+", "-", said)[:_LONGEST_NAME].strip("-")
        about = message.plain[max(0, match.start() - _BESIDE) : match.end() - len(said)]
        pointer = "/tracking/run" if tracked and _RUN.search(about) else "/name"
        yield Change(pointer=pointer, value=name, words=message.words(match.start(), last))
        message.cross_out(match.start(), last)


def _read_unquoted(message: Message, match: re.Match[str]) -> Iterator[Change]:
    """Yield the system message after a colon: the rest of its line."""
    found = _AFTER_COLON.match(message.folded, match.end())
    left_out = message.denied(match.start()) or _LEFT_OUT.search(message.folded[: match.start()])
    if found is not None and not left_out:
        text = message.words(*found.span("text"))
        text = text[1:-1] if _IN_QUOTES.fullmatch(text) else text
        message.cross_out(match.start(), found.end())
        yield Change(pointer="/data/system", value=text, words=text)


def with_described_file(told: Sequence[Change | Choice]) -> list[Change | Choice]:
    """Return the values, with a file whose columns the message describes as the data.

    "faq.csv has the question in 'q'" looks like a report, but a report does not describe columns.
    """
    if not any(each.pointer.startswith("/data/columns/") for each in told):
        return list(told)
    return [
        Change(pointer=each.pointer, value=each.values[0], words=each.words)
        if isinstance(each, Choice) and each.pointer == "/data/source" and len(each.values) == 1
        else each
        for each in told
    ]


def without_chats(
    told: Sequence[Change | Choice], draft: Mapping[str, Any], message: Message
) -> Sequence[Change | Choice]:
    """Return the values without the row format if a message mentions a chat but no rows.

    "In a long chat only the last reply should count" does not describe the format of known data.
    """
    about_rows = value_at(draft, "/data/source") is None or _OF_ROWS.search(message.plain)
    if about_rows or any(
        each.pointer.startswith(("/data/source", "/data/columns/", "/data/sub")) for each in told
    ):
        return told
    return [each for each in told if each.pointer != _FORM]
