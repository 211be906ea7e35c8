"""Makes the plan from a spec and known facts: every decision, with memory, time and disk."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ftc.compiler.knowledge.objectives import compares_texts, gives_vectors
from ftc.compiler.plan.batch.lengths import decide_max_length, longest_padded, usual_mean
from ftc.compiler.plan.batch.sizes import Batch, decide_batch, ladder, least_rows
from ftc.compiler.plan.decision import Decision
from ftc.compiler.plan.decisions import Decided, gather_decisions
from ftc.compiler.plan.gguf.size import predict_bytes
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.memory.host import disk_bytes, download_bytes, host_ram_bytes
from ftc.compiler.plan.memory.passes import count_labels, scored_shape
from ftc.compiler.plan.memory.peak import measure, shape_of
from ftc.compiler.plan.method.adapter import decide_adapter, decide_freezing
from ftc.compiler.plan.method.precision import decide_attention, decide_precision
from ftc.compiler.plan.objective.comparison import decide_comparison
from ftc.compiler.plan.objective.sampling import (
    arrange_groups,
    decide_group_batch,
    decide_sampled_tokens,
    rewarded,
    samples,
    thinks,
)
from ftc.compiler.plan.objective.teaching import decide_teaching
from ftc.compiler.plan.objective.vectors import count_mined
from ftc.compiler.plan.plan import Decisions, Plan
from ftc.compiler.plan.schedule.steps import Pace, count_saves, decide_timetable
from ftc.compiler.plan.search.evaluation_rows import decide_eval_batch
from ftc.compiler.plan.search.layout import Layout, Search, decide_layout, least_device_bytes
from ftc.compiler.plan.search.padding import (
    Padding,
    choose_padding,
    find_pieces,
    first_arrangement,
    text_tokens,
    with_shortest_rows,
)
from ftc.compiler.plan.search.space import Frame, decide_world, measure_rungs, read_for_mining
from ftc.compiler.plan.served import predict_served_bytes
from ftc.compiler.plan.sight import see
from ftc.compiler.plan.splits import (
    decide_answer_tokens,
    decide_answered_rows,
    decide_metric,
    decide_splits,
)
from ftc.compiler.plan.summary.alternatives import find_alternatives
from ftc.compiler.plan.summary.context_parallel import count_context_gpus
from ftc.compiler.plan.summary.devices import fitting_gpus
from ftc.compiler.plan.time.run import (
    Evaluated,
    Judged,
    Work,
    count_evaluations,
    estimate_cost,
    estimate_time,
    evaluation_seconds,
    pass_tokens,
    saving_seconds,
    step_seconds,
)
from ftc.compiler.plan.vision import choose_limit
from ftc.compiler.resolve.facts import DataFacts, KnownFacts
from ftc.spec.sections import Spec


def make_plan(spec: Spec, facts: KnownFacts) -> Plan:
    """Return the best plan for these facts, whether or not it fits. Total, pure, deterministic.

    A plan that does not fit lists the changes to the spec that would, each planned the same way.
    """
    facts, plan = choose_limit(spec, facts, plan_once)
    if plan.memory.fits is not False:
        return plan
    again = partial(plan_fitting, exports=plan.export_bytes)  # the same for every layout
    return replace(
        plan,
        alternatives=find_alternatives(spec, facts, plan, again),
        fitting_gpus=fitting_gpus(
            spec, facts, lambda *of: least_device_bytes(with_shortest_rows(make_frame(*of)))
        ),
        context_gpus=_count_context_gpus(spec, facts, plan),
    )


def _count_context_gpus(spec: Spec, facts: KnownFacts, plan: Plan) -> int | None:
    """Return the GPUs that would hold one row; None where the weights alone are too large."""
    memory, decided = plan.memory, plan.decisions
    if memory.phases["optimizer_step"] >= (memory.capacity_bytes or 0):
        return None
    fused = decided.batch.liger is not None and decided.batch.liger.value
    job = replace(with_shortest_rows(make_frame(spec, facts)), liger=fused).job(
        decided.distribution.sharding.value,
        checkpointing=decided.batch.gradient_checkpointing.value,
        micro=1,
        offload=decided.distribution.offload.value,
    )
    return count_context_gpus(job, facts.hardware)


def _decide_batch(
    spec: Spec, data: DataFacts, *, rows: int, world: int, each: float, tokens: float
) -> Batch:
    """Decide the rows of a step, which under GRPO and RLOO are whole groups of answers."""
    if rewarded(spec.objective):
        return decide_group_batch(spec, train_rows=rows, world=world)
    is_scored = data.form == "scored"
    return decide_batch(
        spec,
        train_rows=rows,
        world=world,
        each=each,
        text_tokens=tokens,
        documents=0 if is_scored else data.documents,
        texts=1 + count_mined(spec, data),
        scored=is_scored,
    )


def make_frame(spec: Spec, facts: KnownFacts) -> Frame:
    """Make the decisions that precede the search for a layout.

    Rows are arranged as the spec says, and one by one where it leaves that open.
    """
    world = decide_world(spec.objective, facts)
    max_length = decide_max_length(spec, facts.model, facts.data)
    length = max_length.value
    splits = decide_splits(spec, facts.data, length)
    pieces, lengths = find_pieces(spec, facts, length)
    shape, rows = see(shape_of(facts.model), facts), round(splits.train.value * pieces)
    if labels := count_labels(spec.objective, facts.data):
        shape = scored_shape(shape, labels)
    sampled, metric = _decide_sampled(spec, facts), decide_metric(spec, facts.data)
    precision = decide_precision(spec, facts.hardware)
    longest = longest_padded(spec, facts.data, lengths, length)
    arrangement = first_arrangement(
        spec, facts, lengths, rows=rows, max_length=length, longest=longest
    )
    batch = _decide_batch(
        spec,
        facts.data,
        rows=rows,
        world=world.value,
        each=arrangement.each,
        tokens=text_tokens(spec.objective, lengths),
    )
    if sampled is not None:
        arrangement = arrange_groups(
            spec,
            replace(facts.data, lengths=lengths),
            batch,
            rows=rows,
            max_length=length,
            answer_tokens=sampled.value,
        )
    return Frame(
        spec=spec,
        facts=facts,
        shape=shape,
        world=world,
        precision=precision,
        attention=decide_attention(spec, facts.model),
        adapter=decide_adapter(spec, shape),
        freezing=decide_freezing(spec, shape),
        comparison=decide_comparison(spec, facts.data),
        teaching=decide_teaching(spec, facts, precision.value),
        metric=metric,
        answered_rows=decide_answered_rows(spec, splits),
        answer_tokens=decide_answer_tokens(spec.objective, facts.data, metric.value),
        sampled=sampled,
        max_length=max_length,
        longest=longest,
        splits=splits,
        pieces=pieces,
        lengths=lengths,
        arrangement=arrangement,
        batch=batch,
        liger=spec.training.liger is True,
    )


def _decide_sampled(spec: Spec, facts: KnownFacts) -> Decision[int] | None:
    """Decide the most tokens of a sampled answer; None where training samples none."""
    if not samples(spec.objective):
        return None
    thinking = thinks(spec, facts.tokenizer.reasoning)
    return decide_sampled_tokens(spec, facts.model, facts.data, thinking=thinking)


def plan_once(spec: Spec, facts: KnownFacts) -> Plan:
    """Return the plan without its alternatives, whether or not it fits."""
    return _plan_found(*choose_padding(make_frame(spec, facts)))


def plan_fitting(spec: Spec, facts: KnownFacts, *, exports: Mapping[str, int]) -> Plan | None:
    """Return the plan without its alternatives, or None if no layout fits.

    If no layout fits, most of the plan is not computed. `exports` are the bytes of exported files.
    """
    frame, found, padding = choose_padding(make_frame(spec, facts))
    if found.chosen.memory.fits is False:
        return None
    return _plan_found(frame, found, padding, exports)


def _plan_found(
    frame: Frame, found: Search, padding: Padding, exports: Mapping[str, int] | None = None
) -> Plan:
    """Return the plan of the layout that was found; `exports` are the files' bytes if known."""
    spec, facts, frame = frame.spec, frame.facts, replace(frame, liger=found.liger)
    layout, splits = decide_layout(frame, found), frame.splits
    micro = layout.micro.value
    job = frame.job(
        layout.sharding.value,
        checkpointing=layout.checkpointing.value,
        micro=micro,
        offload=layout.offload.value,
    )
    validation = round(splits.validation.value * frame.pieces)
    if rewarded(spec.objective):  # no more answers at a time than a step tries
        validation = min(validation, frame.batch.decision.value)
    eval_batch = decide_eval_batch(job, facts.hardware, frame.lengths, rows=validation)
    job = replace(job, eval_micro=eval_batch.value)
    together = gives_vectors(spec.objective.type) and facts.data.form != "scored"
    timetable = decide_timetable(
        spec,
        facts.model,
        train_rows=splits.train.value,
        batch_rows=frame.arrangement.rows,
        micro=frame.batch.rows_per_process if together else micro,
        accumulation=1 if together else frame.batch.rows_per_process // micro,
        world=frame.world.value,
        validated=splits.validation.value > 0,
        whole=compares_texts(spec.objective.type) and frame.world.value > 1,
        estimated=frame.arrangement.packed or frame.pieces != 1,
        pace=_find_pace(frame, job),
    )
    decisions = gather_decisions(
        Decided(
            frame=frame,
            job=job,
            layout=layout,
            padding=padding,
            timetable=timetable,
            eval_batch=eval_batch,
        )
    )
    return _costs(frame, job, layout, decisions, exports)


def _find_pace(frame: Frame, job: Job) -> Pace | None:
    """Return the pace of a GPU; None for a CPU, where checkpoints cost little beside training."""
    hardware, step = frame.facts.hardware, frame.batch.decision.value
    if hardware.kind == "cpu":
        return None
    tokens = pass_tokens(frame.arrangement, micro=job.micro, world=job.world, step=step)
    evaluation = evaluation_seconds(job, hardware, _evaluated(frame))
    return Pace(
        step_seconds=step_seconds(job, hardware, tokens),
        evaluation_seconds=evaluation + saving_seconds(job),
    )


def _evaluated(frame: Frame) -> Evaluated:
    """Return the work of one evaluation on the validation split."""
    spec, data, splits = frame.spec, frame.facts.data, frame.splits
    answered, tokens = frame.answered_rows, frame.answer_tokens
    answered_rows = 0 if answered is None else answered.value
    rows = frame.arrangement
    if rewarded(spec.objective):
        return Evaluated(
            rows=answered_rows, lengths=rows.lengths, max_length_tokens=rows.length_tokens
        )
    shown = min(spec.training.evaluation.samples, splits.validation.value)
    return Evaluated(
        rows=round(splits.validation.value * frame.pieces),
        lengths=rows.lengths if data.form == "prompt" else frame.lengths,
        max_length_tokens=rows.length_tokens if data.form == "prompt" else frame.max_length.value,
        written_rows=answered_rows + shown,
        answer_tokens=0 if tokens is None else tokens.value,
    )


def _costs(
    frame: Frame, job: Job, layout: Layout, decisions: Decisions, exports: Mapping[str, int] | None
) -> Plan:
    """Return the plan: the decisions with memory, time, disk and cost.

    The memory is that of the layout with the rows per pass of an evaluation, which do not change
    its peak.
    """
    memory = replace(measure(job, frame.facts.hardware), fits=layout.memory.fits)
    if exports is None:
        types, tokenizer = frame.spec.export.types, frame.facts.tokenizer
        exports = {kind: predict_bytes(job.shape, tokenizer, kind) for kind in types}
        served = frame.spec.export.vllm
        exports |= {kind: predict_served_bytes(job.shape, kind) for kind in served}
    row_tokens = min(frame.arrangement.lengths.mean, frame.arrangement.length_tokens)
    steps = decisions.training.total_steps.value
    validated = decisions.splits.validation_rows.value > 0
    work = Work(
        steps=steps,
        rows_per_step=decisions.batch.global_batch.value,
        trained=frame.arrangement,
        evaluations=2 + count_evaluations(steps, decisions.training.eval_steps.value),
        evaluated=_evaluated(frame),
        saves=count_saves(
            steps,
            save_steps=decisions.training.save_steps.value,
            eval_steps=decisions.training.eval_steps.value,
            validated=validated,
        ),
        referred_rows=min(
            decisions.splits.train_rows.value, steps * decisions.batch.global_batch.value
        )
        + decisions.splits.validation_rows.value,
        judged=_judged(frame, decisions),
        decomposed=frame.adapter is not None and frame.spec.method.init == "pissa",
        mined=read_for_mining(frame),
    )
    downloaded = download_bytes(frame.facts)
    time = estimate_time(job, frame.facts.hardware, work)
    lines = ladder(frame.batch.rows_per_process, job.micro, least=least_rows(frame.spec.objective))
    rungs = measure_rungs(frame, job, lines)
    return Plan(
        decisions=decisions,
        memory=memory,
        ladder=tuple((rung.micro, rung.accumulation) for rung in rungs),
        rungs=rungs,
        trainable_parameters=job.trainable,
        tokens_per_step=max(
            1, round(decisions.batch.global_batch.value * job.row_sequences * row_tokens)
        ),
        time_seconds=time.total_seconds if time is not None else None,
        disk_bytes=downloaded + disk_bytes(frame.spec, job, exports, validated=validated),
        download_bytes=downloaded,
        host_ram_bytes=host_ram_bytes(job, memory.device_bytes),
        export_bytes=exports,
        alternatives=(),
        time=time,
        cost=estimate_cost(time, frame.facts.hardware, frame.spec.hardware.price_per_hour),
    )


def _judged(frame: Frame, decisions: Decisions) -> Judged:
    """Return the work of evaluate.py: the loss of every test row, and answers for the metric."""
    judged = decisions.evaluation.judged_rows
    return Judged(
        rows=decisions.splits.test_rows.value,
        row_tokens=min(usual_mean(frame.facts.data.lengths), frame.max_length.value),
        answered_rows=0 if judged is None else judged.value,
        answer_tokens=decisions.most_answer_tokens,
    )
