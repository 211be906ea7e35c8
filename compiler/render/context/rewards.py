"""The constants for rewards of answers: weights in the order of functions, patterns, names."""

from collections.abc import Mapping
from typing import Any

from ftc.compiler.plan.objective.sampling import find_rewards, rewarded
from ftc.compiler.render.source import BundleSource


def reward_values(source: BundleSource) -> Mapping[str, Any]:
    """Return the values of its constants; all empty if no answers are generated.

    The order of its functions: exact, numeric, patterns, the JSON Schema, the user's functions.
    """
    spec = source.spec
    found = find_rewards(spec.objective, source.facts.data) if rewarded(spec.objective) else ()
    kinds = (
        [reward for reward in found if reward.match == "exact"],
        [reward for reward in found if reward.match == "numeric"],
        [reward for reward in found if reward.regex is not None],
        [reward for reward in found if reward.json_schema is not None],
        [reward for reward in found for _ in reward.names],
    )
    own = [reward for reward in found if reward.functions is not None]
    return {
        "reward_weights": [float(reward.weight) for kind in kinds for reward in kind],
        "reward_patterns": [reward.regex for reward in kinds[2]],
        "reward_names": [name for reward in own for name in reward.names],
    }
