"""The loss at which the export of a quantized file fails, and the tokens of its calibration."""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.objectives import compares_texts
from ftc.compiler.plan.decision import Because, Decision, decide, keep
from ftc.compiler.plan.plan import Bound
from ftc.compiler.plan.splits import decide_judged_rows
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Metric, Spec

# The mean square of n activations is off by sqrt((k - 1) / n) of itself, k being their kurtosis:
# with heavy tails (k = 30) this many tokens leave an error of 4%, far below a quantizer's step.
_IMPORTANCE_TOKENS: Final = 16_384
_MOST_TIMES: Final = 8  # the cap for mixtures of experts, because reading takes time


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The decided bounds of all types, and how many tokens are compared; shares are of 1.

    A measured bound has no number yet: the bundle measures it on the trained model. An adapter
    alone has no types, and so no bounds.
    """

    tokens: Decision[int]
    max_divergence: Decision[Bound] | None = None
    min_agreement: Decision[Bound] | None = None
    max_perplexity_ratio: Decision[Bound] | None = None
    max_metric_drop: Decision[Bound] | None = None


def decide_verification(
    spec: Spec, facts: KnownFacts, metric: Metric, *, test_rows: int
) -> Verification | None:
    """Decide the bounds. The bundle measures those that the spec leaves open.

    Vectors and scores of texts are compared by fixed bounds: there are no tokens to predict.
    """
    if compares_texts(spec.objective.type):
        return None
    tokens = keep(spec, "/export/verify/tokens", spec.export.verify.tokens)
    if not (spec.export.types or spec.export.vllm):
        return Verification(tokens=tokens) if spec.export.adapter else None
    examined = metric != "none" and test_rows > 0
    rows = decide_judged_rows(facts.data, test_rows).value if examined else 0
    return Verification(
        tokens=tokens,
        max_divergence=_bound(spec, "max_divergence", Because(key="bound.divergence")),
        min_agreement=_bound(spec, "min_agreement", Because(key="bound.agreement")),
        max_perplexity_ratio=_bound(spec, "max_perplexity_ratio", Because(key="bound.perplexity")),
        max_metric_drop=_bound(
            spec, "max_metric_drop", Because(key="bound.metric", values={"rows": rows})
        )
        if examined
        else None,
    )


def _bound(spec: Spec, name: str, because: Because) -> Decision[Bound]:
    def derive() -> tuple[Bound, Because]:
        return "measured", because

    written: Bound = getattr(spec.export.verify, name)
    return decide(spec, f"/export/verify/{name}", written, derive)


def importance_tokens(shape: Shape) -> int:
    """Return how many tokens are read: more for a mixture, whose experts share the tokens."""
    return _IMPORTANCE_TOKENS * _times(shape)


def importance_reason(shape: Shape) -> Because:
    """Return the reason for that number."""
    if _times(shape) == 1:
        return Because(key="importance.tokens", values={})
    values = {"experts": shape.experts, "used": shape.experts_per_token}
    return Because(key="importance.tokens.experts", values=values)


def _times(shape: Shape) -> int:
    used = max(1, shape.experts_per_token)
    return max(1, min(_MOST_TIMES, shape.experts // used))
