"""Objectives that compare answers: what the model is compared with, and how strongly."""

from dataclasses import dataclass
from typing import Final

from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.source import decide, keep
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import ObjectiveType, PreferenceLoss, Reference, Spec

#: The objectives whose model is held to a reference.
REFERRING: Final[frozenset[ObjectiveType]] = frozenset({"dpo"})

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


def decide_comparison(spec: Spec) -> Comparison:
    """Return beta, the loss and where the reference's log-probabilities come from.

    Beta is 0.1 as in the experiments of DPO (arXiv 2305.18290, section 6) and 5 where
    log-probabilities are means over tokens (Tulu 3, arXiv 2411.15124, section 5).
    """
    objective = spec.objective
    if objective.type not in REFERRING:
        return Comparison()

    def derive_beta() -> tuple[float, Because]:
        if objective.loss == "sigmoid_norm":
            return _NORMALISED_BETA, Because(key="beta.normalised")
        return 0.1, Because(key="beta.usual")

    return Comparison(
        loss=keep(spec, "/objective/loss", objective.loss),
        beta=decide(spec, "/objective/beta", objective.beta, derive_beta),
        reference=decide(
            spec,
            "/objective/reference",
            objective.reference,
            lambda: ("precomputed", Because(key="reference.precomputed")),
        ),
        smoothing=_smoothing(spec),
    )


def comparing_rate(spec: Spec, model: ModelFacts) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW where a model is held to a reference.

    5e-7 at 7B for all weights and 5e-6 for an adapter are the rates of Zephyr's recipes for DPO
    (alignment-handbook, `zephyr-7b-beta`: config_full.yaml, config_qlora.yaml); it falls with size
    as the rate of supervised fine-tuning does.
    """
    values = {"parameters": model.parameters}
    if spec.method.type in ("full", "freeze"):
        rate = min(1e-5, 5e-7 * (6.7e9 / model.parameters) ** 0.4)
        return float(f"{rate:.0e}"), Because(key="learning_rate.comparing_full", values=values)
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
