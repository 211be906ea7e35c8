"""Answers that are compared: each is counted as a conversation of its own."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ftc.compiler.resolve.facts import Preferences
from ftc.compiler.resolve.rows.example import Example

Pair = tuple[int, int]
Count = Callable[[Sequence[Example]], Iterable[Pair | None]]


def count_answers(
    examples: Sequence[Example], count: Count
) -> tuple[list[Pair], Preferences | None]:
    """Return (tokens, tokens of the prompt) of each example: of a pair's longer conversation.

    Examples that the chat template refuses are left out.
    """
    if examples[0].compares:
        pairs = list(_count_pairs(examples, count))
        return [max(pair) for pair in pairs], _compare(pairs) if pairs else None
    if examples[0].verdict:
        examples = [Example(turns=example.turns[:-1]) for example in examples]
    return [pair for pair in count(examples) if pair is not None], None


def _count_pairs(examples: Sequence[Example], count: Count) -> Iterator[tuple[Pair, Pair]]:
    """Yield (tokens, tokens of the prompt) of the chosen and of the rejected conversation."""
    alone = [
        Example(turns=(*example.prompt, ("assistant", text)))
        for example in examples
        for _, text in example.turns[-2:]
    ]
    counted = iter(count(alone))
    for chosen, rejected in zip(counted, counted, strict=True):
        if chosen is not None and rejected is not None:
            yield chosen, rejected


def _compare(pairs: Sequence[tuple[Pair, Pair]]) -> Preferences:
    """Return how long chosen and rejected answers are, of at least one pair."""
    chosen = sorted(tokens - prompt for (tokens, prompt), _ in pairs)
    rejected = sorted(tokens - prompt for _, (tokens, prompt) in pairs)
    ahead = sum(one[0] > other[0] for one, other in pairs)
    behind = sum(one[0] < other[0] for one, other in pairs)
    return Preferences(
        chosen_p50=_percentile(chosen, 50),
        chosen_p95=_percentile(chosen, 95),
        rejected_p50=_percentile(rejected, 50),
        rejected_p95=_percentile(rejected, 95),
        longer_share=round(ahead / max(1, ahead + behind), 4),
    )


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[-(-percent * len(ordered) // 100) - 1]
