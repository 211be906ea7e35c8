"""What a quantized file may lose before the export fails: the bounds of every GGUF type."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.knowledge.gguf_quality import Published, published
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.plan import Bounds
from ftc.compiler.plan.source import decide, keep
from ftc.compiler.plan.splits import decide_answer_tokens, decide_judged_rows
from ftc.spec.sections import Metric, Spec

#: How many times the published loss of an 8B model a model may lose. Divergence and the ratio of
#: perplexities grow with the square of the error, so disagreement is given the root of it. Small
#: models have less to spare in their weights, and lose more.
_MARGIN: Final = 4.0
_SMALL_MARGIN: Final = 9.0
_SMALL_PARAMETERS: Final = 2_000_000_000
#: What the comparison itself may be off by: nats, and shares. On a GPU the trained model computes
#: in 16 bits, which rounds its own logits.
_EXACT_NATS: Final = 0.001
_ROUNDED_NATS: Final = 0.01
_EXACT_SHARE: Final = 0.01
_ROUNDED_SHARE: Final = 0.03
_PERPLEXITY_SLACK_SHARE: Final = 0.02
_ROWS_OF_CHANCE: Final = 2
_ASKED_ROWS: Final = 400  # of fidelity.py
_WRITTEN_TOKENS: Final = 8192  # of fidelity.py
_READ_TIMES: Final = 4  # the tokens that fidelity.py reads for one that it judges


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The decided bounds by type, and how many tokens are judged; shares are of 1.

    An adapter alone has no types, and so none of their bounds.
    """

    tokens: Decision[int]
    max_divergence: Decision[Bounds] | None = None
    min_agreement: Decision[Bounds] | None = None
    max_perplexity_ratio: Decision[Bounds] | None = None
    max_metric_drop: Decision[Bounds] | None = None


def decide_verification(
    spec: Spec, facts: KnownFacts, metric: Metric, *, test_rows: int
) -> Verification | None:
    """Take the spec's bounds; one left open is the type's published loss times a margin."""
    tokens = spec.export.verify.tokens
    if not spec.export.types:
        apart = Verification(tokens=keep(spec, "/export/verify/tokens", tokens))
        return apart if spec.export.adapter else None
    parameters = facts.model.parameters
    margin = _SMALL_MARGIN if parameters < _SMALL_PARAMETERS else _MARGIN
    gpu = facts.hardware.kind == "gpu"
    nats, share = (_ROUNDED_NATS, _ROUNDED_SHARE) if gpu else (_EXACT_NATS, _EXACT_SHARE)
    read_rows = _READ_TIMES * tokens // max(1, round(facts.data.lengths.mean))
    written_rows = _WRITTEN_TOKENS // decide_answer_tokens(facts.data, metric).value
    judged_rows = decide_judged_rows(facts.data, test_rows).value
    asked_rows = max(1, min(_ASKED_ROWS, judged_rows, read_rows, written_rows))
    examined = metric != "none" and test_rows > 0
    return Verification(
        tokens=keep(spec, "/export/verify/tokens", tokens),
        max_divergence=_bound(
            spec,
            "max_divergence",
            lambda loss: margin * loss.divergence + nats,
            Because(
                key="bound.divergence",
                values={"margin": margin, "nats": nats, "parameters": parameters},
            ),
        ),
        min_agreement=_bound(
            spec,
            "min_agreement",
            lambda loss: max(0.0, 1 - margin**0.5 * (1 - loss.agreement) - share),
            Because(
                key="bound.agreement",
                values={"margin": margin**0.5, "slack_share": share},
            ),
        ),
        max_perplexity_ratio=_bound(
            spec,
            "max_perplexity_ratio",
            lambda loss: 1 + margin * (loss.perplexity_ratio - 1) + _PERPLEXITY_SLACK_SHARE,
            Because(
                key="bound.perplexity",
                values={"margin": margin, "slack_share": _PERPLEXITY_SLACK_SHARE},
            ),
        ),
        max_metric_drop=_decide_drop(spec, asked_rows) if examined else None,
    )


def _decide_drop(spec: Spec, rows: int) -> Decision[Bounds]:
    return _bound(
        spec,
        "max_metric_drop",
        lambda loss: min(1.0, 1 - loss.agreement + _ROWS_OF_CHANCE / rows),
        Because(key="bound.metric", values={"chance": _ROWS_OF_CHANCE, "rows": rows}),
    )


def _bound(
    spec: Spec, name: str, rule: Callable[[Published], float], because: Because
) -> Decision[Bounds]:
    """Decide one bound for every type: the spec's single number, or the rule's for each."""
    kinds = spec.export.types
    written = getattr(spec.export.verify, name)

    def derive() -> tuple[Bounds, Because]:
        return {kind: float(f"{rule(published(kind)):.3g}") for kind in kinds}, because

    bounds: Bounds | Literal["auto"] = "auto"
    if written != "auto":
        bounds = dict.fromkeys(kinds, float(written))
    return decide(spec, f"/export/verify/{name}", bounds, derive)
