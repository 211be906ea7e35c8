"""From a spec and known facts to the plan: every decision, its memory, time and disk."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ftc.compiler.plan.adapter import decide_adapter
from ftc.compiler.plan.alternatives import find_alternatives
from ftc.compiler.plan.arrangement import Arrangement
from ftc.compiler.plan.batch import decide_batch, ladder, least_rows
from ftc.compiler.plan.decisions import Decided, gather_decisions
from ftc.compiler.plan.disk import disk_bytes, host_ram_bytes
from ftc.compiler.plan.evaluation import decide_eval_batch
from ftc.compiler.plan.frame import Frame
from ftc.compiler.plan.freezing import decide_freezing
from ftc.compiler.plan.gguf_size import predict_bytes
from ftc.compiler.plan.job import Job
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.layout import Layout, decide_layout
from ftc.compiler.plan.lengths import decide_max_length
from ftc.compiler.plan.memory import measure
from ftc.compiler.plan.objective import count_labels, scored_shape
from ftc.compiler.plan.padding import (
    choose_padding,
    find_pieces,
    first_arrangement,
)
from ftc.compiler.plan.plan import Decisions, Plan
from ftc.compiler.plan.precision import decide_precision
from ftc.compiler.plan.sampling import (
    arrange_groups,
    decide_group_batch,
    samples,
)
from ftc.compiler.plan.schedule import decide_timetable
from ftc.compiler.plan.search import least_device_bytes
from ftc.compiler.plan.sharding import decide_world
from ftc.compiler.plan.size import shape_of
from ftc.compiler.plan.splits import (
    decide_splits,
)
from ftc.compiler.plan.table import fitting_gpus
from ftc.compiler.plan.time import Work, count_evaluations, estimate_cost, estimate_time
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
    decisions = gather_decisions(
        Decided(
            frame=frame,
            layout=layout,
            padding=padding,
            splits=splits,
            timetable=timetable,
            world=world,
            max_length=max_length,
            eval_batch=eval_batch,
        )
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
    pieces, _ = find_pieces(frame.spec, frame.facts, frame.max_length)
    row_tokens = min(frame.arrangement.lengths.mean, frame.arrangement.length_tokens)
    steps = decisions.total_steps.value
    work = Work(
        steps=steps,
        rows_per_step=decisions.global_batch.value,
        trained=frame.arrangement,
        evaluations=1 + count_evaluations(steps, decisions.eval_steps.value),
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
