"""From a spec and known facts to the plan: every decision, its memory, time and disk."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ftc.compiler.plan.adapter import decide_adapter
from ftc.compiler.plan.alternatives import find_alternatives
from ftc.compiler.plan.arrangement import Arrangement
from ftc.compiler.plan.batch import decide_batch, ladder, least_rows
from ftc.compiler.plan.class_weights import decide_class_weights
from ftc.compiler.plan.comparison import decide_comparison
from ftc.compiler.plan.curve import decide_curve
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.disk import disk_bytes, host_ram_bytes
from ftc.compiler.plan.evaluation import decide_eval_batch
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.freezing import decide_freezing, decide_new_tokens, decide_parts
from ftc.compiler.plan.gguf_size import predict_bytes
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.layout import Layout, decide_layout
from ftc.compiler.plan.learning_rate import decide_learning_rate
from ftc.compiler.plan.lengths import decide_max_length
from ftc.compiler.plan.memory import measure
from ftc.compiler.plan.objective import count_labels, scored_shape
from ftc.compiler.plan.padding import (
    Padding,
    choose_padding,
    find_pieces,
    first_arrangement,
)
from ftc.compiler.plan.plan import Decisions, Plan
from ftc.compiler.plan.precision import decide_attention, decide_load_dtype, decide_precision
from ftc.compiler.plan.sampling import (
    arrange_groups,
    decide_group_batch,
    decide_sampled_tokens,
    decide_sampling,
    samples,
)
from ftc.compiler.plan.schedule import Timetable, decide_timetable
from ftc.compiler.plan.search import least_device_bytes
from ftc.compiler.plan.sharding import decide_world
from ftc.compiler.plan.size import shape_of
from ftc.compiler.plan.source import derived, keep
from ftc.compiler.plan.splits import (
    Splits,
    decide_answer_tokens,
    decide_answered_rows,
    decide_best_by,
    decide_judged_rows,
    decide_metric,
    decide_splits,
)
from ftc.compiler.plan.table import fitting_gpus
from ftc.compiler.plan.time import Work, count_evaluations, estimate_cost, estimate_time
from ftc.compiler.plan.verification import decide_verification
from ftc.spec.sections import Spec


def make_plan(spec: Spec, facts: KnownFacts) -> Plan:
    """Return the best plan for these facts, whether or not it fits; total, pure, deterministic.

    What does not fit comes with the changes to the spec that would, each planned in the same way.
    """
    plan = plan_once(spec, facts)
    if plan.memory.fits is not False:
        return plan
    again = partial(plan_once, exports=plan.export_bytes)  # which no change to a layout changes
    return replace(
        plan,
        alternatives=find_alternatives(spec, facts, plan, again),
        fitting_gpus=fitting_gpus(spec, facts, lambda *of: least_device_bytes(make_frame(*of))),
    )


def make_frame(spec: Spec, facts: KnownFacts, arrangement: Arrangement | None = None) -> Frame:
    """Decide what comes before the search for a layout.

    Rows lie as the spec says, and by themselves where it leaves that open; an arrangement given is
    taken instead.
    """
    world = decide_world(facts).value
    length = decide_max_length(spec, facts.model, facts.data).value
    splits = decide_splits(spec, facts.data, length)
    pieces, lengths = find_pieces(spec, facts, length)
    shape, rows, batch = shape_of(facts.model), round(splits.train.value * pieces), None
    if labels := count_labels(spec, facts.data):
        shape = scored_shape(shape, labels)
    if samples(spec):
        batch = decide_group_batch(spec, train_rows=rows, world=world)
        arrangement = arrange_groups(spec, facts, batch, rows=rows, max_length=length)
    if arrangement is None:
        arrangement = first_arrangement(
            spec, facts, lengths, rows=rows, max_length=length, world=world
        )
    return Frame(
        spec=spec,
        facts=facts,
        shape=shape,
        precision=decide_precision(spec, facts.hardware).value,
        adapter=decide_adapter(spec, shape),
        freezing=decide_freezing(spec, shape),
        max_length=length,
        lengths=lengths,
        arrangement=arrangement,
        batch=batch or decide_batch(spec, train_rows=rows, world=world, each=arrangement.each),
        world=world,
    )


def plan_once(spec: Spec, facts: KnownFacts, *, exports: Mapping[str, int] | None = None) -> Plan:
    """Return the plan without its alternatives; `exports` are the GGUF files' bytes if known."""
    world = decide_world(facts)
    max_length = decide_max_length(spec, facts.model, facts.data)
    splits = decide_splits(spec, facts.data, max_length.value)
    frame, found, padding = choose_padding(
        make_frame(spec, facts), partial(make_frame, spec, facts)
    )
    layout = decide_layout(frame, found)
    micro = layout.micro.value
    timetable = decide_timetable(
        spec,
        facts.model,
        train_rows=splits.train.value,
        batch_rows=frame.arrangement.rows,
        micro=micro,
        accumulation=frame.batch.rows_per_process // micro,
        world=world.value,
    )
    job = frame.job(
        layout.sharding.value,
        checkpointing=layout.checkpointing.value,
        micro=micro,
        offload=layout.offload.value,
    )
    pieces, lengths = find_pieces(spec, facts, max_length.value)
    validation = round(splits.validation.value * pieces)
    if samples(spec):  # no more answers at a time than a step tries
        validation = min(validation, frame.batch.decision.value)
    eval_batch = decide_eval_batch(job, facts.hardware, lengths, rows=validation)
    decisions = _decisions(
        frame,
        layout,
        padding,
        splits=splits,
        timetable=timetable,
        world=world,
        max_length=max_length,
        eval_batch=eval_batch,
    )
    return _costs(frame, replace(job, eval_micro=eval_batch.value), layout, decisions, exports)


def _costs(
    frame: Frame, job: Job, layout: Layout, decisions: Decisions, exports: Mapping[str, int] | None
) -> Plan:
    """Return the plan's numbers beside its decisions.

    The memory is the layout's with the evaluation's own rows, which leave its peak as it is.
    """
    memory = replace(measure(job, frame.facts.hardware), fits=layout.memory.fits)
    if exports is None:
        types, tokenizer = frame.spec.export.types, frame.facts.tokenizer
        exports = {kind: predict_bytes(job.shape, tokenizer, kind) for kind in types}
    trained = frame.arrangement.lengths
    pieces, _ = find_pieces(frame.spec, frame.facts, frame.max_length)
    row_tokens = min(trained.mean, frame.arrangement.length_tokens)
    steps = decisions.total_steps.value
    work = Work(
        steps=steps,
        rows_per_step=decisions.global_batch.value,
        trained=trained,
        evaluations=count_evaluations(steps, decisions.eval_steps.value),
        evaluation_rows=round(decisions.validation_rows.value * pieces),
        saves=count_evaluations(steps, decisions.save_steps.value),
        referred_rows=decisions.train_rows.value + decisions.validation_rows.value,
        lengths=frame.lengths,
        max_length_tokens=frame.max_length,
    )
    time = estimate_time(job, frame.facts.hardware, work)
    return Plan(
        decisions=decisions,
        memory=memory,
        ladder=ladder(frame.batch.rows_per_process, job.micro, least=least_rows(frame.spec)),
        trainable_parameters=job.trainable,
        tokens_per_step=max(1, round(decisions.global_batch.value * row_tokens)),
        time_seconds=time.total_seconds if time is not None else None,
        disk_bytes=disk_bytes(frame.spec, job, exports),
        host_ram_bytes=host_ram_bytes(job, memory.device_bytes),
        export_bytes=exports,
        alternatives=(),
        time=time,
        cost=estimate_cost(time, frame.facts.hardware, frame.spec.hardware.price_per_hour),
    )


def _accumulation(frame: Frame, micro: int) -> Decision[int]:
    passes = frame.batch.rows_per_process // micro
    batch = frame.batch.decision.value
    return derived(passes, "accumulation", batch=batch, micro=micro, world=frame.world)


def _decisions(
    frame: Frame,
    layout: Layout,
    padding: Padding,
    *,
    splits: Splits,
    timetable: Timetable,
    world: Decision[int],
    max_length: Decision[int],
    eval_batch: Decision[int],
) -> Decisions:
    """Gather what the modules decided, in the order of a run."""
    spec, facts, training = frame.spec, frame.facts, frame.spec.training
    adapter, micro = frame.adapter, layout.micro.value
    metric = decide_metric(spec, facts.data)
    comparison, sampling = decide_comparison(spec, facts.data), decide_sampling(spec, facts.data)
    curve = decide_curve(spec, timetable.total_steps.value)
    verification = decide_verification(spec, facts, metric.value, test_rows=splits.test.value)
    return Decisions(
        sharding=layout.sharding,
        offload=layout.offload,
        world=world,
        precision=decide_precision(spec, facts.hardware),
        load_dtype=decide_load_dtype(spec, frame.precision, layout.sharding.value),
        attention=decide_attention(spec, facts.model),
        max_length=max_length,
        packing=padding.packing,
        packed_length=padding.packed_length,
        packed_rows=padding.packed_rows,
        group_by_length=padding.group_by_length,
        micro_batch=layout.micro,
        eval_batch=eval_batch,
        accumulation=_accumulation(frame, micro),
        global_batch=frame.batch.decision,
        gradient_checkpointing=layout.checkpointing,
        train_rows=splits.train,
        validation_rows=splits.validation,
        test_rows=splits.test,
        stratify=splits.stratify,
        epochs=timetable.epochs,
        total_steps=timetable.total_steps,
        eval_steps=timetable.eval_steps,
        save_steps=timetable.save_steps,
        keep_checkpoints=keep(spec, "/training/keep_checkpoints", training.keep_checkpoints),
        patience=keep(spec, "/training/early_stopping", training.early_stopping),
        learning_rate=decide_learning_rate(spec, facts.model),
        optimizer=curve.optimizer,
        schedule=curve.schedule,
        warmup_steps=timetable.warmup_steps,
        decay_steps=curve.decay_steps,
        learning_rate_floor=curve.floor,
        cycles=curve.cycles,
        power=curve.power,
        weight_decay=keep(spec, "/training/weight_decay", training.weight_decay),
        max_grad_norm=keep(spec, "/training/max_grad_norm", training.max_grad_norm),
        neftune=curve.neftune,
        label_smoothing=curve.label_smoothing,
        preference_loss=comparison.loss,
        beta=comparison.beta or sampling.beta,
        reference=comparison.reference,
        pair_smoothing=comparison.smoothing,
        desirable_weight=comparison.desirable_weight,
        undesirable_weight=comparison.undesirable_weight,
        class_weights=decide_class_weights(spec, facts.data),
        rewards=sampling.rewards,
        num_generations=sampling.generations,
        temperature=sampling.temperature,
        policy_loss=sampling.loss,
        metric=metric,
        best_by=decide_best_by(spec),
        answered_rows=decide_answered_rows(spec, splits),
        harness=keep(spec, "/training/evaluation/harness", training.evaluation.harness)
        if training.evaluation.harness
        else None,
        judged_rows=decide_judged_rows(facts.data, splits.test.value),
        answer_tokens=decide_sampled_tokens(spec, facts.model, facts.data)
        if samples(spec)
        else decide_answer_tokens(facts.data, metric.value),
        seed=keep(spec, "/training/seed", training.seed),
        lora_rank=adapter.rank if adapter else None,
        lora_alpha=adapter.alpha if adapter else None,
        lora_dropout=adapter.dropout if adapter else None,
        lora_targets=adapter.targets if adapter else None,
        verify_tokens=verification.tokens if verification else None,
        max_divergence=verification.max_divergence if verification else None,
        min_agreement=verification.min_agreement if verification else None,
        max_perplexity_ratio=verification.max_perplexity_ratio if verification else None,
        max_metric_drop=verification.max_metric_drop if verification else None,
        target_pattern=adapter.pattern if adapter else None,
        lora_experts=adapter.experts if adapter else None,
        rslora=adapter.rslora if adapter else None,
        dora=adapter.dora if adapter else None,
        lora_init=adapter.init if adapter else None,
        trained_layers=frame.freezing.layers if frame.freezing else None,
        also_train=decide_parts(spec),
        new_tokens=decide_new_tokens(spec),
        quantization=adapter.quantization if adapter else None,
        double_quantization=adapter.double_quantization if adapter else None,
    )
