"""A plan as text for people, and as the data that `plan.schema.json` promises."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final

from ftc.compiler.pipeline import Outcome
from ftc.compiler.plan.plan import Cost, Memory, Plan, Time
from ftc.compiler.plan.reasons import sentence, show_value
from ftc.compiler.plan.summary.headline import headline, say_bytes, say_cost, say_seconds
from ftc.fix_patches import write_fixes, write_patch
from ftc.report.bars import draw_bars, legend
from ftc.report.json_output import VERSION, list_findings

_WIDEST: Final = 24
_MOST_GPUS: Final = 6
_ENGINE: Final = "the gain in speed by vLLM is not planned"
_EVIDENCE: Final[Mapping[str, str]] = {
    "pilot": ", as a pilot measured",
    "published": "",
    "none": "; `./run.sh --pilot` measures it on this device",
}


def plan_data(outcome: Outcome) -> Mapping[str, Any]:
    """Return the plan as plain data; without a plan only the name and the findings are there."""
    data = outcome.document.data if outcome.document is not None else None
    numbers = {} if outcome.plan is None else _numbers(outcome.plan, data)
    return {
        "version": VERSION,
        "name": outcome.spec.name if outcome.spec is not None else None,
        **numbers,
        "findings": list_findings(write_fixes(outcome.findings, outcome.document)),
    }


def _numbers(plan: Plan, data: Any) -> Mapping[str, Any]:
    decisions = plan.decisions
    return {
        "memory": {"per_gpu": _memory_numbers(plan.memory)},
        "batch": {
            "micro": decisions.batch.micro_batch.value,
            "accumulation": decisions.batch.accumulation.value,
            "world": decisions.distribution.world.value,
            "global": decisions.batch.global_batch.value,
            "tokens_per_step": plan.tokens_per_step,
        },
        "steps": decisions.training.total_steps.value,
        "trainable_parameters": plan.trainable_parameters,
        "time_seconds": plan.time_seconds,
        "time": None if plan.time is None else asdict(plan.time),
        "cost": None if plan.cost is None else asdict(plan.cost),
        "disk_bytes": plan.disk_bytes,
        "host_ram_bytes": plan.host_ram_bytes,
        "export_bytes": dict(plan.export_bytes),
        "ladder": [
            {"micro": micro, "accumulation": accumulation} for micro, accumulation in plan.ladder
        ],
        "decisions": {
            name: {
                "value": decision.value,
                "source": decision.source,
                "because": {
                    "key": decision.because.key,
                    "values": dict(decision.because.values),
                },
            }
            for name, decision in decisions.items().items()
        },
        "alternatives": [
            {
                "change": alternative.change,
                "kind": alternative.kind,
                "device_bytes": alternative.device_bytes,
                "time_seconds": alternative.time_seconds,
                "time_ratio": alternative.time_ratio,
                "cost": alternative.cost,
                "fix": [dict(operation) for operation in write_patch(alternative.fix, data)],
            }
            for alternative in plan.alternatives
        ],
        "fitting_gpus": list(plan.fitting_gpus),
        "context_gpus": plan.context_gpus,
    }


def _memory_numbers(memory: Memory) -> Mapping[str, Any]:
    return {
        "allocated_bytes": memory.allocated_bytes,
        "expected_bytes": memory.expected_bytes,
        "margin_bytes": memory.margin_bytes,
        "reserved_bytes": memory.reserved_bytes,
        "device_bytes": memory.device_bytes,
        "capacity_bytes": memory.capacity_bytes,
        "fits": memory.fits,
        "phases": dict(memory.phases),
        "largest_phase": memory.largest_phase,
        "parts": {phase: dict(parts) for phase, parts in memory.parts.items()},
    }


def report_plan(name: str, plan: Plan, *, plain: bool = False) -> str:
    """Return the plan as text: the verdict, a bar per phase, costs, decisions, what would fit.

    `plain` keeps the bars to ASCII.
    """
    sections = [
        [headline(name, plan)],
        list(_bars(plan.memory, plain=plain)),
        list(_costs(plan)),
        list(_decisions(plan)),
    ]
    if plan.alternatives or plan.fitting_gpus or plan.context_gpus:
        sections.append(list(_alternatives(plan)))
    return "\n\n".join("\n".join(section) for section in sections if section)


def _bars(memory: Memory, *, plain: bool) -> Iterator[str]:
    columns = min(max(get_terminal_size((100, 24)).columns - 34, 20), 60)
    for bar, drawn in draw_bars(memory, columns=columns, plain=plain):
        yield f"  {bar.phase:<16}{say_bytes(bar.total_bytes):>10}  {drawn}"
    if memory.parts:
        yield f"  {'':<28}{legend(memory, plain=plain)}"
    used, expected = memory.device_bytes, memory.device_bytes - memory.margin_bytes
    parts = f"{say_bytes(expected)} expected, {say_bytes(memory.margin_bytes)} margin for safety"
    yield f"  {'on the device':<16}{say_bytes(used):>10}  {parts}"


def _costs(plan: Plan) -> Iterator[str]:
    exports = (f"{name} {say_bytes(size)}" for name, size in plan.export_bytes.items())
    rows = {
        "trained": f"{plan.trainable_parameters:,} parameters",
        "each step": f"{plan.tokens_per_step:,} tokens on average",
        **_times(plan),
        "host memory": say_bytes(plan.host_ram_bytes),
        "disk": _say_disk(plan),
        "exports": ", ".join(exports) or "none",
    }
    for label, text in rows.items():
        yield f"  {label:<16} {text}"


def _say_disk(plan: Plan) -> str:
    whole, download = say_bytes(plan.disk_bytes), say_bytes(plan.download_bytes)
    return f"{whole}, {download} of it for the model from the Hub" if plan.download_bytes else whole


def _times(plan: Plan) -> Mapping[str, str]:
    """Return how long the run takes and what that costs; nothing of a run that does not fit."""
    if plan.memory.fits is False:
        return {}
    if plan.time is None:
        return {"time": "unknown for this hardware"}
    engine = plan.decisions.engine.vllm
    faster = "" if engine is None or engine.value == "off" else f"; {_ENGINE}"
    cost = {} if plan.cost is None else {"cost": _say_cost(plan.cost)}
    compiles = plan.decisions.loop.compile.value
    return {"time": f"{_say_time(plan.time, compiles=compiles)}{faster}", **cost}


def _say_cost(cost: Cost) -> str:
    return f"{say_cost(cost.low)} to {say_cost(cost.high)}, at the price in `hardware`"


def _say_time(time: Time, *, compiles: bool) -> str:
    parts = {
        "training": time.training_seconds,
        "evaluation": time.evaluation_seconds,
        "checkpoints": time.saving_seconds,
        "start": time.loading_seconds,
        "test split": time.judging_seconds,
    }
    named = ", ".join(f"{part} {say_seconds(size)}" for part, size in parts.items())
    low, high = say_seconds(time.low_seconds), say_seconds(time.high_seconds)
    rate = f"{time.tokens_per_second:,.0f} tokens/s in training"
    left_out = "export, harness and compiling the model" if compiles else "export and harness"
    without = f"{left_out} not included"
    return f"{low} to {high} ({named}), {without}; {rate}{_EVIDENCE[time.evidence]}"


def _decisions(plan: Plan) -> Iterator[str]:
    rows = [(name, show_value(item.value), item) for name, item in plan.decisions.items().items()]
    names = max(len(name) for name, _, _ in rows)
    values = max(len(value) for _, value, _ in rows if len(value) <= _WIDEST)
    room = max(get_terminal_size((100, 24)).columns - names - values - 6, 30)
    yield "Decisions"
    for name, value, decision in rows:
        lines = wrap(sentence(decision.because), room)
        if len(value) > _WIDEST:
            yield f"  {name:<{names}}  {value}"
            name = value = ""  # noqa: PLW2901 - the reason follows below
        for line in lines:
            yield f"  {name:<{names}}  {value:<{values}}  {line}"
            name = value = ""  # noqa: PLW2901 - they stand on the first line


def _alternatives(plan: Plan) -> Iterator[str]:
    yield "What else would fit"
    for alternative in plan.alternatives:
        seconds = alternative.time_seconds
        time = "" if seconds is None else f"about {say_seconds(seconds)}"
        cost = "" if alternative.cost is None else f"{say_cost(alternative.cost):>9}  "
        yield f"  {say_bytes(alternative.device_bytes):>9}  {time:<12}  {cost}{alternative.change}"
    if plan.fitting_gpus:
        count = plan.decisions.distribution.world.value
        shown = ", ".join(plan.fitting_gpus[:_MOST_GPUS])
        more = len(plan.fitting_gpus) - _MOST_GPUS
        tail = f" and {more} more" if more > 0 else ""
        yield f"  as it is, on {count}x {shown}{tail}"
    if plan.context_gpus:
        share = f"{plan.context_gpus} GPUs that divide the tokens of each row"
        yield f"  as it is, on {share} (context parallelism), which no bundle does"
