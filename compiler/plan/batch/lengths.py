"""The length of a training row in tokens, and the number of rows after packing."""

import math
import random
from bisect import bisect_left
from dataclasses import replace
from functools import cache
from itertools import accumulate

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.decision import Because, Decision, decide
from ftc.compiler.resolve.data.lengths import OUTLIER, bin_step
from ftc.compiler.resolve.facts import DataFacts, Lengths, ModelFacts
from ftc.runtime.tokens.packing import fill
from ftc.spec.sections import Spec

_PIECE_TOKENS = 2048  # a piece of a long text; longer pieces teach longer dependencies
_ESTIMATE_SPREAD = 1.5  # code has up to 45% more tokens than prose of as many characters
_WINDOW = 1000  # rows that are packed together


def decide_max_length(spec: Spec, model: ModelFacts, data: DataFacts) -> Decision[int]:
    """Return the smallest multiple of 8 (64 above 512) that keeps every row but outliers.

    It is at most the model's context. Where texts are split, it is the usual length of a piece.
    Multiples of 8 fill the tiles of tensor cores (NVIDIA, Deep Learning Performance guide, "Matrix
    multiplication").
    """
    lengths = data.lengths

    def derive() -> tuple[int, Because]:
        if OBJECTIVES[spec.objective.type].splits:
            value = min(round_up(lengths.max), model.context_tokens, _PIECE_TOKENS)
            return value, Because(key="max_length.pieces", values={"max": lengths.max})
        keep = longest_usual(lengths)
        value = min(round_up(keep), model.context_tokens)
        key = "max_length.longest" if keep == lengths.max else "max_length.p99"
        if value < keep:
            key = "max_length.context"
        values = {
            "max": lengths.max,
            "p99": lengths.p99,
            "context": model.context_tokens,
            "cut_share": share_above(lengths, value),
        }
        return value, Because(key=key + (".estimate" if lengths.estimate else ""), values=values)

    return decide(spec, "/data/max_length", spec.data.max_length, derive)


def longest_padded(spec: Spec, data: DataFacts, lengths: Lengths, max_length: int) -> int:
    """Return the maximum length of a padded row: the length of the longest row, if known.

    An estimate may be too short, especially for code. KTO also joins prompts with other rows'
    answers. In sampled data, any row may be as long as `max_length`.
    """
    if data.sampled_rows < data.rows:
        return max_length
    longest = lengths.max
    if spec.objective.type == "kto":
        longest = lengths.prompt_max + lengths.answer_max
    if lengths.estimate:
        longest = math.ceil(_ESTIMATE_SPREAD * longest)
    return min(max_length, round_up(longest))


def longest_usual(lengths: Lengths) -> int:
    """Return the length of the longest row that is not an outlier.

    If the longest row is an outlier, this is the upper edge of the last bin without outliers.
    """
    most = OUTLIER * lengths.p99
    if lengths.max <= most:
        return lengths.max
    return max(
        (edge for edge, _ in lengths.histogram if lengths.p99 <= edge <= most), default=lengths.p99
    )


def are_all_cut(lengths: Lengths, tokens: int) -> bool:
    """Return whether every row is longer than `tokens`, from the histogram."""
    if lengths.estimate or not lengths.histogram:
        return False
    edge, _ = lengths.histogram[0]
    return edge - bin_step(edge) >= tokens


def round_up(tokens: int) -> int:
    """Return the next multiple of 8, or of 64 above 512 tokens."""
    step = 64 if tokens > 512 else 8  # noqa: PLR2004 - the edge is the docstring's
    return max(step, -(-tokens // step) * step)


def share_above(lengths: Lengths, tokens: int) -> float:
    """Return the share of rows longer than `tokens`, from the histogram; never too low.

    A bin whose upper edge is beyond `tokens` counts in full, unless a percentile or the longest row
    shows that fewer are longer.
    """
    total = sum(rows for _, rows in lengths.histogram)
    if lengths.max <= tokens or not total:
        return 0.0
    share = sum(rows for edge, rows in lengths.histogram if edge > tokens) / total
    marks = ((lengths.p99, 0.01), (lengths.p95, 0.05), (lengths.p90, 0.1), (lengths.p50, 0.5))
    at_most = next((most for mark, most in marks if mark <= tokens), 1.0)
    return min(share, at_most)


def limit_lengths(lengths: Lengths, max_length: int, *, drops: bool) -> Lengths:
    """Return the lengths once rows above `max_length` are dropped, or cut.

    Rows that the limit changes count with the middle of their bin, so that one extreme row does not
    distort the mean. If all rows above it are dropped, the longest row is the longest kept row.
    """
    if lengths.max <= max_length:
        return lengths
    total = sum(rows for _, rows in lengths.histogram)
    within = [(edge, rows) for edge, rows in lengths.histogram if edge <= max_length]
    beyond = total - sum(rows for _, rows in within)
    at_limit = beyond - round(total * share_above(lengths, max_length)) if drops else beyond
    kept = (*within, *([(max_length, at_limit)] if at_limit > 0 else []))
    tokens = sum((edge - (bin_step(edge) - 1) / 2) * rows for edge, rows in within)
    count = sum(rows for _, rows in kept)
    mean = (tokens + max_length * max(0, at_limit)) / count if count else max_length
    longest = within[-1][0] if drops and within and at_limit <= 0 else max_length
    names = ("p50", "p90", "p95", "p99", "max")
    return replace(
        lengths,
        mean=round(min(mean, lengths.mean), 2),
        **{name: min(getattr(lengths, name), longest) for name in names},
        histogram=kept or ((max_length, total),),
    )


def usual_mean(lengths: Lengths) -> float:
    """Return the mean length of the rows without outliers."""
    return limit_lengths(lengths, longest_usual(lengths), drops=True).mean


def spread(lengths: Lengths) -> tuple[tuple[int, int], ...]:
    """Return lengths with their numbers of rows, which have the mean of all rows.

    The rows of a bin are spaced evenly in it. Upper edges alone would be multiples of 8, which fill
    packed rows unusually well.
    """
    total = sum(count for _, count in lengths.histogram)
    width = sum((bin_step(edge) - 1) * count for edge, count in lengths.histogram)
    above = sum(edge * count for edge, count in lengths.histogram) - lengths.mean * total
    share = min(1.0, max(0.0, 2 * above / width)) if width else 0.0
    sizes: list[tuple[float, int]] = []
    for edge, count in lengths.histogram:
        step = share * (bin_step(edge) - 1)
        parts = max(1, min(count, round(step) + 1))
        for part in range(parts):
            rows = count * (part + 1) // parts - count * part // parts
            sizes.append((edge - step * part / max(1, parts - 1), rows))
    scale = min(1.0, lengths.mean * total / sum(size * rows for size, rows in sizes))
    found: dict[int, int] = {}
    for size, rows in sizes:
        length = max(1, round(size * scale))
        found[length] = found.get(length, 0) + rows
    return tuple(sorted(found.items()))


def pack_lengths(lengths: Lengths, max_length: int, *, rows: int) -> tuple[int, Lengths]:
    """Return the number of rows after best-fit packing of `rows`, and their equal lengths.

    The rows of the histogram are packed as the bundle packs them.
    """
    if not any(count for _, count in lengths.histogram) or not rows:
        return rows, lengths
    found = spread(lengths)
    whole, rest = divmod(rows, _WINDOW)
    windows = ((_WINDOW, whole * _WINDOW), (rest, rest))
    shares = (
        count * packed_share(found, max_length, rows=size) for size, count in windows if count
    )
    packed = max(1, round(sum(shares)))
    mean = min(float(max_length), lengths.mean * rows / packed)
    full = replace(
        lengths,
        mean=mean,
        p50=max_length,
        p90=max_length,
        p95=max_length,
        p99=max_length,
        max=max_length,
        histogram=((max_length, packed),),
    )
    return packed, full


@cache
def packed_share(histogram: tuple[tuple[int, int], ...], length: int, *, rows: int) -> float:
    """Return the number of packed rows of `length` tokens per row of a (tokens, rows) histogram.

    At most one window of rows is packed; they are drawn at equal distances from the histogram and
    shuffled. A small one leaves a larger share of its last packed rows empty.
    """
    ends = list(accumulate(count for _, count in histogram))
    count = min(rows, ends[-1])
    places = ((2 * place + 1) * ends[-1] / (2 * count) for place in range(count))
    sizes = [max(1, min(histogram[bisect_left(ends, place)][0], length)) for place in places]
    random.Random(0).shuffle(sizes)  # noqa: S311 - any order of chance
    return len(fill(sizes, length)) / count
