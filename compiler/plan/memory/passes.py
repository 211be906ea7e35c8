"""Additional memory of an objective: pairs, a reference, passes without gradients.

The entries of `OBJECTIVES` say which.
"""

from dataclasses import replace
from typing import Final

from ftc.compiler.knowledge.architectures.architecture import Shape
from ftc.compiler.knowledge.objectives import OBJECTIVES, Loss
from ftc.compiler.plan.job import Job
from ftc.compiler.resolve.facts import DataFacts
from ftc.spec.sections import Objective

# transformers' `LabelSmoother`: fp32 logits, a shifted copy, log-softmax and its negative
_SMOOTHED_BYTES: Final = 16
# trl/experimental/gkd, `generalized_jsd_loss`, all in fp32: the logits of student and teacher (8),
# both divided by a temperature of 1 (8), their logarithms (8), and what the divergence and its
# gradient make of them, most for a mixture of both (measured: tests/compiler/plan/test_logits.py)
_FORWARD_BYTES, _REVERSE_BYTES, _MIXTURE_BYTES = 36, 40, 68
_ELSEWHERE: Final = ("copy", "adapter_off")


def reference_bytes(job: Job) -> int:
    """Return the bytes of a frozen copy of the model, in the dtype that the model is loaded in.

    An adapter needs none: its base, with the adapter switched off, is the reference.
    """
    parameters = job.shape.parameters + job.shape.frozen_parameters
    return parameters * job.load_bytes if job.reference == "copy" else 0


def teaching(job: Job) -> Job | None:
    """Return the teacher's forward pass over a micro-batch, which stores nothing, or None."""
    teacher = job.teacher
    if teacher is None:
        return None
    return replace(
        job,
        shape=teacher.shape,
        load_bytes=teacher.load_bytes,
        compute_bytes=teacher.load_bytes,
        storage=teacher.storage,
        full=False,
        trainable=0,
        targets=(),
        rank=0,
        dropout=0.0,
        dora=False,
        checkpointing=True,
        frozen_layers=0,
        saved_parameters=0,
        trained_tokens=0,
        trains_embedding=None,
        trains_head=None,
        frozen_bytes=None,
        answer_tokens=0,
        written_rows=0,
        objective="sft",
        texts=None,
        teacher=None,
    )


def reference_passes(job: Job) -> int:
    """Return how many forward passes of the reference a micro-batch costs, at any time."""
    return OBJECTIVES[job.objective].reference_passes


def passes_without_gradient(job: Job) -> int:
    """Return how many additional forward passes without gradients a micro-batch costs."""
    objective = OBJECTIVES[job.objective]
    asked = objective.reference_passes if asks_reference(job) else 0
    # vLLM's log-probabilities differ a little, so the trainer computes its own
    own = 0 if job.scored_pairs else objective.policy_passes
    policy = own or (1 if job.engine != "off" else 0)
    return policy + asked + (1 if job.smoothed else 0)


def asks_reference(job: Job) -> bool:
    """Return whether one of the passes without gradients belongs to a reference."""
    return bool(OBJECTIVES[job.objective].reference_passes) and job.reference in _ELSEWHERE


def asks_beside(job: Job) -> bool:
    """Whether a pass without gradients runs while activations of the policy are kept."""
    return (
        job.smoothed
        or job.teacher is not None
        or (OBJECTIVES[job.objective].beside and asks_reference(job))
    )


def loss_of(job: Job) -> Loss:
    """Return the input from which the loss is computed.

    Label smoothing needs all logits; TRL's fused head then runs once more, for the metrics.
    """
    return "whole" if job.smoothed else OBJECTIVES[job.objective].loss


def whole_bytes(job: Job) -> int:
    """Return the bytes of whole logits, where needed, per token and word of the vocabulary."""
    if job.smoothed:
        return _SMOOTHED_BYTES
    if job.teacher is not None:
        ends = {0.0: _FORWARD_BYTES, 1.0: _REVERSE_BYTES}
        return ends.get(job.teacher.beta, _MIXTURE_BYTES)
    on_gpu, on_cpu = OBJECTIVES[job.objective].logit_bytes
    return on_gpu if job.gpu else on_cpu


def count_labels(objective: Objective, data: DataFacts) -> int:
    """Return how many scores the head has: 0 for a language-model head."""
    if OBJECTIVES[objective.type].head != "scores":
        return 0
    return len(data.labels) if objective.type == "classification" else 1


def scored_shape(shape: Shape, labels: int) -> Shape:
    """Return the shape with transformers' score head in place of the head over the vocabulary.

    `AutoModelForSequenceClassification`: one linear module without bias, hidden x labels (one label
    under a reward model), never tied to the embedding.
    """
    head = shape.hidden * labels
    return replace(
        shape,
        parameters=shape.parameters - shape.head_parameters + head,
        head_parameters=head,
        tied=False,
    )
