"""Reads how the best checkpoint is chosen: "best ckpt by accuracy", "que lo elija por f1"."""

import re
from collections.abc import Iterator
from typing import Any, Final

from ftc.tui.understanding.reading import Change
from ftc.tui.understanding.text.lexicon import WORDS, any_of
from ftc.tui.understanding.text.message import Message

_BY: Final[Any] = WORDS["best_by"]
_METRICS: Final = tuple(
    (value, any_of(words) if isinstance(words, dict) else words)
    for value, words in _BY["metrics"].items()
)
_SAID: Final = "|".join(f"(?P<m{n}>{said})" for n, (_, said) in enumerate(_METRICS))
_JUDGE: Final = (
    rf"(?:the |la |el |l'|its )?(?:val(?:idation)? |eval(?:uation)? |test )?"
    rf"(?:{_SAID}|(?P<loss>{any_of(_BY['loss'])})|(?P<metric>{any_of(_BY['metric'])}))(?!\w)"
)
_BEST: Final = any_of(_BY["best"])
_NOT: Final = re.compile(
    rf"\b(?:not|no|instead of|rather than|en vez de|en lloc de)\s+{any_of(_BY['by'])}?\s*{_JUDGE}$"
)
_PATTERNS: Final = (
    re.compile(rf"\b(?!for\b){any_of(_BY['pick'])}\s+{any_of(_BY['by'])}\s+{_JUDGE}"),
    re.compile(rf"\b{_BEST}\b[^.;!?\n\x00]{{0,40}}?\b{any_of(_BY['by'])}\s+{_JUDGE}"),
    re.compile(
        rf"(?<!\w){_JUDGE}[^.;,!?\n\x00]{{0,30}}?\b{any_of(_BY['pick'])}\b[^.;,!?\n]{{0,16}}?{_BEST}\b"
    ),
)


def read_judged(message: Message) -> Iterator[Change]:
    """Yield how the best checkpoint is chosen, and the metric if one is named."""
    for pattern in _PATTERNS:
        for match in message.take(pattern):
            if message.denied(match.start(), match.end()):
                continue
            words = message.words(*match.span())
            by = "loss" if match["loss"] else "metric"
            if _NOT.search(match[0]):  # "by this, and not by the loss"
                by = "metric" if by == "loss" else "loss"
                yield Change(pointer="/training/evaluation/best_by", value=by, words=words)
                continue
            yield Change(pointer="/training/evaluation/best_by", value=by, words=words)
            for index, (value, _) in enumerate(_METRICS):
                if match[f"m{index}"]:
                    yield Change(pointer="/training/evaluation/metric", value=value, words=words)
