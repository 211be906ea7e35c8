"""Gathers the decisions of the plan's modules in the order of a run."""

from dataclasses import dataclass
from typing import Any

from ftc.compiler.knowledge.objectives import gives_vectors
from ftc.compiler.knowledge.training.router_losses import stops_at_router_loss
from ftc.compiler.plan.decision import Decision, derived, keep, pass_through
from ftc.compiler.plan.gguf.verification import Verification as ExportBounds
from ftc.compiler.plan.gguf.verification import decide_verification
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.host import decide_nvme
from ftc.compiler.plan.method.adapter import Adapter, decide_new_tokens, decide_parts
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
from ftc.compiler.plan.plan import (
    Batch,
    Comparison,
    Compute,
    Decisions,
    Distribution,
    Engine,
    Evaluation,
    Loop,
    Lora,
    Method,
    Rows,
    Sampling,
    Splits,
    Teaching,
    Training,
    Vectors,
    Verification,
)
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
    read_for_mining,
)
from ftc.compiler.plan.splits import (
    decide_best_by,
    decide_judged_rows,
    writes_answers,
)
from ftc.compiler.plan.time.run import mining_seconds
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.schema import find_field
from ftc.spec.sections import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The results of `plan_once` before its decisions are gathered."""

    frame: Frame
    job: Job
    layout: Layout
    padding: Padding
    timetable: Timetable
    eval_batch: Decision[int]


def gather_decisions(decided: Decided) -> Decisions:
    """Return every decision; those that a method or an objective does not have are None."""
    frame = decided.frame
    spec, facts, splits = frame.spec, frame.facts, frame.splits
    comparison, sampling = frame.comparison, decide_sampling(spec, facts.data)
    engine = decide_engine(spec, decided.job, facts.hardware)
    return Decisions(
        distribution=_distribution(decided),
        compute=_compute(decided),
        rows=_rows(decided),
        batch=_batch(decided),
        splits=Splits(
            train_rows=splits.train,
            validation_rows=splits.validation,
            test_rows=splits.test,
            mixture=splits.mixture,
            stratify=splits.stratify,
        ),
        training=_training(decided),
        settings={**_without_router_loss(frame), **pass_through(spec)},
        loop=_loop(spec, facts),
        comparison=Comparison(
            preference_loss=comparison.loss,
            beta=comparison.beta or sampling.beta,
            reference=comparison.reference,
            pair_smoothing=comparison.smoothing,
            desirable_weight=comparison.desirable_weight,
            undesirable_weight=comparison.undesirable_weight,
            margin=comparison.margin,
            answer_weight=comparison.answer_weight,
            class_weights=decide_class_weights(spec, facts.data),
        ),
        sampling=Sampling(
            rewards=sampling.rewards,
            num_generations=sampling.generations,
            temperature=sampling.temperature,
            policy_loss=sampling.loss,
            tool_rounds=sampling.tool_rounds,
            tool_seconds=sampling.tool_seconds,
        ),
        teacher=Teaching(
            teacher_quantization=frame.teaching.quantization,
            teacher_bytes=decide_teacher_bytes(decided.job),
            teacher_rows=frame.teaching.rows,
        ),
        vectors=_vectors(decided),
        engine=Engine(vllm=engine.vllm, vllm_share=engine.share),
        evaluation=_evaluation(frame),
        published=decide_published(spec, facts.model),
        answer_tokens=frame.sampled or frame.answer_tokens,
        lora=_lora(frame.adapter),
        verification=_verification(
            decide_verification(spec, facts, frame.metric.value, test_rows=splits.test.value)
        ),
        method=_method(decided),
    )


def _without_router_loss(frame: Frame) -> dict[str, Decision[Any]]:
    """Turn TRL's router loss off if the model's own config would turn it on without effect."""
    shape = frame.shape
    if not stops_at_router_loss(shape.architecture, experts=bool(shape.experts)):
        return {}
    read = find_field("/training/router_loss").schema["x-when"]["/objective/type"]
    if frame.spec.objective.type not in read:
        return {}
    return {"router_loss": derived(0, "router_loss.none", architecture=shape.architecture)}


def _distribution(decided: Decided) -> Distribution:
    frame, layout = decided.frame, decided.layout
    return Distribution(
        sharding=layout.sharding,
        offload=layout.offload,
        nvme_bytes=decide_nvme(decided.job),
        world=frame.world,
        network=decide_network(frame.facts),
        calibration=decide_calibration(frame.facts.hardware),
    )


def _compute(decided: Decided) -> Compute:
    frame = decided.frame
    precision, sharding = frame.precision.value, decided.layout.sharding.value
    return Compute(
        precision=frame.precision,
        load_dtype=decide_load_dtype(frame.spec, precision, sharding, frame.facts.model),
        attention=frame.attention,
    )


def _rows(decided: Decided) -> Rows:
    padding = decided.padding
    return Rows(
        max_length=decided.frame.max_length,
        max_pixels=None,
        packing=padding.packing,
        packed_length=padding.packed_length,
        packed_rows=padding.packed_rows,
        group_by_length=padding.group_by_length,
    )


def _batch(decided: Decided) -> Batch:
    frame, layout = decided.frame, decided.layout
    micro, batch = layout.micro.value, frame.batch.decision
    passes = frame.batch.rows_per_process // micro
    return Batch(
        micro_batch=layout.micro,
        eval_batch=_evaluated(decided),
        accumulation=derived(
            passes,
            "accumulation.pairs" if decided.job.scored_pairs and passes > 1 else "accumulation",
            batch=batch.value,
            micro=micro,
            world=frame.world.value,
        ),
        global_batch=batch,
        gradient_checkpointing=layout.checkpointing,
        liger=layout.liger,
    )


def _evaluated(decided: Decided) -> Decision[int]:
    """Return the rows per pass of an evaluation; of vectors that a loss tells apart, a whole step.

    The loss computes them in smaller passes. Scored pairs are compared within a pass.
    """
    frame = decided.frame
    if not gives_vectors(frame.spec.objective.type):
        return decided.eval_batch
    scored = decided.job.scored_pairs
    rows = decided.layout.micro.value if scored else frame.batch.rows_per_process
    return derived(rows, "eval_batch.pairs" if scored else "eval_batch.contrasted")


def _training(decided: Decided) -> Training:
    spec, timetable = decided.frame.spec, decided.timetable
    curve = decide_curve(spec, timetable.total_steps.value)
    return Training(
        epochs=timetable.epochs,
        total_steps=timetable.total_steps,
        eval_steps=timetable.eval_steps,
        save_steps=timetable.save_steps,
        patience=keep(spec, "/training/early_stopping", spec.training.early_stopping),
        learning_rate=decide_learning_rate(spec, decided.frame.facts.model),
        embedding_learning_rate=curve.embedding_rate,
        optimizer=curve.optimizer,
        schedule=curve.schedule,
        warmup_steps=timetable.warmup_steps,
        decay_steps=curve.decay_steps,
        learning_rate_floor=curve.floor,
        cycles=curve.cycles,
        power=curve.power,
    )


def _loop(spec: Spec, facts: KnownFacts) -> Loop:
    loop = decide_loop(spec, facts)
    return Loop(
        compile=loop.compile,
        loader_workers=loop.loader_workers,
        loader_prefetch=loop.loader_prefetch,
    )


def _vectors(decided: Decided) -> Vectors:
    frame, job = decided.frame, decided.job
    spec, facts = frame.spec, frame.facts
    mining = mining_seconds(job, facts.hardware, read_for_mining(frame))
    vectors = decide_vectors(spec, facts.model, facts.data, job=job, mining_seconds=mining)
    return Vectors(
        pooling=vectors.pooling,
        similarity_scale=vectors.scale,
        matryoshka_dimensions=vectors.dimensions,
        hard_negatives=vectors.hard_negatives,
        wrong_texts=decide_wrong_texts(spec, facts.data),
        query_prompt=vectors.query_prompt,
        document_prompt=vectors.document_prompt,
    )


def _evaluation(frame: Frame) -> Evaluation:
    spec, data, splits = frame.spec, frame.facts.data, frame.splits
    harness = spec.training.evaluation.harness
    writes = writes_answers(spec.objective, data, frame.metric.value)
    return Evaluation(
        metric=frame.metric,
        best_by=decide_best_by(spec),
        answered_rows=frame.answered_rows,
        harness=keep(spec, "/training/evaluation/harness", harness) if harness else None,
        judged_rows=decide_judged_rows(data, splits.test.value) if writes else None,
    )


def _lora(adapter: Adapter | None) -> Lora:
    return Lora(
        lora_rank=adapter.rank if adapter else None,
        lora_alpha=adapter.alpha if adapter else None,
        lora_dropout=adapter.dropout if adapter else None,
        lora_targets=adapter.targets if adapter else None,
    )


def _verification(bounds: ExportBounds | None) -> Verification:
    return Verification(
        verify_tokens=bounds.tokens if bounds else None,
        max_divergence=bounds.max_divergence if bounds else None,
        min_agreement=bounds.min_agreement if bounds else None,
        max_perplexity_ratio=bounds.max_perplexity_ratio if bounds else None,
        max_metric_drop=bounds.max_metric_drop if bounds else None,
    )


def _method(decided: Decided) -> Method:
    frame = decided.frame
    spec, adapter, freezing = frame.spec, frame.adapter, frame.freezing
    return Method(
        target_pattern=adapter.pattern if adapter else None,
        lora_experts=adapter.experts if adapter else None,
        loraplus_ratio=adapter.loraplus_ratio if adapter else None,
        rslora=adapter.rslora if adapter else None,
        dora=adapter.dora if adapter else None,
        lora_init=adapter.init if adapter else None,
        trained_layers=freezing.layers if freezing else None,
        also_train=decide_parts(spec),
        new_tokens=decide_new_tokens(spec),
        quantization=adapter.quantization if adapter else None,
        double_quantization=adapter.double_quantization if adapter else None,
        quant_storage=decide_storage(spec, frame.precision.value, decided.layout.sharding.value),
    )
