"""Measures the rewards of the answers of a model on the test rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..metric.metrics import Measured, mean

Reward = Callable[..., list[float]]


def measure(
    functions: Sequence[Reward],
    weights: Sequence[float],
    rows: Sequence[Mapping[str, Any]],
    said: Sequence[str],
    tokenizer: Any,
    *,
    conversations: Sequence[Any] | None = None,
) -> dict[str, Measured]:
    """Return the weighted sum of the rewards as `reward`, and each function's as `reward_NAME`.

    Functions get the same arguments as in training. None as a reward counts as zero.
    `conversations` are the messages of each answer, if tools may be called.
    """
    given: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    given |= {
        "prompts": given.pop("prompt"),
        "completions": said,
        "completion_ids": tokenizer(said, add_special_tokens=False)["input_ids"],
        "trainer_state": None,
        "log_extra": lambda *_: None,
        "log_metric": lambda *_: None,
    }
    if conversations is not None:
        given["conversations"] = conversations
    found = {one.__name__: [number or 0.0 for number in one(**given)] for one in functions}
    weighed = [
        [weight * number for number in numbers]
        for weight, numbers in zip(weights, found.values(), strict=True)
    ]
    sums = [sum(numbers) for numbers in zip(*weighed, strict=True)]
    each = {f"reward_{name}": mean(numbers) for name, numbers in found.items()}
    return {"reward": mean(sums), **each}
