"""Words that set a field by themselves: methods, strategies, number formats, kinds of data."""

import re
from collections.abc import Iterator
from typing import Final

from ftc.tui.understanding.lexicon import WORDS, any_of
from ftc.tui.understanding.message import Message
from ftc.tui.understanding.reading import Change

_PATTERNS: Final = tuple(
    (entry["pointer"], re.compile(rf"(?<![\w-]){any_of(entry)}(?![\w-])"), entry["value"])
    for entry in WORDS["values"]
)
#: The value for a negated word: the other of two, or None to plan the field again.
_OTHERWISE: Final = {
    ("/method/type", "lora"): "full",
    ("/method/type", "full"): "lora",
    ("/method/type", "qlora"): "lora",
    ("/method/type", "freeze"): "lora",
    ("/method/dora", True): False,
    ("/method/rslora", True): False,
    ("/training/gradient_checkpointing", True): False,
    ("/data/cleaning/drop_duplicates", True): False,
    ("/model/trust_remote_code", True): False,
    ("/objective/loss_on", "all"): "completion",
    ("/distribution/offload", "optimizer"): "none",
    ("/distribution/offload", "parameters"): "none",
}


def read_words(message: Message) -> Iterator[Change]:
    """Yield the changes of single words; a negated word sets the opposite."""
    settled: set[str] = set()
    for pointer, pattern, value in _PATTERNS:
        for match in message.take(pattern):
            denied = message.denied(match.start())
            chosen = _OTHERWISE.get((pointer, value)) if denied else value
            if pointer in settled and denied:
                continue
            settled.add(pointer)
            yield Change(pointer=pointer, value=chosen, words=message.words(*match.span()))
