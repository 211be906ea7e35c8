"""Hardware names without a GPU: a torch device, a cloud provider, a memory size."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ftc.compiler.knowledge.hardware.accelerators import all_accelerators
from ftc.compiler.knowledge.tables import read_table

Kind = Literal["cpu", "device", "place", "memory"]
_LONGEST: Final = 100
_WORD: Final = re.compile(r"[^\W_]+")
_SIZE: Final = re.compile(r"\b(\d{1,3})\s*(?:gi?b|g)\b", re.IGNORECASE)
_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Vague:
    """The meaning of such a name, and some GPUs that may be meant.

    `place` is the provider, or "". `without` is the name without the words for it.
    """

    kind: Kind
    place: str = ""
    gpus: tuple[str, ...] = ()
    without: str = ""


@cache
def find_vague(text: str) -> Vague | None:
    """Return the meaning of a name without a GPU, or None if it has other words too."""
    name = text[:_LONGEST].casefold()
    words = [word for word in _WORD.findall(name) if not word.isdecimal()]
    if size := _SIZE.search(name):
        rest = _WORD.findall(_SIZE.sub(" ", name))
        if all(_is("filler", word) for word in rest):
            return Vague(kind="memory", gpus=_list_of(int(size[1])))
    if any(_is("cpu", word) for word in words):
        if all(_is("cpu", word) or _is("filler", word) for word in words):
            return Vague(kind="cpu")
        return None
    if words[-1:] == ["gpu"] and words[0] in ("no", "without"):
        return Vague(kind="cpu")
    for place in _read()["places"]:
        kept = [word for word in words if not re.fullmatch(place["pattern"], word)]
        if len(kept) < len(words):
            if all(_is("filler", word) or _is("device", word) for word in kept):
                return Vague(kind="place", place=place["name"], gpus=tuple(place["gpus"]))
            without = re.sub(rf"\b(?:{place['pattern']})\b", " ", text, flags=re.IGNORECASE)
            return Vague(
                kind="place",
                place=place["name"],
                gpus=tuple(place["gpus"]),
                without=" ".join(without.split()),
            )
    is_index = not words and bool(re.fullmatch(r"[\s,]*0[\s,\d]*", name))
    return Vague(kind="device") if is_index or _all(words, "device") else None


def _all(words: list[str], group: str) -> bool:
    return bool(words) and all(_is(group, word) for word in words)


def _is(group: str, word: str) -> bool:
    return re.fullmatch(_read()[group], word) is not None


def _list_of(gib: int) -> tuple[str, ...]:
    """Return the GPUs with this memory that can be bought or rented; those with bf16 come first."""
    found = [each for each in all_accelerators() if each.memory_gib == gib and not each.is_laptop]
    found.sort(key=lambda each: (not each.bf16, each.name))
    return tuple(each.name for each in found)[:_MOST_NAMED]


@cache
def _read() -> Any:
    return read_table(__name__, "vague_names.json")
