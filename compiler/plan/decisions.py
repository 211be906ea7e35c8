"""What the modules of the plan decided, gathered in the order of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ftc.compiler.plan.class_weights import decide_class_weights
from ftc.compiler.plan.comparison import decide_comparison
from ftc.compiler.plan.curve import decide_curve
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.freezing import decide_new_tokens, decide_parts
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.layout import Layout
from ftc.compiler.plan.learning_rate import decide_learning_rate
from ftc.compiler.plan.loop import decide_loop
from ftc.compiler.plan.padding import (
    Padding,
)
from ftc.compiler.plan.plan import Decisions
from ftc.compiler.plan.precision import (
    decide_attention,
    decide_load_dtype,
    decide_precision,
    decide_storage,
)
from ftc.compiler.plan.sampling import (
    decide_sampled_tokens,
    decide_sampling,
    samples,
)
from ftc.compiler.plan.schedule import Timetable
from ftc.compiler.plan.sharding import decide_network
from ftc.compiler.plan.source import derived, keep
from ftc.compiler.plan.splits import (
    Splits,
    decide_answer_tokens,
    decide_answered_rows,
    decide_best_by,
    decide_judged_rows,
    decide_metric,
)
from ftc.compiler.plan.swap import decide_nvme
from ftc.compiler.plan.verification import decide_verification
from ftc.spec.sections import Metric, Spec

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
    layout: Layout
    padding: Padding
    splits: Splits
    timetable: Timetable
    world: Decision[int]
    max_length: Decision[int]
    eval_batch: Decision[int]


def gather_decisions(decided: Decided) -> Decisions:
    """Return every decision; what a method or an objective does not have is None."""
    spec, facts, splits = decided.frame.spec, decided.frame.facts, decided.splits
    metric = decide_metric(spec, facts.data)
    verification = decide_verification(spec, facts, metric.value, test_rows=splits.test.value)
    return Decisions(
        **_layout(decided),
        **_training(decided),
        **_objective(spec, facts),
        **_evaluation(spec, facts, splits, metric),
        **{name: _held(decided.frame.adapter, field) for name, field in _OF_ADAPTER.items()},
        **{name: _held(verification, field) for name, field in _OF_VERIFICATION.items()},
        trained_layers=_held(decided.frame.freezing, "layers"),
        also_train=decide_parts(spec),
        new_tokens=decide_new_tokens(spec),
    )


def _held(owner: object, field: str) -> Any:
    """Return a field of what was decided, None where nothing was."""
    return None if owner is None else getattr(owner, field)


def _layout(decided: Decided) -> dict[str, Any]:
    frame, layout, padding = decided.frame, decided.layout, decided.padding
    spec, facts, micro = frame.spec, frame.facts, layout.micro.value
    batch = frame.batch.decision
    job = frame.job(
        layout.sharding.value,
        checkpointing=layout.checkpointing.value,
        micro=micro,
        offload=layout.offload.value,
    )
    return {
        "sharding": layout.sharding,
        "offload": layout.offload,
        "nvme_bytes": decide_nvme(job),
        "world": decided.world,
        "network": decide_network(facts),
        "precision": decide_precision(spec, facts.hardware),
        "load_dtype": decide_load_dtype(spec, frame.precision, layout.sharding.value),
        "quant_storage": decide_storage(spec, frame.precision, layout.sharding.value),
        "attention": decide_attention(spec, facts.model),
        "max_length": decided.max_length,
        "packing": padding.packing,
        "packed_length": padding.packed_length,
        "packed_rows": padding.packed_rows,
        "group_by_length": padding.group_by_length,
        "micro_batch": layout.micro,
        "eval_batch": decided.eval_batch,
        "accumulation": derived(
            frame.batch.rows_per_process // micro,
            "accumulation",
            batch=batch.value,
            micro=micro,
            world=frame.world,
        ),
        "global_batch": batch,
        "gradient_checkpointing": layout.checkpointing,
    }


def _training(decided: Decided) -> dict[str, Any]:
    spec, timetable, splits = decided.frame.spec, decided.timetable, decided.splits
    training = spec.training
    curve, loop = decide_curve(spec, timetable.total_steps.value), decide_loop(spec)
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
        "keep_checkpoints": keep(spec, "/training/keep_checkpoints", training.keep_checkpoints),
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
        "weight_decay": keep(spec, "/training/weight_decay", training.weight_decay),
        "max_grad_norm": keep(spec, "/training/max_grad_norm", training.max_grad_norm),
        "neftune": curve.neftune,
        "label_smoothing": curve.label_smoothing,
        "compile": loop.compile,
        "loader_workers": loop.loader_workers,
        "loader_prefetch": loop.loader_prefetch,
        "seed": keep(spec, "/training/seed", training.seed),
    }


def _objective(spec: Spec, facts: KnownFacts) -> dict[str, Any]:
    comparison, sampling = decide_comparison(spec, facts.data), decide_sampling(spec, facts.data)
    return {
        "preference_loss": comparison.loss,
        "beta": comparison.beta or sampling.beta,
        "reference": comparison.reference,
        "pair_smoothing": comparison.smoothing,
        "desirable_weight": comparison.desirable_weight,
        "undesirable_weight": comparison.undesirable_weight,
        "class_weights": decide_class_weights(spec, facts.data),
        "rewards": sampling.rewards,
        "num_generations": sampling.generations,
        "temperature": sampling.temperature,
        "policy_loss": sampling.loss,
    }


def _evaluation(
    spec: Spec, facts: KnownFacts, splits: Splits, metric: Decision[Metric]
) -> dict[str, Any]:
    harness = spec.training.evaluation.harness
    if samples(spec):
        answer_tokens = decide_sampled_tokens(spec, facts.model, facts.data)
    else:
        answer_tokens = decide_answer_tokens(facts.data, metric.value)
    return {
        "metric": metric,
        "best_by": decide_best_by(spec),
        "answered_rows": decide_answered_rows(spec, splits),
        "harness": keep(spec, "/training/evaluation/harness", harness) if harness else None,
        "judged_rows": decide_judged_rows(facts.data, splits.test.value),
        "answer_tokens": answer_tokens,
    }
