"""The peak learning rate, by method and size."""

import math

from ftc.compiler.plan.comparison import COMPARING, comparing_rate
from ftc.compiler.plan.decision import Because, Decision
from ftc.compiler.plan.sampling import samples, sampling_rate
from ftc.compiler.plan.schedule import FROM_SCRATCH_PARAMETERS
from ftc.compiler.plan.source import decide
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Spec

_LARGE_PARAMETERS = 20_000_000_000
_LION_SHARE = 0.2  # arXiv 2302.06675, section 5: 3 to 10 times smaller than AdamW's
_SGD_TIMES = 100


def decide_learning_rate(spec: Spec, model: ModelFacts) -> Decision[float]:
    """LoRA 2e-4 (1e-4 for large models); full 2e-5 x (6.7e9 / parameters)^0.4, at most 1e-4.

    Sources: LoRA's rates are those of QLoRA's table 9 (arXiv 2305.14314: 2e-4 to 13B, 1e-4 above).
    2e-5 at 7B is the rate of Alpaca's and Vicuna's recipes; the exponent is the slope of GPT-3's
    table 2.1 (arXiv 2005.14165), 6e-4 at 125M to 1.2e-4 at 6.7B. The batch does not scale it: the
    derived one lies between 4 and 128 rows by the size of the data, where these recipes are too,
    and a rule for AdamW (a square root at most) rests on pretraining at far larger ones.
    Adafactor, without its own schedule as the Trainer sets it, takes AdamW's.
    """

    def derive() -> tuple[float, Because]:
        rate, because = for_adamw()
        optimizer = spec.training.optimizer
        if "lion" in optimizer:
            values = {"share": _LION_SHARE, "adamw": rate}
            return _one_digit(_LION_SHARE * rate), Because(key="learning_rate.lion", values=values)
        if optimizer == "sgd":
            values = {"times": _SGD_TIMES, "adamw": rate}
            return _one_digit(_SGD_TIMES * rate), Because(key="learning_rate.sgd", values=values)
        return rate, because

    def for_adamw() -> tuple[float, Because]:
        if spec.objective.type in COMPARING:
            return comparing_rate(spec, model)
        if samples(spec):
            return sampling_rate(spec)
        values = {"parameters": model.parameters}
        if model.parameters < FROM_SCRATCH_PARAMETERS:
            return 1e-3, Because(key="learning_rate.scratch", values=values)
        if spec.objective.type == "reward":
            return reward_rate(spec)
        if spec.method.type not in ("full", "freeze"):
            large = model.parameters > _LARGE_PARAMETERS
            key = "learning_rate.lora_large" if large else "learning_rate.lora"
            if spec.objective.type == "cpt":
                return 1e-4, Because(key="learning_rate.text_adapter", values=values)
            return (1e-4 if large else 2e-4), Because(key=key, values=values)
        # Continued pretraining as well: at such rates a model hardly forgets (arXiv 2403.08763).
        value = min(1e-4, 2e-5 * (6.7e9 / model.parameters) ** 0.4)
        return _one_digit(value), Because(key="learning_rate.full", values=values)

    return decide(spec, "/training/learning_rate", spec.training.learning_rate, derive)


def reward_rate(spec: Spec) -> tuple[float, Because]:
    """Return the peak learning rate of AdamW under a reward model.

    1e-5 is that of Llama 2's reward models (arXiv 2307.09288, section 3.2.2), 1e-4 that of TRL's
    example with an adapter (`examples/scripts/reward_modeling.py`).
    """
    if spec.method.type in ("full", "freeze"):
        return 1e-5, Because(key="learning_rate.reward_full")
    return 1e-4, Because(key="learning_rate.reward_adapter")


def _one_digit(value: float) -> float:
    digits = -math.floor(math.log10(value))
    return round(value, digits)
