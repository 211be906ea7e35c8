"""Reads the machines that a question supposes: "how long on a T4?", "what if I had 8 GB of VRAM?".

The machine is used for the figures of the answer only; the draft keeps its own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.hardware.accelerators import (
    LEAST_CAPABILITY,
    Accelerator,
    all_accelerators,
)
from ftc.tui.understanding.machines.hardware import read_hardware
from ftc.tui.understanding.reading import UNSURE, Change, Choice, value_at
from ftc.tui.understanding.text.message import Message, find_words, fold
from ftc.tui.understanding.text.numbers import read_number

AMOUNT: Final = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:gi?b|g|gigas?|gigs?|gigues)\b")
#: Memory that is not the GPU's.
_OTHER_MEMORY: Final = re.compile(
    r"\s*(?:of |de |d')?(?:(?:free|system|host|lliures?|libres?) )?(?:(?:of |de |d')?)"
    r"(?:ram|disk|disc|disco|ssd|storage|espai|espacio|space|swap)\b"
)
_ONE: Final = re.compile(r"\b(?:an?|un|una)\s+(?:(?:single|rented|nvidia|sola?) )?$")
_ON_CPU: Final = re.compile(
    r"\b(?:on|in|with|en|a|al|amb|con)\s+(?:(?:an?|my|the|la|el|mi|una?|just|only)\s+){0,2}cpu\b"
)
_GPU: Final = "/hardware/gpu"
_COUNT: Final = "/hardware/count"
_MOST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SupposedMachine:
    """The changes that lead to the machine; `memory_gib` is set if only its memory was named."""

    changes: tuple[Change, ...]
    memory_gib: float | None = None


def read_supposed(text: str, draft: Mapping[str, Any]) -> tuple[SupposedMachine, ...]:
    """Return the machines that a question names, without the draft's own."""
    said = [*read_hardware(Message(text), draft)]
    cards = [*dict.fromkeys(name for each in said for name in _cards(each))][:_MOST]
    if not cards and _ON_CPU.search(fold(text)):
        cards = ["cpu"]
    counts = [each for each in said if isinstance(each, Change) and each.pointer != _GPU]
    if not cards and not counts:
        return tuple(_sized(text))
    found = []
    for card in cards or [value_at(draft, _GPU)]:
        gpu = Change(pointer=_GPU, value=card, words=card or "")
        one = _one(text, said) if not counts else ()
        changes = tuple(each for each in (gpu, *counts, *one) if _differs(each, draft))
        if changes:
            found.append(SupposedMachine(changes=changes))
    return tuple(found)


def _differs(change: Change, draft: Mapping[str, Any]) -> bool:
    """Return whether a value is another than the draft's; no number of GPUs means one."""
    own = value_at(draft, change.pointer)
    return bool(change.value != (1 if change.pointer == _COUNT and own is None else own))


def _cards(said: Change | Choice) -> Iterator[str]:
    """Yield the cards that are named; of several with a name, one for each size of memory."""
    if said.pointer != _GPU:
        return
    if isinstance(said, Change):
        yield said.value
    elif said.why == UNSURE:
        sizes = {each.name: each.memory_gib for each in all_accelerators()}
        by_size = {sizes.get(name): name for name in reversed(said.values)}
        yield from reversed(by_size.values())


def _one(text: str, said: Sequence[Change | Choice]) -> tuple[Change, ...]:
    """Return the number 1 if the name has an article: "on an H100"."""
    folded = fold(text)
    starts = (find_words(text, each.words) for each in said if each.pointer == _GPU)
    alone = any(start > 0 and _ONE.search(folded[:start]) for start in starts)
    return (Change(pointer=_COUNT, value=1, words="1"),) if alone else ()


def _sized(text: str) -> Iterator[SupposedMachine]:
    """Yield a usual GPU with at most the memory that is named."""
    folded = fold(text)
    for match in AMOUNT.finditer(folded):
        if _OTHER_MEMORY.match(folded, match.end()):
            continue
        size = read_number(match[1])
        card = None if size is None else find_card(size)
        if card is not None:
            gpu = Change(pointer=_GPU, value=card.name, words=match[0])
            one = Change(pointer=_COUNT, value=1, words=match[0])
            yield SupposedMachine(changes=(gpu, one), memory_gib=size)
            return


def find_card(size_gib: float) -> Accelerator | None:
    """Return the usual GPU with the most memory up to a size, or None."""
    fitting = [
        each
        for each in all_accelerators()
        if each.memory_gib <= size_gib
        and not each.is_laptop
        and each.compute_capability >= LEAST_CAPABILITY
    ]
    # of the same memory, a common card, whose memory has been reported, comes first
    return max(
        fitting,
        key=lambda each: (each.memory_gib, each.memory_basis == "reported", each.bandwidth_gb_s),
        default=None,
    )
