"""Reads hardware: a GPU's name with or without a count, or a count alone."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.hardware.accelerators import (
    all_accelerators,
    find_accelerator,
    find_other_maker,
)
from ftc.tui.understanding.machines.chips import is_chip, list_chips, singular
from ftc.tui.understanding.machines.storage import read_memory_without_gpu
from ftc.tui.understanding.machines.variants import read_variant
from ftc.tui.understanding.reading import UNSURE, Change, Choice, value_at
from ftc.tui.understanding.text.lexicon import NUMBER, NUMBER_WORDS
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around, fold
from ftc.tui.understanding.text.numbers import read_number

#: A word of a name; "8xh100" is a count, an x and a name.
_WORD: Final = re.compile(r"\d+(?=x[a-z]*\d)|(?<=\d)x(?=[a-z]*\d)|[a-z0-9]+(?:\.[0-9]+)?")
_COUNT_BEFORE: Final = re.compile(
    rf"(?P<number>{NUMBER}|\d+)(?:, (?=(?:of|de) ))?\s*(?:[x\u00d7]\s*)?(?:of |de |d')?"
    r"(?:(?:th[eo]se|es[ao]s|est[ao]s|aquest[se]s?|aquell[se]s?|aquelles) )?"
    r"(?:nvidia |amd |geforce |tesla |instinct )?$"
)
_COUNT_AFTER: Final = re.compile(
    r"^(?:\s*[x\u00d7]\s*|:(?=\d{1,2}(?:\s|$|[,;|])))(?P<number>\d{1,4})\b(?!\s*g)"
)
_COUNT_ALONE: Final = re.compile(
    rf"\b(?P<number>{NUMBER}|\d+)\s+(?:gpus?|cards?|graphics cards?|targetes|grafiques|tarjetas"
    r"|graficas)\b"
    rf"|\b(?:son|they'?re|they are|there are)\s+(?P<versus>{NUMBER})(?=,?\s(?:not|no)\s{NUMBER}"
    rf"|\x00)"
    rf"|\b(?<!every )(?<!each )(?<!any )(?P<them>{NUMBER}|\d+),?\s+"
    r"(?:iguals?|iguales|(?:de l[ae]s mateixes|de las mismas|of the same)(?: que ara| que ahora)?"
    r"|of them|of those|of these|such|d'elles|d'ells|d'aquestes|de ellas|de ellos|de estas"
    r"|unitats|unidades)(?: each| cada (?:un[ao]?|node|nodo)| per node| por nodo)?"
    r"(?=\s*(?:$|[.,;!]|\b(?:and|i|y)\b))"
    rf"|\b(?:(?:in )?(?:have|got)|(?:en )?tinc|(?:en )?tengo|hay)\s+(?P<has>{NUMBER})\s*$"
)
#: "the card stays, but make it two".
_COUNT_OF_IT: Final = re.compile(
    r"\b(?:gpus?|cards?|target(?:a|es)|tarjetas?|grafi(?:ca|cas|ques))\b[^.;!?\n\d]{0,40}?"
    r"\b(?:make (?:it|that|them)|que (?:en )?(?:siguin|sean|facin)|fes-ne|hazlas)\s+"
    rf"(?P<number>{NUMBER})(?: of (?:them|those)| d'elles| de ellas)?(?=\s*(?:$|[.,;!]))"
)
#: "it is not one 4090, there are three": the second number counts.
_COUNT_CORRECTED: Final = re.compile(
    r"\b(?:i said|vaig dir|he dit|dije|he dicho|puse|vaig posar|i put|not|isn'?t|aren'?t"
    r"|no (?:es|son|en son|en tinc|en tenim|tinc|tenim|tengo|tenemos|hay|hi ha))"
    rf"\s+(?:just |only |nomes |solo )?(?P<wrong>{NUMBER})\s(?P<cards>[^.,;:!?\n]{{2,30}}?)"
    r"(?:[,;:.]\s*|\s+(?=(?:but|sino|pero)\b))(?:(?:but|sino|pero|que) )?"
    r"(?:it'?s|they'?re|it is|they are|there'?re|there are|(?:i|we)(?:'ve)? (?:have|got)"
    r"|(?:en |n'|ja )?(?:son|hi ha|tinc|tenim)|son|hay|tengo|tenemos)\s+"
    rf"(?P<number>{NUMBER})(?: of (?:them|those)| d'elles| de ellas)?(?=\s*(?:$|[.,;!]))"
)
#: "the 4090 is not alone, there are two in the tower".
_COUNT_WITH_OTHERS: Final = re.compile(
    r"(?<=\w) (?:is(?:n'?t| not) (?:alone|the only one)|has (?:a twin|company)"
    r"|no (?:esta|es|va|ve|viene) (?:pas )?(?:tot |toda )?(?:sola|l'unica|la unica)"
    r"|(?:te|tiene) (?:una )?(?:bessona|gemela|companya|companera))[,;:.]\s*(?:(?:but|que|perque"
    r"|porque|sino|pues) )?(?:they'?re|they are|there'?re|there are|(?:i|we)(?:'ve)? (?:have|got)"
    r"|(?:en |n'|ja )?(?:son|hi ha|tinc|tenim)|son|hay|tengo|tenemos)\s+"
    rf"(?P<number>{NUMBER})(?= (?:of (?:them|those)|d'elles|de ellas|in|inside|en|a|al"
    r"|dins|dentro)\b|\s*(?:$|[.,;!]))"
)
_SOME_OF: Final = re.compile(
    rf"\b(?P<number>{NUMBER}) (?:of|out of|de) "
    rf"(?:(?:(?:the|my|our|les|las|mis|els|los|nuestras) |les meves |les nostres )(?:{NUMBER} )?"
    rf"|{NUMBER} )(?:gpus?|cards?|targetes|tarjetas|grafiques|graficas)\b"
    r"(?! (?:is|are|was|were|es|esta|estan|son)\b)"
)
#: "16 H100 on two nodes": per node, or in all?
_OVER_NODES: Final = re.compile(
    rf"^\s*(?:on|in|across|over|en|a|entre|repartid\w+ en) (?:{NUMBER}) "
    r"(?:nodes|nodos|machines|maquines|maquinas|servers|servidors|servidores)\b"
)
_NODES: Final = re.compile(
    rf"\b(?P<number>{NUMBER}|\d+)\s+(?:compute )?(?:nodes|nodos|machines|maquines|maquinas"
    rf"|servers|servidors|servidores)\b"
    r"(?:\s(?:of|de|with|amb|con|w/|x|\u00d7)\s?(?P<each>\d{1,3})(?=\s*(?:$|[,;.)]|each|cada|gpus?)))?"
)
#: "four in each machine", "4 por nodo".
_PER_NODE: Final = re.compile(
    rf"\b(?P<number>{NUMBER}|\d+)\s+(?:gpus?|cards?|targetes|grafiques|tarjetas|graficas)?\s*"
    r"(?:per|por|a cada|en cada|in each|on each|in every|for each|for every|each)\s+"
    r"(?:node|nodo|machine|maquina|server|servidor|box|host)\b"
)
_JOINING: Final = re.compile(r"\b(?:de|of|with|con|amb|d)\b")
_LONGEST_NAME: Final = 6
_LONGEST_COUNT: Final = 60
_LONGEST_OTHER: Final = 3
_SHORTEST_OTHER: Final = 5  # "m2" is also a square metre
_ALONE: Final = frozenset({"5000", "6000", "8000", "4000", "2000", "4500", "titan"}) | {
    *("1060", "1070", "1080"),
}
_MAKERS: Final = frozenset({"rtx", "quadro", "nvidia", "geforce", "ada", "gtx", "titan", "pro"})
#: A suffix that makes a bare number a card: "a 1080 ti".
_VARIANTS: Final = frozenset({"ti", "super"})
_NOT_AT_AN_END: Final = frozenset(NUMBER_WORDS) | {"de", "of", "with", "con", "amb", "d", "and"}
_MOST: Final = 1024
_MOST_OF_THEM: Final = 64
_GPU: Final = "/hardware/gpu"
#: An amount of memory, which may identify the card of a chip: "80 GB".
_AMOUNT: Final = re.compile(r"(?<![\w.])(?P<size>\d{2,3})(?: ?(?:gi?b|g|gigas?|gigs?|gigues)\b)")
_TWICE: Final = 1.15
#: A suffix that makes a name another card: "4090 Ti", "a 4090 with 48 GB".
_VARIANT: Final = re.compile(r"^\s*(?:ti|super|max-?q|d)\b")
_WITH_MEMORY: Final = re.compile(
    r"^\s*(?:\(|with|of|de|amb|con)?\s*(?P<size>\d+) ?(?:gi?b|gigas?|gigues|gigs?)\b"
    r"(?! (?:of |de )?ram)"
)
#: Words before a name that select one of its cards: "the eighty-gig A100".
_SIZED_BEFORE: Final = re.compile(r"(?<![\w.])(?P<size>\d+)[ -]?(?:gi?b|gigas?|gigues|gigs?)[ -]$")
#: Words after a name that select one of its cards: "an A100, the 80 GB one", "una H100, la PCIe".
_WHICH: Final = re.compile(
    r"[\s,(]+(?:(?:the|la|el|one|las|los|de|with|con|amb|version|versio|in|en)\s+|l'|d'){0,4}"
    r"(?P<which>(?P<size>\d+)(?: ?(?:gi?b|gigas?|gigs?|gigues|g))?|pcie|sxm\d?|nvl)\b"
    r"(?! ?(?:bits?|%|epoch|epoca|epoque|step|hour|hor|row|fil))"
    r"(?: (?:one|version|versio|gb|kind|model|variant|type|flavou?r)\b)?"
)
_MOST_OFFERS: Final = 4
_ROUNDING: Final = 4
_RECENT: Final = (7, 5)
#: A notebook of a service is not the user's computer.
_SERVICE: Final = r"(?<!kaggle )(?<!colab )(?<!jupyter )(?<!sagemaker )(?<!azure )"
_LAPTOP: Final = re.compile(rf"\b(?:laptops?|{_SERVICE}notebook|portatil(?:es)?|mobile)\b")
#: Machines other than the laptop that may contain the card.
_NO_LAPTOP: Final = re.compile(
    r"\b(?:desktop|tower|server|servers|workstation|rig|box|cloud|cluster|lab|office|work|remote|ssh"
    r"|sobretaula|torre|servidors?|despatx|oficina|feina|sobremesa|servidor(?:es)?|despacho|trabajo"
    r"|nuvol|nube|rent\w*|llog\w+|alquil\w+|not|no|sino|after\w*|despres|despues|run|runs|used?)\b"
)
_CARD: Final = (
    r"(?:gpus?|(?:graphics )?cards?|(?:of |de )?vram|targetes?|tarjetas?|graficas?|grafiques|one)"
)
_SIZED: Final = re.compile(
    r"\b(?P<size>\d+) ?(?:gi?b|g|gigas?|gigs?|gigues)(?: (?:of |de )?(?:vram|memory|memoria))? "
    rf"{_CARD}\b"
    r"|\b(?:gpus?|cards?|targeta|tarjeta|grafica)(?: grafica)? (?:with|of|de|amb|con) "
    r"(?P<much>\d+) ?(?:gi?b|g|gigas?|gigs?|gigues)\b(?: (?:of |de )?(?:vram|memory|memoria))?"
)
_APPLE: Final = re.compile(
    r"\b(?:mac(?:book)?s?|apple silicon|imac)(?: (?:pro|air|studio|mini))?(?: m[1-5])?"
    r"(?: (?:pro|max|ultra))?(?: (?:with|amb|con|de) \d+ ?(?:gi?b|gigas?)(?: (?:of |de )?ram)?)?\b"
    r"|\bm[1-5] (?:pro|max|ultra)\b"
)
_WITHOUT: Final = re.compile(
    r"\b(?:(?:without|no|sense|sin) (?:an? |any |una? |cap |ninguna )?(?:dedicated )?"
    r"(?:gpu|graphics card|(?:targeta|tarjeta) (?:grafica|de video)|grafica)"
    r"|(?:no (?:hi )?(?:tinc|tenim|tengo|tenemos|hay|ha|te|tiene|porta|lleva)"
    r"|(?:don'?t|do not|haven'?t|doesn'?t|hasn'?t|does not) (?:have|own|got))"
    r" (?:cap |ninguna |any |an? )?(?:dedicated )?(?:gpu|grafica|graphics card"
    r"|(?:targeta|tarjeta)(?: (?:grafica|de video))?)"
    r"|(?:only|just|nomes|solo)(?: an?| the| un| el| la)? (?:cpu|processor|processador|procesador)"
    r"|(?:with|on|using|amb|con|en|al) (?:the |my |el |la )?"
    r"(?:processor|processador|procesador|cpu) (?:and (?:that'?s it|nothing else)|alone|i prou"
    r"|i ja|i res mes|y ya(?: esta)?|y punto|y nada mas|nomes|y listo)"
    r"|cpu only"
    r"|cpu (?:is|'s|will be|would be) (?:just |totally |more than )?(?:fine|ok(?:ay)?|enough"
    r"|good enough|plenty)|(?:(?:amb|con|en) )?(?:la )?cpu (?:ja |ya |me |em |nos |ens )*"
    r"(?:va be|va bien|basta|vale|sobra|n'hi ha prou|es suficient\w*))\b"
)


#: A rented machine, which a user without a GPU trains on.
_ELSEWHERE: Final = re.compile(
    r"\b(?:cloud|nube|nuvol|(?:rent|renting|rented|llog\w+|alquil\w+)\b(?! out)|aws|ec2|gcp|azure"
    r"|runpod|vast(?:\.ai)?|lambda(?:labs)?|skypilot|sky pilot|slurm|k8s|kubernetes|cluster"
    r"|spot (?:instances?|machines?)|(?:maquin(?:a|as|es)|instanci(?:a|as|es)) spot|colab|kaggle)\b"
)
#: "no GPU yet": the user may get one later.
_YET: Final = re.compile(
    r"\s+(?:yet|for now|at the moment|right now|encara|de moment|ara mateix|todavia|aun|por ahora"
    r"|de momento)\b"
)
_STILL: Final = re.compile(r"\b(?:encara|todavia|aun|still|de moment|de momento|por ahora)\s+$")
#: The GPU of the free tier of Google Colab is a T4 (https://research.google.com/colaboratory/faq).
_FREE_COLAB: Final = re.compile(
    r"\b(?:(?:free|gratis|gratuit[aeo]?) (?:tier )?(?:(?:of|on|de|del|google) )*colab"
    r"|colab(?:'s)?(?: (?:en|de|the|version|versio|pla|plan))*"
    r" (?:free(?: tier)?|gratis|gratuit[aeo]?))\b"
)
_SPOKEN_CARD: Final = re.compile(
    r"\b(?:gpus?|cards?|target(?:a|es)|tarjetas?|grafi(?:ca|cas|ques))\b"
)
_FEW_WORDS: Final = 6


def read_hardware(message: Message, draft: Mapping[str, Any]) -> Iterator[Change | Choice]:
    """Yield the nodes, the GPU and its count; counts only if they are given.

    For a laptop's GPU, a size without a name and an Apple processor, ftc asks.
    """
    written = message.folded
    yield from _read_parts(message)
    named = stated = False
    for first, first_end, found in _names(message):
        named = True
        name, end = _which(found, message.folded, first, first_end)
        sized = _SIZED_BEFORE.search(message.folded[:first])
        start = sized.start() if sized and name != found else first
        name = _same_card(name, message.folded[start:end], draft)
        near = max(0, start - _LONGEST_COUNT)
        before = _COUNT_BEFORE.search(message.folded[near:start])
        after = _COUNT_AFTER.search(message.folded[end:])
        begin = start if before is None else near + before.start()
        stop = end if after is None else end + after.end()
        said = before["number"] if before else after["number"] if after else None
        words = message.words(begin, stop)
        denied = message.denied(begin, stop)
        message.cross_out(begin, stop)
        if denied:
            continue
        stated = True
        if find_other_maker(name, whole=True) is not None and _APPLE.search(fold(words)):
            yield Choice(pointer="/hardware/gpu", values=("cpu",), words=words, why="no_cuda")
            continue
        if _LAPTOP.search(message.folded) and not _is_laptop(name):
            own = _in_laptop(written[start:end])
            if own is None or not _is_of_laptop(message, begin, stop):
                values = tuple(filter(None, (own, *_smaller(name))))
                yield Choice(pointer=_GPU, values=values, words=words, why="laptop_gpu")
                continue
            name = own
        if _is_another(name, message.folded[end:]):
            yield Choice(pointer=_GPU, values=(name,), words=words, why=UNSURE)
            continue
        sizes = _in_two_sizes(name, written[start:end], written)
        if len(sizes) > 1:
            yield Choice(pointer=_GPU, values=sizes, words=words, why=UNSURE)
        else:
            yield Change(pointer=_GPU, value=sizes[0] if sizes else name, words=words)
        count = None if said is None else _count(said)
        if count is not None and _OVER_NODES.match(written[stop:]):
            yield Choice(pointer="/hardware/count", values=(count,), words=words, why=UNSURE)
        elif count is not None:
            yield Change(pointer="/hardware/count", value=count, words=words)
    if not stated:
        yield from read_variant(message, draft)
        yield from _read_unnamed(message)
    yield from _read_counts(message, draft, named=named)


def _read_counts(
    message: Message, draft: Mapping[str, Any], *, named: bool
) -> Iterator[Change | Choice]:
    """Yield the number of GPUs without a GPU's name; `named` tells if the message has a name."""
    for match in message.take(_COUNT_ALONE):
        if message.replaced(match.start()):
            continue  # "rather than that one card"
        about_cards = (
            named or _SPOKEN_CARD.search(message.plain) or _NODES.search(message.plain) is not None
        )
        them = match["them"] or match["versus"]
        if them and not about_cards and len(message.plain.split()) > _FEW_WORDS:
            continue  # "our staff, 64 of them"
        count = _count(match["number"] or them or match["has"])
        understood = match["number"] is not None or named or value_at(draft, _GPU) is not None
        if count is not None and understood and (match["number"] or count <= _MOST_OF_THEM):
            words = message.words(*match.span())
            yield Change(pointer="/hardware/count", value=count, words=words)


def _read_parts(message: Message) -> Iterator[Change]:
    """Yield the number of GPUs to use, and the nodes."""
    for match in message.take(_SOME_OF):
        count = _count(match["number"])
        if count is not None:
            words = message.words(*match.span())
            yield Change(pointer="/hardware/count", value=count, words=words)
    for match in message.take(_COUNT_OF_IT):
        count = _count(match["number"])
        if count is not None and count <= _MOST_OF_THEM:
            words = message.words(*match.span())
            yield Change(pointer="/hardware/count", value=count, words=words)
    for match in list(_COUNT_CORRECTED.finditer(message.folded)):
        count, cards = _count(match["number"]), match["cards"]
        of_cards = _SPOKEN_CARD.search(cards) or any(map(is_chip, re.findall(r"[a-z0-9]+", cards)))
        if count is not None and count <= _MOST_OF_THEM and of_cards:
            words = message.words(*match.span("number"))
            message.cross_out(match.start(), match.start("cards"))
            message.cross_out(match.end("cards"), match.end())
            yield Change(pointer="/hardware/count", value=count, words=words)
    for match in list(_COUNT_WITH_OTHERS.finditer(message.folded)):
        count = _count(match["number"])
        before = re.findall(r"[a-z0-9]+", message.clause(match.start(), match.start()))
        if count is not None and count <= _MOST_OF_THEM and any(map(is_chip, before)):
            words = message.words(*match.span())
            message.cross_out(*match.span())
            yield Change(pointer="/hardware/count", value=count, words=words)
    for match in message.take(_PER_NODE):
        count = _count(match["number"])
        if count is not None:
            words = message.words(*match.span())
            yield Change(pointer="/hardware/count", value=count, words=words)
    for match in message.take(_NODES):
        nodes = _count(match["number"])
        if nodes is not None and nodes > 1 and not message.denied(match.start()):
            words = message.words(*match.span())
            yield Change(pointer="/hardware/nodes", value=nodes, words=words)
            if match["each"] is not None:
                yield Change(pointer="/hardware/count", value=int(match["each"]), words=words)


def _read_unnamed(message: Message) -> Iterator[Change | Choice]:
    """Yield the machine that the message describes without a GPU's name."""
    for match in message.take(_FREE_COLAB):
        yield Change(pointer=_GPU, value="T4", words=message.words(*match.span()))
    for match in message.take(_WITHOUT):
        before, after = message.folded[: match.start()], message.folded[match.end() :]
        if _YET.match(after) or _STILL.search(before):
            continue
        words = message.words(*match.span())
        if "cpu" not in words.casefold() and _is_elsewhere(message):
            yield Choice(pointer=_GPU, values=(), words=words, why="gpu_elsewhere")
            continue
        yield Change(pointer=_GPU, value="cpu", words=words)
        yield from read_memory_without_gpu(message)
    for match in message.take(_APPLE):
        words = message.words(*match.span())
        yield Choice(pointer="/hardware/gpu", values=("cpu",), words=words, why="no_cuda")
    for match in message.take(_SIZED):
        size = read_number(match["size"] or match["much"])
        mobile = _LAPTOP.search(message.folded) is not None
        fitting = [
            each
            for each in all_accelerators()
            if (each.memory_gib, each.is_laptop) == (size, mobile)
            and each.compute_capability >= _RECENT
        ]
        # common cards, whose memory has been reported, come first
        fitting.sort(key=lambda each: (each.memory_basis != "reported", -each.bandwidth_gb_s))
        values = tuple(each.name for each in fitting)
        words = message.words(*match.span())
        yield Choice(pointer="/hardware/gpu", values=values[:_MOST_OFFERS], words=words)


def _is_elsewhere(message: Message) -> bool:
    """Return whether a message names a rented machine or a cloud without rejecting it."""
    said = Message(message.written)  # other readers have taken "with SkyPilot"
    found = _ELSEWHERE.finditer(said.folded)
    return any(not said.denied(match.start(), match.end()) for match in found)


def _which(name: str, folded: str, start: int, end: int) -> tuple[str, int]:
    """Return the card of a chip that the words after the name select, and the end of the words."""
    match = _WHICH.match(folded, end)
    before = _SIZED_BEFORE.search(folded[:start])
    if match is None and before is None:
        return name, end
    if match is None:
        which = f"{before['size']}gb" if before else ""
    else:
        which = f"{match['size']}gb" if match["size"] else match["which"]
    said = " ".join(map(singular, re.split(r"[^a-z0-9.]+", folded[start:end])))
    found = find_accelerator(f"{said} {which}")
    if found is None or not any(
        part.startswith(which) for part in fold(found.accelerator.name).split("-")
    ):
        return name, end
    return found.accelerator.name, match.end() if match else end


def _same_card(name: str, said: str, draft: Mapping[str, Any]) -> str:
    """Return the draft's card if the words name its chip and no memory: "two A100s"."""
    own = value_at(draft, _GPU)
    if not isinstance(own, str) or re.search(r"\d ?g", said):
        return name
    words = {singular(word) for word in re.split(r"[^a-z0-9]+", said)} & list_chips()
    parts = set(fold(own).split("-"))
    return own if words and words <= parts and words <= set(fold(name).split("-")) else name


def _is_another(name: str, after: str) -> bool:
    """Return whether the words after a GPU's name make it a variant that the table lacks."""
    known = next((each for each in all_accelerators() if each.name == name), None)
    sized = _WITH_MEMORY.match(after)
    differs = sized and known and abs(int(sized["size"]) - known.memory_gib) > _ROUNDING
    return bool(differs or (known and _VARIANT.match(after)))


def _in_two_sizes(name: str, said: str, written: str) -> tuple[str, ...]:
    """Return the cards with a name if they differ in memory: "an A100".

    An amount of memory anywhere in the message selects the cards that have it.
    """
    text = " ".join(map(singular, re.split(r"[^a-z0-9.]+", said)))
    found = find_accelerator(_JOINING.sub(" ", text))
    if found is None or found.accelerator.name != name:
        return ()
    names = (name, *found.ambiguous)
    sizes = {each.name: each.memory_gib for each in all_accelerators() if each.name in names}
    amounts = {int(match["size"]) for match in _AMOUNT.finditer(written)}
    kept = tuple(each for each in names if sizes.get(each) in amounts) or names
    same = max(map(sizes.__getitem__, kept)) < _TWICE * min(map(sizes.__getitem__, kept))
    return kept[:1] if same else kept


def _is_laptop(name: str) -> bool:
    return any(each.name == name and each.is_laptop for each in all_accelerators())


def _is_of_laptop(message: Message, start: int, end: int) -> bool:
    """Return whether a card belongs to the laptop named beside it.

    It does in the same clause, and in the same sentence if that names no other machine.
    """
    if _LAPTOP.search(message.clause(start, end)):
        return True
    sentence = message.plain[slice(*find_around(SENTENCE_END, message.plain, (start, end)))]
    return _LAPTOP.search(sentence) is not None and _NO_LAPTOP.search(sentence) is None


def _in_laptop(said: str) -> str | None:
    """Return the laptop GPU with the name of a card, or None if the table has none."""
    found = find_accelerator(f"{said} laptop")
    return None if found is None else found.accelerator.name


def _smaller(name: str) -> tuple[str, ...]:
    """Return a GPU and those of its generation with less memory, since a laptop's has less."""
    own = next((each for each in all_accelerators() if each.name == name), None)
    if own is None:  # from another maker
        return (name,)
    same = [
        each
        for each in all_accelerators()
        if each.compute_capability == own.compute_capability
        and each.memory_bytes < own.memory_bytes
        and each.name.partition("-")[0] == name.partition("-")[0]
    ]
    same.sort(key=lambda each: -each.memory_bytes)
    return (name, *(each.name for each in same[: _MOST_OFFERS - 1]))


def _names(message: Message) -> Iterator[tuple[int, int, str]]:
    """Yield the position and the name in the table of each GPU, the longest name first."""
    position = 0
    while True:
        words = [(m.start(), m.end(), m[0]) for m in _WORD.finditer(message.folded, position)]
        hits = (_at(message, words[index:]) for index in range(len(words)))
        found = next((hit for hit in hits if hit is not None), None)
        if found is None:
            return
        yield found
        position = found[1]


def _at(message: Message, words: list[tuple[int, int, str]]) -> tuple[int, int, str] | None:
    for length in range(min(_LONGEST_NAME, len(words)), 0, -1):
        start, end = words[0][0], words[length - 1][1]
        text = message.folded[start:end]
        text = " ".join(singular(word) for word in re.split(r"[^a-z0-9.]+", text))
        parts = set(text.split())
        ends = {words[0][2], words[length - 1][2]}
        if "\x00" in message.folded[start:end] or not parts & list_chips() or ends & _NOT_AT_AN_END:
            continue
        if parts & _ALONE and not parts & (_MAKERS | _VARIANTS):
            continue
        match = find_accelerator(_JOINING.sub(" ", text))
        if match is not None:
            return start, end, match.accelerator.name
    return _at_other(message, words)


def _at_other(message: Message, words: list[tuple[int, int, str]]) -> tuple[int, int, str] | None:
    """Return the name of an accelerator of another maker; a check reports that it lacks CUDA."""
    for length in range(min(_LONGEST_OTHER, len(words)), 0, -1):
        start, end = words[0][0], words[length - 1][1]
        text = message.folded[start:end]
        long = len(text) >= _SHORTEST_OTHER and re.search(r"[a-z].*\d", text)
        if long and find_other_maker(text, whole=True) is not None:
            return start, end, message.words(start, end)
    return None


def _count(text: str) -> int | None:
    number = read_number(text)
    return int(number) if number is not None and 1 <= number <= _MOST else None
