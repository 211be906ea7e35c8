"""The objectives of training, and the rows that they need.

One entry here and one template, `templates/objectives/<script>.j2`, make an objective. The
template extends `train.py.j2`. The objective's settings are properties of `/objective` in the
schema, each with the objectives that read it (`x-when`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ftc.spec.sections import FORMS, Form, ObjectiveType

Head = Literal["tokens", "scores", "vectors", "relevance"]
# fused: tiles of logits, as `Stack.loss` says; whole: all of them; scores: a few numbers a row
# divergence: tiles of the logits of both student and teacher
Loss = Literal["fused", "whole", "scores", "divergence"]
# trl/experimental, orpo and cpo, bytes per logit: fp32 logits (accelerate's
# `convert_outputs_to_fp32`, 4), log-softmax of half of them (2), two fp32 gradients (4 + 4).
# Without CUDA TRL computes row by row with torch, which needs one more copy
_PAIR_LOGITS: Final = (14, 18)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One entry.

    `script` names its template. `forms` are the forms of rows that it trains on, in the order in
    which they are tried. `head` is the model's output: the next token, scores, one vector of a
    text, or the relevance of a text to a query. `sequences` is the number of token sequences per
    row in a pass. `masks`: a mask selects the tokens of a row that are learned. `packs`: its
    trainer accepts packed rows. `splits`: a row that is too long is split into pieces, not cut.
    `plain`: its texts are read without a chat template. `samples`: training generates answers.
    `rewards`: they are rewarded. `leaves_out`: the mean with which a reward is compared leaves it
    out. `calls`: answers may call tools. `sees`: its trainer gives the images of rows to the model.
    `trainer` begins the names of TRL's classes where objectives share a template. `divergence` is
    the usual beta of the divergence from a teacher's probabilities, 0 for the forward KL and 1 for
    the reverse one; None without a teacher.

    `loss` is what the loss is computed from. `logit_bytes` are those of a loss of whole logits, per
    logit, on a GPU and on a CPU. `policy_passes` and `reference_passes` are forward passes without
    gradients that its trainer makes for each micro-batch, of the trained model and of a reference.
    `beside`: that of a reference runs while the policy's activations are kept for their backward
    pass. All are read off TRL 1.16's trainers.
    """

    title: str
    script: str
    forms: tuple[Form, ...]
    head: Head = "tokens"
    sequences: int = 1
    masks: bool = False
    packs: bool = False
    splits: bool = False
    plain: bool = False
    samples: bool = False
    rewards: bool = False
    leaves_out: bool = False
    calls: bool = False
    sees: bool = False
    trainer: str = ""
    divergence: float | None = None
    loss: Loss = "fused"
    logit_bytes: tuple[int, int] = (0, 0)
    policy_passes: int = 0
    reference_passes: int = 0
    beside: bool = False


OBJECTIVES: Final[Mapping[ObjectiveType, Objective]] = {
    "sft": Objective(
        title="supervised fine-tuning",
        script="sft",
        forms=FORMS["sft"],
        masks=True,
        packs=True,
        sees=True,
    ),
    "cpt": Objective(
        title="continued pretraining",
        script="sft",
        forms=FORMS["cpt"],
        packs=True,
        splits=True,
    ),
    "dpo": Objective(
        title="direct preference optimization",
        script="dpo",
        forms=FORMS["dpo"],
        sequences=2,
        sees=True,
        reference_passes=1,
        beside=True,
    ),
    "kto": Objective(
        title="Kahneman-Tversky optimization",
        script="kto",
        forms=FORMS["kto"],
        policy_passes=1,
        reference_passes=2,  # of mismatched answers too
        beside=True,
    ),
    "orpo": Objective(
        title="odds ratio preference optimization",
        script="orpo",
        forms=FORMS["orpo"],
        sequences=2,
        trainer="ORPO",
        loss="whole",
        logit_bytes=_PAIR_LOGITS,
    ),
    "cpo": Objective(
        title="contrastive preference optimization",
        script="orpo",
        forms=FORMS["cpo"],
        sequences=2,
        trainer="CPO",
        loss="whole",
        logit_bytes=_PAIR_LOGITS,
    ),
    "simpo": Objective(
        title="simple preference optimization",
        script="orpo",
        forms=FORMS["simpo"],
        sequences=2,
        trainer="CPO",
        loss="whole",
        logit_bytes=_PAIR_LOGITS,
    ),
    "grpo": Objective(
        title="group relative policy optimization",
        script="grpo",
        forms=FORMS["grpo"],
        samples=True,
        rewards=True,
        trainer="GRPO",
        calls=True,
        reference_passes=1,
    ),
    "rloo": Objective(
        title="REINFORCE with a leave-one-out baseline",
        script="grpo",
        forms=FORMS["rloo"],
        samples=True,
        rewards=True,
        leaves_out=True,
        trainer="RLOO",
        policy_passes=1,  # the old log-probabilities, at each step
        reference_passes=1,
    ),
    "distill": Objective(
        title="on-policy distillation from a teacher",
        script="distill",
        forms=FORMS["distill"],
        samples=True,
        divergence=1.0,  # TRL's default
        loss="divergence",
    ),
    "gkd": Objective(
        title="distillation on the answers in the data",
        script="gkd",
        forms=FORMS["gkd"],
        masks=True,
        divergence=0.0,  # as in arXiv 2306.13649, "Supervised KD"
        loss="whole",
    ),
    "classification": Objective(
        title="sequence classification",
        script="classification",
        forms=FORMS["classification"],
        head="scores",
        plain=True,
        loss="scores",
    ),
    "reward": Objective(
        title="a reward model",
        script="reward",
        forms=FORMS["reward"],
        head="scores",
        sequences=2,
        loss="scores",
    ),
    "embed": Objective(
        title="an embedding model",
        script="embed",
        forms=FORMS["embed"],
        head="vectors",
        sequences=2,
        plain=True,
        loss="scores",
        policy_passes=1,  # GradCache's first pass, not of scored pairs
    ),
    "rerank": Objective(
        title="a reranker",
        script="rerank",
        forms=FORMS["rerank"],
        head="relevance",
        sequences=2,
        plain=True,
        loss="scores",
    ),
}


#: The objectives whose sampled answers are rewarded.
REWARDED: Final = tuple(name for name, objective in OBJECTIVES.items() if objective.rewards)
#: The objectives whose names are abbreviations of their titles.
ABBREVIATED: Final = tuple(name for name, each in OBJECTIVES.items() if name not in each.title)
_TAUGHT: Final = tuple(name for name, each in OBJECTIVES.items() if each.divergence is not None)


def has_teacher(objective: str | None) -> bool:
    """Return whether the probabilities of a second model, the teacher, are learned."""
    return objective in _TAUGHT


def gives_vectors(objective: ObjectiveType) -> bool:
    """Return whether the model returns one vector per text."""
    return OBJECTIVES[objective].head == "vectors"


def gives_relevance(objective: ObjectiveType) -> bool:
    """Return whether the model scores how well a query and a text match."""
    return OBJECTIVES[objective].head == "relevance"


def compares_texts(objective: ObjectiveType) -> bool:
    """Tell whether sentence-transformers trains the model, which compares texts and writes none."""
    return gives_vectors(objective) or gives_relevance(objective)
