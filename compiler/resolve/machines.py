"""Reads machines in words: "2 nodes of 8 H100", "8xH100x2", "A100 80GB, 4 GPUs"."""

import re
from dataclasses import dataclass, replace
from typing import Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.spec.values.quantity import read_word

_NODE: Final = (
    r"(?:nodes?|machines?|servers?|hosts?|box(?:es)?|instances?|vms?|workers?"
    r"|nodos?|m[aáà]quin[ae]s?|servidor(?:e?s)?)\b"
)
_GPU: Final = r"(?:gpus?|cards?|graphics cards?|tarjetas?|target[ae]s?)\b"
_TIMES: Final = r"\s*[xX\u00d7*]\s*"
#: "8 per node", "8 each".
_EACH: Final = re.compile(
    rf"(?:\b(?:per|each|every|por|cada)\s+|/\s*){_NODE}|\beach\b|\bper cada\b|\bcada un[ao]?\b",
    re.IGNORECASE,
)
#: "2 nodes", "nodes: 2", "two machines".
_NODES: Final = re.compile(
    rf"\b(\d{{1,4}}|[^\W\d_]+)(?:{_TIMES}|[\s-]*){_NODE}(?:{_TIMES}(?=\d))?", re.IGNORECASE
)
_NODES_LAST: Final = re.compile(rf"\b{_NODE}\s*[:=x*\u00d7]?\s*(\d{{1,4}})\b", re.IGNORECASE)
_TOTAL: Final = re.compile(r"\b(?:across|over|spread|total|in all|en total|sobre)\b", re.IGNORECASE)
_JOINING: Final = re.compile(
    r"\b(?:of|with|on|in|and|across|over|spread|total|de|con|amb|en|y|i|sobre)\b|[,;()+:=]",
    re.IGNORECASE,
)
_GPUS: Final = re.compile(rf"\b(\d{{1,4}})(?:{_TIMES}|[\s-]*){_GPU}", re.IGNORECASE)
#: A count before or after the name; a number before `GB` is an amount of memory.
_BEFORE: Final = re.compile(rf"(\d{{1,4}})(?:{_TIMES}|\s+)(?!\s*Gi?B?\b)(?=\D)(.+)", re.IGNORECASE)
_AFTER: Final = re.compile(r"(.+?)(?:\s*[xX\u00d7*:]\s*|\s+)(\d{1,2})\s*[xX\u00d7*]?")
#: "512 GB RAM", "400 Gbit/s", "400Gb InfiniBand".
_RAM: Final = re.compile(
    r"\b(\d{1,5})\s*gi?b?\s+(?:of\s+)?(?:host\s+|system\s+)?ram\b", re.IGNORECASE
)
_NETWORK: Final = re.compile(
    r"\b(\d{1,4})\s*[Gg]b(?:it)?(?:(?:/s|ps)\b|(?:/s|ps)?\s+(?i:ib|infiniband|ethernet|roce|network)\b)"
)
#: Machines, GPUs in each and their name, in any order: "2x8xH100", "8xH100x2", "2x8 H100".
_BOTH_BEFORE: Final = re.compile(rf"(\d{{1,4}}){_TIMES}(\d{{1,4}})(?:{_TIMES}|\s+)(\D.*)")
_AROUND: Final = re.compile(rf"(\d{{1,4}})(?:{_TIMES}|\s+)(\D.*?){_TIMES}(\d{{1,4}})")
_MOST_IN_ONE: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """`nodes` machines with `count` GPUs each; `certain` means that no other reading is likely.

    `ram_gib` and `network_gbit` are 0 if the text does not give them.
    """

    gpu: str
    count: int
    nodes: int
    certain: bool
    ram_gib: int = 0
    network_gbit: int = 0


def read_machines(text: str) -> Machines | None:
    """Return the machines that a text describes, or None if the GPU or a number is not known."""
    text = " ".join(text.split())
    ram, network = _RAM.search(text), _NETWORK.search(text)
    found = _read_gpus(_NETWORK.sub(" ", _RAM.sub(" ", text)).strip(" ,;"))
    if found is None:
        return None
    return replace(
        found,
        ram_gib=int(ram[1]) if ram else 0,
        network_gbit=int(network[1]) if network else 0,
    )


def _read_gpus(text: str) -> Machines | None:
    """Return the machines without their other parts."""
    for pattern in (_BOTH_BEFORE, _AROUND):
        if (match := pattern.fullmatch(text)) and not _NODES.search(text):
            return _of_two_numbers(match, around=pattern is _AROUND)
    rest, is_each = _EACH.subn(" ", text)
    nodes, is_total = 1, _TOTAL.search(rest) is not None
    if found := _NODES.search(rest) or _NODES_LAST.search(rest):
        number = int(found[1]) if found[1].isdecimal() else read_word(found[1])
        if not number:
            return None
        nodes, rest = number, f"{rest[: found.start()]} {rest[found.end() :]}"
    counted = _GPUS.search(rest)
    if counted is not None:
        rest = f"{rest[: counted.start()]} {rest[counted.end() :]}"
    name, count = " ".join(_JOINING.sub(" ", rest).split()), int(counted[1]) if counted else 0
    first, _, later = name.partition(" ")
    if not count and later and (word := read_word(first)):
        name, count = later, word
    if not count and find_accelerator(name) is None:
        name, count = _split(name)
    if find_accelerator(name) is None:
        return None
    return _divide(name, count or 1, nodes, is_each=bool(is_each), is_total=is_total)


def _of_two_numbers(match: re.Match[str], *, around: bool) -> Machines | None:
    """Read "2x8xH100". In "8xH100x2", the larger number is that of the GPUs per machine."""
    one, other = int(match[1]), int(match[3] if around else match[2])
    name = match[2] if around else match[3]
    nodes, count = (min(one, other), max(one, other)) if around else (one, other)
    if find_accelerator(name) is None or not nodes:
        return None
    return Machines(gpu=name, count=count, nodes=nodes, certain=not around)


def _split(name: str) -> tuple[str, int]:
    """Return a name and the number before or after it, or 0 without a number."""
    if match := _BEFORE.fullmatch(name):
        return match[2], int(match[1])
    if match := _AFTER.fullmatch(name):
        return match[1], int(match[2])
    return name, 0


def _divide(name: str, count: int, nodes: int, *, is_each: bool, is_total: bool) -> Machines:
    """Return the machines; a `count` that is the total of all GPUs is divided among them."""
    is_sum = not is_each and (is_total or count > _MOST_IN_ONE)
    if is_sum and nodes > 1 and count % nodes == 0:
        return Machines(gpu=name, count=count // nodes, nodes=nodes, certain=False)
    return Machines(gpu=name, count=count, nodes=nodes, certain=not is_sum or nodes == 1)
