"""Finds text that the model's tokenizer loses when transformers loads it."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from ftc.compiler.resolve.model.tokenizer_files import LoadedTokenizer
from ftc.compiler.resolve.rows.example import Example
from ftc.compiler.resolve.tokenizer.conversion import loaded_as
from ftc.runtime.tokenizer.round_trip import RoundTrip, compare_rows

if TYPE_CHECKING:  # slow to import, and always loaded where this is called
    from tokenizers import Tokenizer

_COMPARED_ROWS: Final = 1000
_COUNTED: Final = 32  # characters by which rows are counted, the most frequent first
#: Turns whose text a chat template writes in its own way.
_REWRITTEN: Final = ("tools", "calls")

Encode = Callable[[Sequence[str]], list[list[int]]]


def try_round_trip(
    examples: Sequence[Example], loaded: LoadedTokenizer, name: str | None, *, labelled: bool
) -> RoundTrip:
    """Compare rows spread evenly over the examples; `name` is the class that transformers loads.

    `labelled`: the last turn is a label, which is never encoded.
    """
    some = examples[:: max(1, -(-len(examples) // _COMPARED_ROWS))]
    rows = [_texts(example, labelled=labelled) for example in some]
    tokenizer = loaded.tokenizer
    encode = _encoder(tokenizer)
    saved = {texts: encode(texts) for texts in rows}
    with loaded_as(tokenizer, name or ""):
        found = compare_rows(
            rows,
            encode=encode,
            decode=lambda ids: tokenizer.decode(list(ids), skip_special_tokens=False),
            expect=lambda texts: saved[tuple(texts)],
        )
    return RoundTrip(
        rows=found.rows,
        lost=dict(list(found.lost.items())[:_COUNTED]),
        torn_rows=found.torn_rows,
        other_rows=found.other_rows,
    )


def add_round_trips(parts: Sequence[RoundTrip | None]) -> RoundTrip | None:
    """Return the combined losses of several sources; None if no source was tried."""
    tried = [part for part in parts if part is not None]
    if not tried:
        return None
    lost = sum((Counter(part.lost) for part in tried), Counter[str]())
    return RoundTrip(
        rows=sum(part.rows for part in tried),
        lost=dict(sorted(lost.items(), key=lambda item: (-item[1], item[0]))[:_COUNTED]),
        torn_rows=sum(part.torn_rows for part in tried),
        other_rows=sum(part.other_rows or 0 for part in tried),
    )


def _texts(example: Example, *, labelled: bool) -> tuple[str, ...]:
    turns = example.turns[:-1] if labelled else example.turns
    return tuple(text for role, text in turns if role not in _REWRITTEN)


def _encoder(tokenizer: "Tokenizer") -> Encode:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    return encode
