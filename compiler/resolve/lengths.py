"""Lengths: how many tokens each example has, template included, and how they are distributed.

The prompt of an example is what the model reads before the last answer begins. Without the
tokenizer both are estimated from characters.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ftc.compiler.resolve.chat_template import ChatTemplateError
from ftc.compiler.resolve.example import Example
from ftc.compiler.resolve.facts import Lengths
from ftc.compiler.resolve.tokenizer_files import LoadedTokenizer

if TYPE_CHECKING:  # slow to import, needed only where a tokenizer is there
    from tokenizers import Encoding

Pair = tuple[int, int]

#: Tokens that a template's markers add to a turn, where the template is not known.
_MARKER_TOKENS: Final = 5
_BATCH_ROWS: Final = 2000


def count_lengths(
    examples: Iterable[Example], tokenizer: LoadedTokenizer, *, system: str | None
) -> Iterator[Pair | None]:
    """Yield (tokens, tokens of the prompt) per example; None where the template refuses it."""
    for batch in _batches(examples):
        texts = [_render(example, tokenizer, system) for example in batch]
        encodings = tokenizer.encode([text for text, _ in filter(None, texts)])
        for text in texts:
            if text is None:
                yield None
                continue
            encoding = next(encodings)
            total = len(encoding)
            yield total, min(total, _tokens_before(encoding, text[1], len(text[0])))


def estimate_lengths(
    examples: Iterable[Example], chars_per_token: float, *, system: str | None
) -> Iterator[Pair]:
    """Yield (tokens, tokens of the prompt) per example by a ratio of characters per token."""
    for example in examples:
        turns = _with_system(example, system)
        marker = 0 if example.turns[0][0] == "text" else _MARKER_TOKENS
        tokens = [math.ceil(len(text) / chars_per_token) + marker for _, text in turns]
        yield sum(tokens), sum(tokens[:-1]) + (marker if len(tokens) > 1 else 0)


def summarise(pairs: Sequence[Pair], *, estimate: bool) -> Lengths:
    """Return nearest-rank percentiles and the histogram of at least one pair."""
    totals = sorted(total for total, _ in pairs)
    prompts = sorted(prompt for _, prompt in pairs)
    return Lengths(
        estimate=estimate,
        mean=round(sum(totals) / len(totals), 2),
        p50=_percentile(totals, 50),
        p90=_percentile(totals, 90),
        p95=_percentile(totals, 95),
        p99=_percentile(totals, 99),
        max=totals[-1],
        prompt_p95=_percentile(prompts, 95),
        prompt_max=prompts[-1],
        histogram=_histogram(totals),
    )


def _render(
    example: Example, tokenizer: LoadedTokenizer, system: str | None
) -> tuple[str, int] | None:
    """Return the text as trained on and where in it the last answer begins."""
    turns = _with_system(example, system)
    if turns[0][0] == "text":
        return turns[0][1] + tokenizer.eos, 0
    if tokenizer.template is None:
        before = "\n".join(text for _, text in turns[:-1]) + "\n"
        return before + example.answer + tokenizer.eos, len(before)
    messages = [{"role": role, "content": text} for role, text in turns]
    try:
        text = tokenizer.template.render(messages)
    except ChatTemplateError:
        return None
    start = text.rfind(example.answer)
    return text, max(start, 0)


def _with_system(example: Example, system: str | None) -> tuple[tuple[str, str], ...]:
    if system is None or example.turns[0][0] in ("system", "text"):
        return example.turns
    return (("system", system), *example.turns)


def _tokens_before(encoding: "Encoding", position: int, end: int) -> int:
    """Count the tokens before a character; one that spaces swallowed is looked for behind it."""
    while position < end:
        token = encoding.char_to_token(position)
        if token is not None:
            return token
        position += 1
    return len(encoding)


def _batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
    batch: list[Example] = []
    for example in examples:
        batch.append(example)
        if len(batch) == _BATCH_ROWS:
            yield batch
            batch = []
    if batch:
        yield batch


def _percentile(ordered: Sequence[int], percent: int) -> int:
    return ordered[math.ceil(percent * len(ordered) / 100) - 1]


def _histogram(ordered: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Count by edges an eighth of their power of two apart, at least 8 tokens; none empty."""
    counts: dict[int, int] = {}
    for total in ordered:
        step = max(8, 2 ** max(total - 1, 1).bit_length() // 16)
        edge = math.ceil(max(total, 1) / step) * step
        counts[edge] = counts.get(edge, 0) + 1
    return tuple(sorted(counts.items()))
