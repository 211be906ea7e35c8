"""Objectives: what the model learns, and which rows it needs.

One entry here and one partial, `templates/objectives/<name>.j2`, make an objective. Its settings
are properties of `/objective` in the schema, each with the objectives that read it (`x-when`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.spec.sections import Form, ObjectiveType

Head = Literal["tokens", "scores"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One entry.

    `forms` are the forms of rows that it trains on, in the order in which they are tried. `head` is
    the model's output: the next token, or scores. `sequences` is the number of token sequences per
    row in a pass. `packs`: its trainer accepts packed rows. `splits`: a row that is too long is
    split into pieces, not cut.
    """

    title: str
    forms: tuple[Form, ...]
    head: Head = "tokens"
    sequences: int = 1
    packs: bool = False
    splits: bool = False


OBJECTIVES: Final[Mapping[ObjectiveType, Objective]] = {
    "sft": Objective(
        title="supervised fine-tuning",
        forms=("chat", "instruction", "prompt_completion", "text"),
        packs=True,
    ),
    "cpt": Objective(
        title="continued pretraining",
        forms=("text",),
        packs=True,
        splits=True,
    ),
    "dpo": Objective(
        title="direct preference optimisation",
        forms=("preference",),
        sequences=2,
    ),
    "kto": Objective(
        title="Kahneman-Tversky optimisation",
        forms=("feedback",),
    ),
    "orpo": Objective(
        title="odds ratio preference optimisation",
        forms=("preference",),
        sequences=2,
    ),
    "grpo": Objective(
        title="group relative policy optimisation",
        forms=("chat", "instruction", "prompt_completion"),
    ),
    "classification": Objective(
        title="sequence classification",
        forms=("prompt_completion",),
        head="scores",
    ),
    "reward": Objective(
        title="a reward model",
        forms=("preference",),
        head="scores",
        sequences=2,
    ),
}
