"""The tables of a bundle's README: the plan, its memory, its decisions and its files."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from ftc.compiler.knowledge.locked_packages import list_pythons
from ftc.compiler.plan.plan import Time
from ftc.compiler.plan.reasons import sentence, show_value
from ftc.compiler.plan.summary.headline import say_cost, say_steps
from ftc.compiler.render.artifacts import Artifact
from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.render.output.values import Markdown
from ftc.compiler.render.pins import SDIST_MB
from ftc.compiler.render.runtime_modules import FOLDER
from ftc.compiler.render.source import BundleSource, list_outside
from ftc.compiler.resolve.facts import DataFacts
from ftc.runtime.stages import LOCK
from ftc.spec.message import show

_GIB = 2**30
_MIB = 2**20
_MINUTE = 60
_LOCK = "what ftc resolved when it compiled this, and the hash of every file"


def readme_context(
    source: BundleSource,
    artifacts: Sequence[Artifact],
    scripts: Sequence[RenderedFile],
    modules: Sequence[RenderedFile],
) -> dict[str, Any]:
    """Return the title, the versions to install and the tables, all as Markdown."""
    files = [(artifact.name, artifact.about) for artifact in artifacts]
    folders = sorted({PurePosixPath(module.name).parent.name for module in modules} - {FOLDER})
    about = f"the modules that the scripts import; its folders are {', '.join(folders)}"
    files += [(LOCK, _LOCK), (f"{FOLDER}/", about)]
    pythons = list_pythons()
    return {
        "title": Markdown(source.spec.name),
        "pythons": Markdown(f"{pythons[0]} to {pythons[-1]}"),
        "sdist_mb": Markdown(str(SDIST_MB)),
        "fact_rows": _rows(_facts(source)),
        "memory": _rows(_memory(source)),
        "decision_rows": _rows(_decisions(source, scripts)),
        "files": _rows(files),
    }


def _rows(rows: Iterable[tuple[str, ...]]) -> list[tuple[Markdown, ...]]:
    return [tuple(Markdown(cell) for cell in row) for row in rows]


def _facts(source: BundleSource) -> Iterable[tuple[str, str]]:
    """Yield the facts of the run, the most important first."""
    facts, plan = source.facts, source.plan
    decided = plan.decisions
    revision = f" at {facts.model.revision}" if facts.model.revision else ""
    yield "model", f"{facts.model.id}{revision}, {_count(facts.model.parameters)} parameters"
    if facts.model.licence:
        yield "licence of the model", facts.model.licence
    if facts.teacher is not None:
        taught = facts.teacher.model
        revision = f" at {taught.revision}" if taught.revision else ""
        yield "teacher", f"{taught.id}{revision}, {_count(taught.parameters)} parameters"
        if taught.licence:
            yield "licence of the teacher", taught.licence
    for part in facts.data.sources or (facts.data,):
        yield "data", _data(part)
    for path in dict.fromkeys(list_outside(source)):
        yield "outside of this folder", path
    share = plan.trainable_parameters / facts.model.parameters
    moving = f"{_count(plan.trainable_parameters)} parameters are trained ({share:.2%})"
    yield "method", f"{source.spec.method.type}: {moving}"
    machine = f"{facts.hardware.count}x {facts.hardware.name}"
    nodes = facts.hardware.nodes
    yield "hardware", machine if nodes == 1 else f"{nodes} nodes, each with {machine}"
    passes = _number(decided.batch.accumulation.value, "pass|passes")
    processes = _number(decided.distribution.world.value, "process|processes")
    rows = _number(decided.batch.global_batch.value, "row|rows")
    yield "batch", f"{rows}: {decided.batch.micro_batch.value} per pass x {passes} x {processes}"
    yield (
        "steps",
        f"{say_steps(plan)}, about {plan.tokens_per_step:,} tokens each",
    )
    if plan.time is not None:
        yield "time of the run", " to ".join(durations(plan.time))
    if plan.cost is not None:
        low, high = say_cost(plan.cost.low), say_cost(plan.cost.high)
        yield "cost of the run", f"{say_cost(plan.cost.total)}, between {low} and {high}"
    yield "disk", _size(plan.disk_bytes)
    yield "memory of the host", _size(plan.host_ram_bytes)
    for kind, size in plan.export_bytes.items():
        yield f"{'GGUF' if kind in source.spec.export.types else 'vLLM'} {kind}", _size(size)


def _data(part: DataFacts) -> str:
    if part.streamed_rows is None:
        return f"{part.source}, {part.usable_rows:,} usable of {part.rows:,} rows"
    return (
        f"{part.source}, streamed: {part.usable_rows:,} of about {part.streamed_rows:,} rows,"
        f" planned by the first {part.rows:,}"
    )


def _memory(source: BundleSource) -> Iterable[tuple[str, str]]:
    """Yield the predicted peaks of one process."""
    memory = source.plan.memory
    for phase, size in memory.phases.items():
        yield phase.replace("_", " "), _size(size)
    yield "allocated at the peak", _size(memory.allocated_bytes)
    yield "expected to be reserved by the allocator", _size(memory.expected_bytes)
    yield "margin for what the prediction misses", _size(memory.margin_bytes)
    outside = memory.device_bytes - memory.reserved_bytes
    yield "outside of torch's allocator", _size(outside)
    yield "on the device, with the margin", _size(memory.device_bytes)
    if memory.capacity_bytes is not None:
        yield "available", _size(memory.capacity_bytes)


def _decisions(
    source: BundleSource, scripts: Sequence[RenderedFile]
) -> Iterable[tuple[str, str, str, str]]:
    """Yield the name, value, source and reason of each decision that is not a script's constant."""
    text = "\n".join(script.text for script in scripts)
    constants = set(re.findall(r"^([A-Z][A-Z0-9_]*) = ", text, re.MULTILINE))
    for name, decision in source.plan.decisions.items().items():
        if name.upper() in constants:
            continue
        shown = show_value(decision.value)
        yield name.replace("_", " "), shown, decision.source, sentence(decision.because)


def _number(count: int, words: str) -> str:
    return f"{count:,} {show(count, words, 'en')}"


def _size(size_bytes: int) -> str:
    """Return a size in GiB, or in MiB below one GiB."""
    if size_bytes >= _GIB:
        return f"{size_bytes / _GIB:,.1f} GiB"
    return f"{size_bytes / _MIB:,.1f} MiB"


def _count(number: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)


def durations(time: Time) -> Sequence[str]:
    """Return the shortest and the longest time of a run, or one where both read the same."""
    return [*dict.fromkeys(map(_duration, (time.low_seconds, time.high_seconds)))]


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / _MINUTE))
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
