"""How many tokens of the training data an importance matrix is computed from."""

from typing import Final

from ftc.compiler.knowledge.architecture import Shape
from ftc.compiler.plan.decision import Because

# The mean square of n activations is off by sqrt((k - 1) / n) of itself, k being their kurtosis:
# with the heavy tails of k = 30 these many leave 4 %, and a quantizer weighs by far coarser steps.
_TOKENS: Final = 16_384
_MOST_TIMES: Final = 8  # a mixture's experts share the tokens, and reading them takes its time


def importance_tokens(shape: Shape) -> int:
    """Return the budget: more for a mixture, in which an expert sees a share of the tokens."""
    return _TOKENS * _times(shape)


def importance_reason(shape: Shape) -> Because:
    """Return why there are that many."""
    if _times(shape) == 1:
        return Because(key="importance.tokens", values={})
    values = {"experts": shape.experts, "used": shape.experts_per_token}
    return Because(key="importance.tokens.experts", values=values)


def _times(shape: Shape) -> int:
    used = max(1, shape.experts_per_token)
    return max(1, min(_MOST_TIMES, shape.experts // used))
