"""The bounds of the learning rate: public recipes are within them, and usual errors are not."""

import pytest

from ftc.compiler.plan.schedule.learning_rate import decide_learning_rate
from ftc.compiler.plan.schedule.rate_bounds import find_bounds
from tests.compiler.conftest import BuildKnown

BILLION = 10**9


def _is_sound(
    build: BuildKnown,
    *,
    objective: str,
    method: str,
    billions: float,
    rate: float,
    optimizer: str = "adamw",
) -> bool:
    spec, facts = build(
        {
            "/spec/objective/type": objective,
            "/spec/method/type": method,
            "/spec/training/optimizer": optimizer,
            "/facts/model/parameters": round(billions * BILLION),
        }
    )
    usual = decide_learning_rate(spec, facts.model).value
    bounds = find_bounds(spec, facts.model)
    assert bounds.times_off(usual, usual) == 0  # what is planned is always sound
    return bounds.times_off(rate, usual) == 0


@pytest.mark.parametrize(
    ("objective", "method", "billions", "rate"),
    [
        ("sft", "lora", 8.0, 1e-5),
        ("sft", "lora", 8.0, 2e-4),
        ("sft", "lora", 1.2, 1e-3),
        ("sft", "qlora", 70.6, 2e-4),
        ("sft", "full", 8.0, 5e-6),  # Tulu 3
        ("sft", "full", 70.6, 2e-6),  # Tulu 3
        ("sft", "full", 7.2, 2e-5),  # Zephyr
        ("sft", "full", 7.6, 5e-5),
        ("sft", "full", 1.7, 3e-4),  # SmolLM2
        ("sft", "full", 0.36, 1e-3),  # SmolLM2
        ("sft", "freeze", 7.6, 1e-4),
        ("cpt", "full", 6.7, 3e-4),  # Code Llama
        ("cpt", "full", 7.6, 1e-5),
        ("cpt", "lora", 8.0, 5e-5),
        ("cpt", "lora", 8.0, 2e-4),
        ("dpo", "full", 7.2, 5e-7),  # Zephyr
        ("dpo", "full", 8.0, 5e-6),
        ("dpo", "full", 70.6, 2e-7),  # Tulu 3
        ("dpo", "full", 1.7, 1e-6),  # SmolLM2
        ("dpo", "qlora", 7.2, 5e-6),  # Zephyr
        ("dpo", "lora", 70.6, 5e-5),
        ("kto", "full", 8.0, 5e-6),
        ("kto", "lora", 8.0, 1e-5),
        ("orpo", "full", 7.2, 5e-6),
        ("orpo", "full", 7.2, 5e-5),
        ("orpo", "lora", 8.0, 8e-6),
        ("orpo", "lora", 0.5, 2e-4),
        ("reward", "full", 0.5, 1e-4),  # TRL
        ("reward", "full", 8.0, 2e-6),  # Skywork
        ("reward", "lora", 8.0, 1e-4),
        ("grpo", "full", 7.6, 1e-6),
        ("grpo", "full", 7.6, 1e-5),
        ("grpo", "full", 1.5, 2e-5),  # Open R1
        ("grpo", "lora", 8.0, 5e-6),
        ("grpo", "lora", 32.0, 1e-4),
        ("classification", "full", 0.5, 5e-5),
        ("classification", "lora", 0.5, 1e-3),
        ("sft", "full", 0.005, 1e-2),
    ],
)
def test_public_recipes_are_sound(
    build_known: BuildKnown, objective: str, method: str, billions: float, rate: float
) -> None:
    """Each is a recipe that was published, or the edge of what is usual."""
    assert _is_sound(build_known, objective=objective, method=method, billions=billions, rate=rate)


@pytest.mark.parametrize(
    ("objective", "method", "billions", "rate", "optimizer"),
    [
        ("sft", "full", 7.6, 9e-4, "adamw"),
        ("sft", "full", 7.6, 2e-4, "adamw_8bit"),
        ("sft", "full", 70.6, 2e-4, "adamw"),
        ("sft", "full", 7.6, 9e-4, "adafactor"),
        ("sft", "full", 7.6, 2e-4, "lion"),
        ("sft", "full", 7.6, 2e-8, "adamw"),
        ("sft", "lora", 8.0, 2e-2, "adamw"),
        ("sft", "lora", 8.0, 3e-3, "paged_adamw_8bit"),
        ("sft", "lora", 8.0, 1e-6, "adamw"),
        ("cpt", "full", 7.6, 9e-4, "adamw"),
        ("dpo", "full", 7.6, 2e-5, "adamw"),
        ("dpo", "lora", 7.6, 2e-4, "adamw"),
        ("dpo", "lora", 0.5, 2e-4, "adamw"),
        ("kto", "qlora", 8.0, 2e-4, "adamw"),
        ("orpo", "full", 7.2, 2e-4, "adamw"),
        ("reward", "full", 8.0, 2e-4, "adamw"),
        ("grpo", "full", 7.6, 1e-4, "adamw"),
        ("grpo", "lora", 7.6, 1e-3, "adamw"),
    ],
)
def test_usual_errors_are_found(  # noqa: PLR0917 - a row of the table
    build_known: BuildKnown,
    objective: str,
    method: str,
    billions: float,
    rate: float,
    optimizer: str,
) -> None:
    """The rate of another method or objective, or an error in the exponent."""
    assert not _is_sound(
        build_known,
        objective=objective,
        method=method,
        billions=billions,
        rate=rate,
        optimizer=optimizer,
    )
