"""Linear models with weights that `.ci/linked.py` learns from annotated messages.

A model gives each of some options a probability. It is a multinomial logistic regression. It has
weights for pairs of a feature and an option, and for numbers that measure how well an option fits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from typing import Any, Final, Literal

_HUNDRED: Final = 100
#: The option that no field is meant.
NONE: Final = ""
#: Numbers by name that measure how well an option fits.
Fit = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of a model: of each number of a fit, and of each feature.

    A feature has alternating option indices and weights in hundredths.
    """

    options: Sequence[str]
    features: Mapping[str, Sequence[int]]
    fits: Mapping[str, float]

    def weigh(self, features: Iterable[str], options: Mapping[str, Fit]) -> dict[str, float]:
        """Return the probability of each option, and of none."""
        odds = {NONE: 0.0, **{option: self._fit(fit) for option, fit in options.items()}}
        for feature in features:
            for option, weight in self.weights_of(feature):
                if option in odds:
                    odds[option] += weight
        most = max(odds.values())
        shares = {option: exp(value - most) for option, value in odds.items()}
        whole = sum(shares.values())
        return {option: share / whole for option, share in shares.items()}

    def weights_of(self, feature: str) -> Iterator[tuple[str, float]]:
        """Yield each option for which a feature has a weight, with the weight."""
        pairs = self.features.get(feature, ())
        for index, weight in zip(pairs[::2], pairs[1::2], strict=True):
            yield self.options[index], weight / _HUNDRED

    def _fit(self, fit: Fit) -> float:
        return sum(self.fits.get(name, 0.0) * value for name, value in fit.items())


@cache
def read_model(name: Literal["numbers", "withheld", "fields", "values", "roles"]) -> Model:
    """Return the model with this name in `linked.json`."""
    return Model(**_read_table()[name])


@cache
def _read_table() -> Mapping[str, Any]:
    text = (files("ftc.tui.understanding.learned") / "linked.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table
