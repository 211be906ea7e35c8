"""Reads a variant of the draft's GPU by its suffix alone: "my card is the Ti Super"."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.tui.understanding.reading import Change, value_at
from ftc.tui.understanding.text.message import Message

_GPU: Final = "/hardware/gpu"
#: "the Ti", "a Super with 16 GB": an article and a suffix, then a memory or the end of a clause.
_VARIANT: Final = re.compile(
    r"\b(?:an?|the|un|una|el|la)\s+(?P<variant>ti super|ti|super)"
    r"(?P<size>,?\s+(?:\(|(?:with|of|amb|con|de) )?\d+ ?(?:gi?b|gigas?|gigues|gigs?))?"
    r"(?: (?:one|version|versio|model))?"
    r"(?=\s*(?:$|[.,;:!?)\n]|\b(?:and|i|y|not|no|with|amb|con)\b))"
)


def read_variant(message: Message, draft: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the card of the draft's chip with the suffix that the message gives it."""
    own = value_at(draft, _GPU)
    chip = re.search(r"\d{3,4}", own) if isinstance(own, str) else None
    match = _VARIANT.search(message.folded)
    if chip is None or match is None or message.denied(match.start()):
        return
    found = find_accelerator(f"{chip[0]} {match['variant']}")
    if found is not None and match["variant"].split()[-1] in found.accelerator.name.casefold():
        words = message.words(match.start("variant"), match.end())
        message.cross_out(*match.span())
        yield Change(pointer=_GPU, value=found.accelerator.name, words=words)
