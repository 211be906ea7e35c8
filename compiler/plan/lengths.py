"""The length of a training row in tokens, from the data's percentiles."""

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide
from ftc.compiler.resolve.facts import DataFacts, Lengths, ModelFacts
from ftc.spec.sections import Spec

_PIECE_TOKENS = 2048  # a piece of a long text; longer ones teach longer dependencies, at a price
_OUTLIER = 2.0  # a longest row beyond twice the 99th percentile is an outlier, not the data


def decide_max_length(spec: Spec, model: ModelFacts, data: DataFacts) -> Decision[int]:
    """Return the smallest multiple of 8 (64 above 512) that keeps every row but outliers.

    Never more than the model's context. Text that is split into pieces needs no more than a usual
    one. Multiples of 8 fill the tensor cores' tiles (NVIDIA, Deep
    Learning Performance guide, "Matrix multiplication").
    """
    lengths = data.lengths

    def derive() -> tuple[int, Because]:
        if OBJECTIVES[spec.objective.type].splits:
            value = min(round_up(lengths.max), model.context_tokens, _PIECE_TOKENS)
            return value, Because(key="max_length.pieces", values={"max": lengths.max})
        keep = lengths.max if lengths.max <= _OUTLIER * lengths.p99 else lengths.p99
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


def round_up(tokens: int) -> int:
    """Return the next multiple of 8, or of 64 above 512 tokens."""
    step = 64 if tokens > 512 else 8  # noqa: PLR2004 - the edge is the docstring's
    return max(step, -(-tokens // step) * step)


def share_above(lengths: Lengths, tokens: int) -> float:
    """Return the share of rows longer than `tokens`, read off the histogram: never too low.

    A bin whose upper edge is beyond `tokens` counts in full, unless the longest row shows that
    nothing is longer.
    """
    total = sum(rows for _, rows in lengths.histogram)
    if lengths.max <= tokens or not total:
        return 0.0
    return sum(rows for edge, rows in lengths.histogram if edge > tokens) / total
