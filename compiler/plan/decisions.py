"""What the modules of the plan decided, gathered in the order of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.knowledge.objectives import gives_vectors
from ftc.compiler.knowledge.router_losses import stops_at_router_loss
from ftc.compiler.plan.decision import Decision, derived, keep, pass_through
from ftc.compiler.plan.gguf.verification import decide_verification
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.host import decide_nvme
from ftc.compiler.plan.method.adapter import decide_new_tokens, decide_parts
from ftc.compiler.plan.method.precision import (
    decide_load_dtype,
    decide_storage,
)
from ftc.compiler.plan.objective.comparison import decide_class_weights
from ftc.compiler.plan.objective.engine import decide_engine
from ftc.compiler.plan.objective.sampling import (
    decide_sampling,
)
from ftc.compiler.plan.objective.teaching import decide_teacher_bytes
from ftc.compiler.plan.objective.vectors import decide_vectors, decide_wrong_texts
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.publishing import decide_published
from ftc.compiler.plan.schedule.learning_rate import decide_curve, decide_learning_rate, decide_loop
from ftc.compiler.plan.schedule.steps import Timetable
from ftc.compiler.plan.search.layout import Layout
from ftc.compiler.plan.search.padding import (
    Padding,
)
from ftc.compiler.plan.search.space import (
    Frame,
    decide_calibration,
    decide_network,
)
from ftc.compiler.plan.splits import (
    decide_answer_tokens,
    decide_answered_rows,
    decide_best_by,
    decide_judged_rows,
    decide_metric,
    writes_answers,
)
from ftc.spec.schema import find_field
from ftc.spec.sections import Metric

#: The decisions about an adapter, by the field of `Adapter` that holds them.
_OF_ADAPTER: Final[Mapping[str, str]] = {
    "lora_rank": "rank",
    "lora_alpha": "alpha",
    "lora_dropout": "dropout",
    "lora_targets": "targets",
    "target_pattern": "pattern",
    "lora_experts": "experts",
    "loraplus_ratio": "loraplus_ratio",
    "rslora": "rslora",
    "dora": "dora",
    "lora_init": "init",
    "quantization": "quantization",
    "double_quantization": "double_quantization",
}
_OF_VERIFICATION: Final[Mapping[str, str]] = {
    "verify_tokens": "tokens",
    "max_divergence": "max_divergence",
    "min_agreement": "min_agreement",
    "max_perplexity_ratio": "max_perplexity_ratio",
    "max_metric_drop": "max_metric_drop",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What `plan_once` decided before its decisions are gathered."""

    frame: Frame
    job: Job
    layout: Layout
    padding: Padding
    timetable: Timetable
    eval_batch: Decision[int]


def gather_decisions(decided: Decided) -> Decisions:
    """Return every decision; what a method or an objective does not have is None."""
    frame = decided.frame
    spec, facts, splits = frame.spec, frame.facts, frame.splits
    metric = decide_metric(spec, facts.data)
    verification = decide_verification(spec, facts, metric.value, test_rows=splits.test.value)
    return Decisions(
        **_layout(decided),
        **_training(decided),
        **_objective(frame),
        teacher_bytes=decide_teacher_bytes(decided.job),
        **_engine(decided),
        **_evaluation(frame, metric),
        published=decide_published(spec, facts.model),
        **{name: _held(frame.adapter, field) for name, field in _OF_ADAPTER.items()},
        **{name: _held(verification, field) for name, field in _OF_VERIFICATION.items()},
        trained_layers=_held(frame.freezing, "layers"),
        also_train=decide_parts(spec),
        new_tokens=decide_new_tokens(spec),
        settings={**_without_router_loss(frame), **pass_through(spec)},
    )


def _without_router_loss(frame: Frame) -> dict[str, Decision[Any]]:
    """Turn TRL's router loss off where the model's own config would switch it on, in vain."""
    shape = frame.shape
    if not stops_at_router_loss(shape.architecture, experts=bool(shape.experts)):
        return {}
    read = find_field("/training/router_loss").schema["x-when"]["/objective/type"]
    if frame.spec.objective.type not in read:
        return {}
    return {"router_loss": derived(0, "router_loss.none", architecture=shape.architecture)}


def _held(owner: object, field: str) -> Any:
    """Return a field of what was decided, None where nothing was."""
    return None if owner is None else getattr(owner, field)


def _layout(decided: Decided) -> dict[str, Any]:
    frame, layout, padding = decided.frame, decided.layout, decided.padding
    spec, micro, batch = frame.spec, layout.micro.value, frame.batch.decision
    precision, sharding = frame.precision.value, layout.sharding.value
    passes = frame.batch.rows_per_process // micro
    return {
        "sharding": layout.sharding,
        "offload": layout.offload,
        "nvme_bytes": decide_nvme(decided.job),
        "world": frame.world,
        "network": decide_network(frame.facts),
        "calibration": decide_calibration(frame.facts.hardware),
        "precision": frame.precision,
        "load_dtype": decide_load_dtype(spec, precision, sharding, frame.facts.model),
        "quant_storage": decide_storage(spec, precision, sharding),
        "attention": frame.attention,
        "max_length": frame.max_length,
        "max_pixels": None,
        "packing": padding.packing,
        "packed_length": padding.packed_length,
        "packed_rows": padding.packed_rows,
        "group_by_length": padding.group_by_length,
        "micro_batch": layout.micro,
        "eval_batch": _evaluated(decided),
        "accumulation": derived(
            passes,
            "accumulation.pairs" if decided.job.scored_pairs and passes > 1 else "accumulation",
            batch=batch.value,
            micro=micro,
            world=frame.world.value,
        ),
        "global_batch": batch,
        "gradient_checkpointing": layout.checkpointing,
        "liger": layout.liger,
    }


def _evaluated(decided: Decided) -> Decision[int]:
    """Return the rows per pass of an evaluation; of vectors that a loss tells apart, a whole step.

    The loss computes them in smaller passes. Scored pairs are compared within a pass.
    """
    frame = decided.frame
    if decided.job.scored_pairs:
        return derived(decided.layout.micro.value, "eval_batch.pairs")
    if not gives_vectors(frame.spec.objective.type):
        return decided.eval_batch
    return derived(frame.batch.rows_per_process, "eval_batch.contrasted")


def _training(decided: Decided) -> dict[str, Any]:
    spec, timetable, splits = decided.frame.spec, decided.timetable, decided.frame.splits
    training = spec.training
    curve = decide_curve(spec, timetable.total_steps.value)
    loop = decide_loop(spec, decided.frame.facts)
    return {
        "train_rows": splits.train,
        "validation_rows": splits.validation,
        "test_rows": splits.test,
        "mixture": splits.mixture,
        "stratify": splits.stratify,
        "epochs": timetable.epochs,
        "total_steps": timetable.total_steps,
        "eval_steps": timetable.eval_steps,
        "save_steps": timetable.save_steps,
        "patience": keep(spec, "/training/early_stopping", training.early_stopping),
        "learning_rate": decide_learning_rate(spec, decided.frame.facts.model),
        "embedding_learning_rate": curve.embedding_rate,
        "optimizer": curve.optimizer,
        "schedule": curve.schedule,
        "warmup_steps": timetable.warmup_steps,
        "decay_steps": curve.decay_steps,
        "learning_rate_floor": curve.floor,
        "cycles": curve.cycles,
        "power": curve.power,
        "compile": loop.compile,
        "loader_workers": loop.loader_workers,
        "loader_prefetch": loop.loader_prefetch,
    }


def _objective(frame: Frame) -> dict[str, Any]:
    spec, data, comparison = frame.spec, frame.facts.data, frame.comparison
    sampling, vectors = decide_sampling(spec, data), decide_vectors(spec, frame.facts.model)
    return {
        "preference_loss": comparison.loss,
        "beta": comparison.beta or sampling.beta,
        "reference": comparison.reference,
        "pair_smoothing": comparison.smoothing,
        "desirable_weight": comparison.desirable_weight,
        "undesirable_weight": comparison.undesirable_weight,
        "margin": comparison.margin,
        "answer_weight": comparison.answer_weight,
        "class_weights": decide_class_weights(spec, data),
        "rewards": sampling.rewards,
        "num_generations": sampling.generations,
        "temperature": sampling.temperature,
        "policy_loss": sampling.loss,
        "tool_rounds": sampling.tool_rounds,
        "tool_seconds": sampling.tool_seconds,
        "teacher_quantization": frame.teaching.quantization,
        "teacher_rows": frame.teaching.rows,
        "pooling": vectors.pooling,
        "similarity_scale": vectors.scale,
        "wrong_texts": decide_wrong_texts(spec, data),
        "query_prompt": vectors.query_prompt,
        "document_prompt": vectors.document_prompt,
    }


def _engine(decided: Decided) -> dict[str, Any]:
    frame = decided.frame
    engine = decide_engine(frame.spec, decided.job, frame.facts.hardware)
    return {"vllm": engine.vllm, "vllm_share": engine.share}


def _evaluation(frame: Frame, metric: Decision[Metric]) -> dict[str, Any]:
    spec, data, splits = frame.spec, frame.facts.data, frame.splits
    harness = spec.training.evaluation.harness
    writes = writes_answers(spec, data, metric.value)
    return {
        "metric": metric,
        "best_by": decide_best_by(spec),
        "answered_rows": decide_answered_rows(spec, splits),
        "harness": keep(spec, "/training/evaluation/harness", harness) if harness else None,
        "judged_rows": decide_judged_rows(data, splits.test.value) if writes else None,
        "answer_tokens": frame.sampled or decide_answer_tokens(spec, data, metric.value),
    }
