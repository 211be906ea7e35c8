"""The comparison of answers and its strength, and the weights of classes in the loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.knowledge.objectives import OBJECTIVES
from ftc.compiler.plan.decision import Because, Decision, decide, keep
from ftc.compiler.plan.plan import Weights
from ftc.compiler.resolve.facts import DataFacts, Label, ModelFacts
from ftc.spec.sections import ObjectiveType, PreferenceLoss, Reference, Spec

RATE_PARAMETERS: Final = 6.7e9
RATE_EXPONENT: Final = 0.4
#: The objectives that compare the model with a reference.
REFERRING: Final = frozenset(name for name, each in OBJECTIVES.items() if each.beside)
#: The objectives whose rows are several answers, and whose trainers disable dropout.
PAIRING: Final = frozenset(
    name for name, each in OBJECTIVES.items() if {"preference", "feedback"}.issuperset(each.forms)
)
#: Those of them that train a language model.
COMPARING: Final = frozenset(name for name in PAIRING if OBJECTIVES[name].head == "tokens")
#: Those that learn to write the chosen answers as well.
WRITING: Final[frozenset[ObjectiveType]] = frozenset({"orpo", "cpo"})
_NORMALISED_BETA: Final = 5.0
_SIMPO_BETA: Final = 2.0
_MARGIN_SHARE: Final = 0.5  # of beta
_ROBUST_SMOOTHING: Final = 0.1
_EXO_SMOOTHING: Final = 1e-3
_UNEVEN: Final = 2.0  # labels with similar numbers of rows need no weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The decisions; a field is None where the objective or its loss does not use it."""

    loss: Decision[PreferenceLoss] | None = None
    beta: Decision[float] | None = None
    reference: Decision[Reference] | None = None
    smoothing: Decision[float] | None = None
    desirable_weight: Decision[float] | None = None
    undesirable_weight: Decision[float] | None = None
    margin: Decision[float] | None = None
    answer_weight: Decision[float] | None = None


def decide_comparison(spec: Spec, data: DataFacts) -> Comparison:
    """Return beta, the loss, the weights and the source of the reference.

    Beta is 0.1 as in the experiments of DPO (arXiv 2305.18290, section 6), KTO (2402.01306, section
    4), ORPO (2403.07691, section 5) and CPO (2401.08417), and 5 where log-probabilities are means
    over tokens (Tulu 3, arXiv 2411.15124, section 5). SimPO's (2405.14734) are 2 to 2.5.
    """
    objective = spec.objective
    if objective.type not in COMPARING:
        return Comparison()

    def derive_beta() -> tuple[float, Because]:
        if objective.type == "dpo" and objective.loss == "sigmoid_norm":
            return _NORMALISED_BETA, Because(key="beta.normalised")
        if objective.type == "simpo":
            return _SIMPO_BETA, Because(key="beta.simpo")
        key = "beta.odds" if objective.type == "orpo" else "beta.usual"
        return 0.1, Because(key=key)

    beta = decide(spec, "/objective/beta", objective.beta, derive_beta)

    dpo, kto = objective.type == "dpo", objective.type == "kto"
    return Comparison(
        loss=keep(spec, "/objective/loss", objective.loss) if dpo else None,
        beta=beta,
        reference=decide_reference(spec, data),
        smoothing=_smoothing(spec) if dpo else None,
        desirable_weight=_weight(spec, data, good=True) if kto else None,
        undesirable_weight=_weight(spec, data, good=False) if kto else None,
        margin=_margin(spec, beta.value) if objective.type == "simpo" else None,
        answer_weight=_answer_weight(spec) if objective.type in ("cpo", "simpo") else None,
    )


def decide_reference(spec: Spec, data: DataFacts) -> Decision[Reference] | None:
    """Return the source of the reference's log-probabilities, or None without a reference.

    Under FSDP the reference is the base with its adapter switched off, at each step: before
    training only the first process has the weights. With images TRL computes it at each step too
    (`DPOTrainer.__init__`), for which a full fine-tune needs a copy of the model.
    """
    if spec.objective.type not in REFERRING:
        return None
    adapts = spec.method.type in ("lora", "qlora")

    def derive() -> tuple[Reference, Because]:
        if data.pictures is not None:
            return ("adapter_off" if adapts else "copy"), Because(key="reference.images")
        if spec.distribution.strategy == "fsdp" and adapts:
            return "adapter_off", Because(key="reference.adapter_off")
        return "precomputed", Because(key="reference.precomputed")

    return decide(spec, "/objective/reference", spec.objective.reference, derive)


def switches_recomputing(spec: Spec, reference: Reference | None) -> bool:
    """Return whether TRL switches recomputing off during a step, and on again afterwards.

    It does that to generate answers and to compute log-probabilities of a reference without
    gradients (`disable_gradient_checkpointing` and `unwrap_model_for_generation` of
    `trl/models/utils.py`). Both forget which layers were recomputed: they give the Trainer's own
    options, such as `every_n_layers`, to `torch.utils.checkpoint`, which stops with a `ValueError`.
    """
    return OBJECTIVES[spec.objective.type].samples or reference not in (None, "precomputed")


def comparing_rate(spec: Spec, model: ModelFacts) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW for objectives that compare answers.

    5e-7 at 7B for all weights and 5e-6 for an adapter are the rates of Zephyr's recipes for DPO
    (alignment-handbook, `zephyr-7b-beta`: config_full.yaml, config_qlora.yaml). They fall with size
    as Tulu 3's do (`scale_rate`). SmolLM2's DPO has 1e-6 at 360M and 1.7B (the same handbook); this
    gives 2e-6 and 9e-7. ORPO and CPO train on the answers as well: 8e-6, and 8e-5 for an adapter,
    are those of TRL's examples (`examples/scripts/orpo.py` and `cpo.py`). The most is half of
    what supervised fine-tuning takes.
    """
    values, odds = {"parameters": model.parameters}, spec.objective.type in WRITING
    if spec.method.type in ("full", "freeze"):
        rate = scale_rate(8e-6 if odds else 5e-7, model.parameters, most=5e-5)
        key = "learning_rate.odds_full" if odds else "learning_rate.comparing_full"
        return rate, Because(key=key, values=values)
    rate = scale_rate(8e-5 if odds else 5e-6, model.parameters, most=1e-4)
    key = "learning_rate.odds_adapter" if odds else "learning_rate.comparing_adapter"
    return rate, Because(key=key, values=values)


def _margin(spec: Spec, beta: float) -> Decision[float]:
    """Decide SimPO's target margin: half of beta, where its authors' recipes begin."""

    def derive() -> tuple[float, Because]:
        return _MARGIN_SHARE * beta, Because(key="margin.share", values={"beta": beta})

    return decide(spec, "/objective/margin", spec.objective.margin, derive)


def _answer_weight(spec: Spec) -> Decision[float]:
    """Decide the weight of the loss on chosen answers: CPO's paper has it, SimPO's does not."""

    def derive() -> tuple[float, Because]:
        if spec.objective.type == "cpo":
            return 1.0, Because(key="answer_weight.cpo")
        return 0.0, Because(key="answer_weight.simpo")

    return decide(spec, "/objective/answer_weight", spec.objective.answer_weight, derive)


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
    """Decide the weight of good or bad answers, so that both kinds have the same total.

    This is the lower bound of KTO's equation 8.
    """
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


def decide_class_weights(spec: Spec, data: DataFacts) -> Decision[Weights] | None:
    """Return the weights of a classification, None under other objectives.

    Balanced weights are rows / (labels x rows of the label) of the training split: each label then
    has the same total weight, and the mean over all rows stays 1 (scikit-learn's
    `compute_class_weight`).
    """
    if spec.objective.type != "classification":
        return None
    said = spec.objective.class_weights
    written: Weights | Literal["auto"] = (
        {each.label: each.weight for each in said} if isinstance(said, tuple) else said
    )

    def derive() -> tuple[Weights, Because]:
        ratio = find_unevenness(data.labels)
        if ratio < _UNEVEN:
            return "none", Because(key="class_weights.even", values={"labels": len(data.labels)})
        return "balanced", Because(key="class_weights.uneven", values={"ratio": round(ratio, 1)})

    return decide(spec, "/objective/class_weights", written, derive)


def find_unevenness(labels: Sequence[Label]) -> float:
    """Return the ratio of the rows of the most common label to those of the rarest."""
    counts = [label.rows for label in labels]
    return max(counts, default=1) / max(1, min(counts, default=1))


def scale_rate(base: float, parameters: int, *, most: float) -> float:
    """Return base x (6.7e9 / parameters)^0.4, at most `most`, to one digit.

    `base` is the rate of a model of 6.7B parameters. The exponent is the slope of GPT-3's table 2.1
    (arXiv 2005.14165): 6e-4 at 125M to 1.2e-4 at 6.7B. Tulu 3's recipes for 8B and 70B have about
    the same (arXiv 2411.15124; open-instruct, docs/tulu3.md): supervised 5e-6 and 2e-6, DPO 5e-7
    and 2e-7 (0.42 both), verifiable rewards 3e-7 and 1e-7 (0.51).
    """
    return float(f"{min(most, base * (RATE_PARAMETERS / parameters) ** RATE_EXPONENT):.0e}")
