"""The learning rates that public recipes use, by objective, method, size and optimizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.compiler.plan.objective.comparison import (
    COMPARING,
    RATE_EXPONENT,
    RATE_PARAMETERS,
    WRITING,
)
from ftc.compiler.plan.objective.sampling import rewarded
from ftc.compiler.plan.schedule.steps import FROM_SCRATCH_PARAMETERS
from ftc.compiler.resolve.facts import ModelFacts
from ftc.spec.sections import Spec

_Kind = Literal["answers", "text", "pairs", "odds", "scores", "samples"]
_SMALL_EXPONENT: Final = 0.8
_ROUNDING: Final = 1.001  # two floats of one rate
_OF_FREEZING: Final = 3  # fewer weights move
#: LoRA+ trains the matrices that begin at zero faster: its paper has good results to a rate of
#: 5e-3 (arXiv 2402.12354, section 4.2).
OF_SECOND_MATRICES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The lowest and the highest rate of sound recipes."""

    low: float
    high: float

    def times_off(self, rate: float, usual: float) -> float:
        """Return how many times a rate is above or below `usual`; 0 for one within the bounds."""
        if self.low <= rate * _ROUNDING and rate <= self.high * _ROUNDING:
            return 0.0
        return max(rate / usual, usual / rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Range:
    """Rates of AdamW at 6.7B parameters; both fall with the size of the model by `exponent`.

    `small` replaces it for the highest rate of a smaller model. The highest rate stays between
    `least` and `most`.
    """

    low: float
    high: float
    exponent: float = RATE_EXPONENT
    small: float = RATE_EXPONENT
    least: float = 0.0
    most: float = 1.0

    def at(self, parameters: int) -> Bounds:
        ratio = RATE_PARAMETERS / max(1, parameters)
        high = self.high * ratio ** (self.small if ratio > 1 else self.exponent)
        return Bounds(
            low=self.low * ratio**self.exponent, high=min(self.most, max(self.least, high))
        )


# Answers: 5e-6 (Tulu 3, 8B), 2e-5 (Alpaca, Zephyr), 3e-4 at 1.7B and 1e-3 at 360M (SmolLM2 in the
# alignment-handbook). Text: 3e-4 at 7B (Code Llama) and at 410M (arXiv 2403.08763). Pairs: 5e-7
# (Zephyr) to 5e-6 (KTO's documentation). Odds: 5e-6 (Mistral-ORPO) to 5e-5. Scores: 2e-6
# (Skywork) to 1e-4 at 0.5B (TRL). Samples: 3e-7 (Tulu 3) to 2e-5 at 1.5B (Open R1).
_WHOLE: Final[Mapping[_Kind, _Range]] = {
    "answers": _Range(low=1e-6, high=1.1e-4, small=_SMALL_EXPONENT, most=2e-3),
    "text": _Range(low=1e-6, high=4e-4, most=2e-3),
    "pairs": _Range(low=2.5e-8, high=7.5e-6, least=5e-6, most=5e-5),
    "odds": _Range(low=4e-7, high=6.5e-5, least=2e-5, most=3e-4),
    "scores": _Range(low=5e-7, high=5e-5, most=3e-4),
    "samples": _Range(low=5e-8, high=1.5e-5, least=1e-5, most=5e-5),
}
# Answers: 1e-5 to 1e-3, around QLoRA's 2e-4, and 5e-4 for small models ("LoRA Without Regret").
# Pairs: 5e-6 (Zephyr) to 5e-5. Odds: 8e-6 to 8e-5 (TRL), which also learns from the answers.
# Samples: 5e-6 to 1e-4.
_ADAPTERS: Final[Mapping[_Kind, _Range]] = {
    "answers": _Range(low=1e-5, high=1e-3, exponent=0.0, most=2e-3),
    "text": _Range(low=5e-6, high=1e-3, exponent=0.0, small=0.0),
    "pairs": _Range(low=2.5e-7, high=7.5e-5, least=6e-5, most=1.2e-4),
    "odds": _Range(low=4e-6, high=5e-4, least=2e-4, most=1e-3),
    "scores": _Range(low=5e-6, high=1e-3, least=5e-4, most=2e-3),
    "samples": _Range(low=5e-7, high=1.5e-4, least=1.2e-4, most=2e-4),
}
_SCRATCH: Final = Bounds(low=1e-5, high=2e-2)
# (of the lowest, of the highest). Lion's paper takes a third to a tenth of AdamW's rate; Adafactor
# is used with the rates of T5 as well; the size of SGD's steps is that of the gradients.
_OPTIMIZERS: Final[Mapping[str, tuple[float, float]]] = {
    "lion": (0.1, 0.5),
    "adafactor": (1.0, 4.0),
    "sgd": (1.0, 10_000.0),
}


def find_bounds(spec: Spec, model: ModelFacts) -> Bounds:
    """Return the rates between which sound recipes of this objective, method and size lie."""
    adapter = spec.method.type not in ("full", "freeze")
    kind = _kind(spec)
    if model.parameters < FROM_SCRATCH_PARAMETERS and kind in ("answers", "text", "scores"):
        bounds = _SCRATCH
    else:
        bounds = (_ADAPTERS if adapter else _WHOLE)[kind].at(model.parameters)
    high = bounds.high * (_OF_FREEZING if spec.method.type == "freeze" else 1)
    below, above = next(
        (shares for name, shares in _OPTIMIZERS.items() if name in spec.training.optimizer),
        (1.0, 1.0),
    )
    return Bounds(low=_one_digit(bounds.low * below), high=_one_digit(high * above))


def _one_digit(rate: float) -> float:
    """Return a rate as a message shows it."""
    return float(f"{rate:.0e}")


def _kind(spec: Spec) -> _Kind:
    objective = spec.objective.type
    if objective in WRITING:
        return "odds"
    if objective in COMPARING:
        return "pairs"
    if rewarded(spec.objective):
        return "samples"
    if objective == "cpt":
        return "text"
    return "scores" if objective == "reward" else "answers"
