"""Objectives that compare answers: what the model is compared with, and how strongly."""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide, keep
from ftc.compiler.resolve.facts import DataFacts, ModelFacts
from ftc.spec.sections import ObjectiveType, PreferenceLoss, Reference, Spec

#: The objectives whose model is held to a reference.
REFERRING: Final[frozenset[ObjectiveType]] = frozenset({"dpo", "kto"})
#: The objectives whose trainers switch dropout off.
COMPARING: Final[frozenset[ObjectiveType]] = REFERRING | {"orpo"}
#: The objectives whose rows are answers side by side, and whose trainers switch dropout off.
PAIRING: Final[frozenset[ObjectiveType]] = COMPARING | {"reward"}

_NORMALISED_BETA: Final = 5.0
_ROBUST_SMOOTHING: Final = 0.1
_EXO_SMOOTHING: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What was decided; None where the objective or its loss does not read it."""

    loss: Decision[PreferenceLoss] | None = None
    beta: Decision[float] | None = None
    reference: Decision[Reference] | None = None
    smoothing: Decision[float] | None = None
    desirable_weight: Decision[float] | None = None
    undesirable_weight: Decision[float] | None = None


def decide_comparison(spec: Spec, data: DataFacts) -> Comparison:
    """Return beta, the loss, the weights and where the reference comes from.

    Beta is 0.1 as in the experiments of DPO (arXiv 2305.18290, section 6), KTO (2402.01306, section
    4) and ORPO (2403.07691, section 5), and 5 where log-probabilities are means over tokens (Tulu
    3, arXiv 2411.15124, section 5).
    """
    objective = spec.objective
    if objective.type not in COMPARING:
        return Comparison()

    def derive_beta() -> tuple[float, Because]:
        if objective.type == "dpo" and objective.loss == "sigmoid_norm":
            return _NORMALISED_BETA, Because(key="beta.normalised")
        key = "beta.odds" if objective.type == "orpo" else "beta.usual"
        return 0.1, Because(key=key)

    dpo, kto = objective.type == "dpo", objective.type == "kto"
    return Comparison(
        loss=keep(spec, "/objective/loss", objective.loss) if dpo else None,
        beta=decide(spec, "/objective/beta", objective.beta, derive_beta),
        reference=decide_reference(spec),
        smoothing=_smoothing(spec) if dpo else None,
        desirable_weight=_weight(spec, data, good=True) if kto else None,
        undesirable_weight=_weight(spec, data, good=False) if kto else None,
    )


def decide_reference(spec: Spec) -> Decision[Reference] | None:
    """Return where the reference's log-probabilities come from, None without a reference.

    Under FSDP an adapter is switched off at each step: before training no process but the first has
    its weights.
    """
    if spec.objective.type not in REFERRING:
        return None
    if spec.distribution.strategy == "fsdp" and spec.method.type in ("lora", "qlora"):
        return decide(
            spec,
            "/objective/reference",
            spec.objective.reference,
            lambda: ("adapter_off", Because(key="reference.adapter_off")),
        )
    return decide(
        spec,
        "/objective/reference",
        spec.objective.reference,
        lambda: ("precomputed", Because(key="reference.precomputed")),
    )


def comparing_rate(spec: Spec, model: ModelFacts) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW where a model is held to a reference.

    5e-7 at 7B for all weights and 5e-6 for an adapter are the rates of Zephyr's recipes for DPO
    (alignment-handbook, `zephyr-7b-beta`: config_full.yaml, config_qlora.yaml); it falls with size
    as the rate of supervised fine-tuning does. ORPO learns answers as well: 8e-6, and 8e-5 for an
    adapter, are those of TRL's example (`examples/scripts/orpo.py`).
    """
    values, odds = {"parameters": model.parameters}, spec.objective.type == "orpo"
    if spec.method.type in ("full", "freeze"):
        rate = min(5e-5, (8e-6 if odds else 5e-7) * (6.7e9 / model.parameters) ** 0.4)
        key = "learning_rate.odds_full" if odds else "learning_rate.comparing_full"
        return float(f"{rate:.0e}"), Because(key=key, values=values)
    if odds:
        return 8e-5, Because(key="learning_rate.odds_adapter")
    return 5e-6, Because(key="learning_rate.comparing_adapter")


def _smoothing(spec: Spec) -> Decision[float] | None:
    loss = spec.objective.loss
    if loss not in ("robust", "exo_pair"):
        return None

    def derive() -> tuple[float, Because]:
        if loss == "robust":
            return _ROBUST_SMOOTHING, Because(key="pair_smoothing.robust")
        return _EXO_SMOOTHING, Because(key="pair_smoothing.exo")

    return decide(spec, "/objective/label_smoothing", spec.objective.label_smoothing, derive)


def _weight(spec: Spec, data: DataFacts, *, good: bool) -> Decision[float]:
    """Weigh the rarer kind up until both weigh as much: the lower bound of KTO's equation 8."""
    written = spec.objective.desirable_weight if good else spec.objective.undesirable_weight
    found = data.feedback
    own, other = (found.desirable_rows, found.undesirable_rows) if found else (1, 1)
    if not good:
        own, other = other, own

    def derive() -> tuple[float, Because]:
        said = spec.objective.undesirable_weight if good else spec.objective.desirable_weight
        values = {"rows": own, "others": other}
        if said != "auto" and own:
            return round(said * other / own, 2), Because(key="weight.balanced", values=values)
        if not own or own >= other:
            return 1.0, Because(key="weight.one", values=values)
        return round(other / own, 2), Because(key="weight.balanced", values=values)

    field = "desirable_weight" if good else "undesirable_weight"
    return decide(spec, f"/objective/{field}", written, derive)
