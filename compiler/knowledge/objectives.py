"""Objectives: what the model learns, and which rows it needs.

One entry here and one template, `templates/objectives/<script>.j2`, make an objective. The
template extends `train.py.j2`. The objective's settings are properties of `/objective` in the
schema, each with the objectives that read it (`x-when`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.spec.sections import Form, ObjectiveType

Head = Literal["tokens", "scores", "vectors", "relevance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One entry.

    `script` names its template. `forms` are the forms of rows that it trains on, in the order in
    which they are tried. `head` is the model's output: the next token, scores, one vector of a
    text, or the relevance of a text to a query. `sequences` is the number of token sequences per
    row in a pass. `packs`: its trainer accepts packed rows. `splits`: a row that is too long is
    split into pieces, not cut. `plain`: its texts are read without a chat template. `samples`:
    training generates answers. `rewards`: they are rewarded. `sees`: its trainer gives the images
    of rows to the model. `trainer` begins the names of TRL's classes where objectives share a
    template.
    """

    title: str
    script: str
    forms: tuple[Form, ...]
    head: Head = "tokens"
    sequences: int = 1
    packs: bool = False
    splits: bool = False
    plain: bool = False
    samples: bool = False
    rewards: bool = False
    sees: bool = False
    trainer: str = ""


OBJECTIVES: Final[Mapping[ObjectiveType, Objective]] = {
    "sft": Objective(
        title="supervised fine-tuning",
        script="sft",
        forms=("chat", "instruction", "prompt_completion", "text"),
        packs=True,
        sees=True,
    ),
    "cpt": Objective(
        title="continued pretraining",
        script="sft",
        forms=("text",),
        packs=True,
        splits=True,
    ),
    "dpo": Objective(
        title="direct preference optimisation",
        script="dpo",
        forms=("preference",),
        sequences=2,
        sees=True,
    ),
    "kto": Objective(
        title="Kahneman-Tversky optimisation",
        script="kto",
        forms=("feedback",),
    ),
    "orpo": Objective(
        title="odds ratio preference optimisation",
        script="orpo",
        forms=("preference",),
        sequences=2,
        trainer="ORPO",
    ),
    "cpo": Objective(
        title="contrastive preference optimisation",
        script="orpo",
        forms=("preference",),
        sequences=2,
        trainer="CPO",
    ),
    "simpo": Objective(
        title="simple preference optimisation",
        script="orpo",
        forms=("preference",),
        sequences=2,
        trainer="CPO",
    ),
    "grpo": Objective(
        title="group relative policy optimisation",
        script="grpo",
        forms=("chat", "instruction", "prompt_completion"),
        samples=True,
        rewards=True,
        trainer="GRPO",
    ),
    "rloo": Objective(
        title="REINFORCE with a leave-one-out baseline",
        script="grpo",
        forms=("chat", "instruction", "prompt_completion"),
        samples=True,
        rewards=True,
        trainer="RLOO",
    ),
    "distill": Objective(
        title="on-policy distillation from a teacher",
        script="distill",
        forms=("chat", "instruction", "prompt_completion"),
        samples=True,
    ),
    "classification": Objective(
        title="sequence classification",
        script="classification",
        forms=("prompt_completion",),
        head="scores",
        plain=True,
    ),
    "reward": Objective(
        title="a reward model",
        script="reward",
        forms=("preference",),
        head="scores",
        sequences=2,
    ),
    "embed": Objective(
        title="an embedding model",
        script="embed",
        forms=("preference", "scored", "prompt_completion"),
        head="vectors",
        sequences=2,
        plain=True,
    ),
    "rerank": Objective(
        title="a reranker",
        script="rerank",
        forms=("preference", "scored", "prompt_completion"),
        head="relevance",
        sequences=2,
        plain=True,
    ),
}


def gives_vectors(objective: ObjectiveType) -> bool:
    """Tell whether the model gives one vector of a text."""
    return OBJECTIVES[objective].head == "vectors"


def gives_relevance(objective: ObjectiveType) -> bool:
    """Tell whether the model reads a query and a text at once, and says how well they match."""
    return OBJECTIVES[objective].head == "relevance"


def compares_texts(objective: ObjectiveType) -> bool:
    """Tell whether sentence-transformers trains the model: texts are compared, none is written."""
    return gives_vectors(objective) or gives_relevance(objective)
