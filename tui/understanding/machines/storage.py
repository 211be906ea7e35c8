"""Reads the machine's memory and disk: "96 gb of system memory", "mig tera de disc lliure"."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import NUMBER
from ftc.tui.understanding.text.message import SENTENCE_END, Message, find_around
from ftc.tui.understanding.text.numbers import as_written, read_number

_AMOUNT: Final = (
    rf"(?P<number>half an?|mi[gt]j?a?|medio|{NUMBER}) ?(?:de )?"
    r"(?P<unit>[gt]i?b|[gt]|gigas?|gigues|gigs?|gigabytes?|teras?|terabytes?|gigaoctets?)\b"
)
_MEMORY: Final = (
    r"(?:(?:system|host|main|cpu|normal|computer) memory|(?:memoria )?ram"
    r"|memoria (?:del sistema|principal|de sistema|del ordenador|de l'ordinador))"
)
_DISK: Final = (
    r"(?:disks?|discs?|discos?|ssd|hard drive|drive|hdd|storage|nvme|disco duro|disc dur"
    r"|emmagatzematge|almacenamiento|scratch)"
)
_DISK_FIELD: Final = "/hardware/disk_gib"
#: A few words may be between an amount and its noun, but none that begins another part.
_GAP: Final = r"(?:(?: (?!and\b|i\b|y\b|with\b|amb\b|con\b)[\w']+){0,4}? | ?[:=] ?)"
_FREE: Final = r"(?: (?:free|left|spare|available|lliures?|libres?|disponibles?))?"
_AMOUNTS: Final = tuple(
    (pointer, re.compile(pattern))
    for pointer, noun in (("/hardware/ram_gib", _MEMORY), (_DISK_FIELD, _DISK))
    for pattern in (rf"\b{_AMOUNT}{_GAP}{noun}\b", rf"\b{noun}{_GAP}{_AMOUNT}{_FREE}")
)
#: A computer or processor with an amount of memory: "a laptop with 16 GB", "cpu only, 32 GB".
_COMPUTER: Final = (
    r"(?:laptop|notebook|computer|machine|server|desktop|workstation|pc|box|cpu(?: only)?"
    r"|portatil|ordinador|servidor|maquina|ordenador|computador[ae]?|equipo|equip|sobretaula)"
)
_COMPUTERS: Final = re.compile(
    rf"\b{_COMPUTER},? (?:(?:with|has|of|that has|de|amb|con|que te|que tiene) )?{_AMOUNT}"
    rf"|(?P<amount>{_AMOUNT.replace('?P<number>', '').replace('?P<unit>', '')})"
    rf" (?:{_COMPUTER}|(?:of |de )?(?:memory|memoria))\b"
)
#: "400 GB free" beside "a disk of 1 TB": the free space counts, and not the whole disk.
_FREE_DISK: Final = re.compile(
    r"(?<![\w.,])\d[\d.,]* ?(?:[gt]i?b|[gt]|gigas?|gigues|gigs?|teras?)"
    r"(?: (?:of |de )?(?:disk|disco?|space|espai|espacio))?"
    r" (?:(?:are |is |still |que (?:em |me )?(?:queden|quedan) )?"
    r"(?:free|left|spare|available|lliures?|libres?|disponibles?))\b"
    r"(?! (?:of |on |in |de |en )?(?:the |la )?(?:v?ram|memor\w+|gpus?|cards?|targeta|tarjeta)\b)"
    r"|\b(?:(?:only|have|are|is|with) (?:free|left)|(?:hi |em |me |nos |ens )?(?:queden|quedan))"
    r" (?:only |nomes |solo |uns |unos )?\d[\d.,]* ?(?:[gt]i?b|[gt]|gigas?|gigues|gigs?|teras?)\b"
    r"(?! (?:of |de )?(?:v?ram|memor\w+)\b)"
)
_HALVES: Final = re.compile(r"half|mi[gt]|medio")
_TERA: Final = 1024


def read_storage(message: Message) -> Iterator[Change]:
    """Yield the main memory and the free disk, in GiB."""
    for pointer, pattern in _AMOUNTS:
        for match in message.take(pattern):
            halved = _HALVES.match(match["number"]) is not None
            number = 0.5 if halved else read_number(match["number"])
            if number is None or message.denied(match.start()):
                continue
            value = number * (_TERA if match["unit"].startswith("t") else 1)
            if pointer == _DISK_FIELD and _is_whole(message, match):
                continue
            words = message.words(*match.span())
            yield Change(pointer=pointer, value=as_written(round(value, 2)), words=words)


def _is_whole(message: Message, disk: re.Match[str]) -> bool:
    """Return whether an amount is the size of a disk whose sentence also gives the free space."""
    start, end = find_around(SENTENCE_END, message.plain, disk.span())
    free = _FREE_DISK.finditer(message.plain, start, end)
    return any(each.end() <= disk.start() or disk.end() <= each.start() for each in free)


def read_memory_without_gpu(message: Message) -> Iterator[Change]:
    """Yield the main memory of a computer without a GPU, in GiB."""
    for match in message.take(_COMPUTERS):
        amount = re.match(_AMOUNT, match["amount"]) if match["amount"] else match
        number = read_number(amount["number"]) if amount is not None else None
        if amount is None or number is None:
            continue
        value = number * (_TERA if amount["unit"].startswith("t") else 1)
        words = message.words(*match.span())
        yield Change(pointer="/hardware/ram_gib", value=as_written(round(value, 2)), words=words)
