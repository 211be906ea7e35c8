"""A pilot of training: a few steps on the real machine, measured and compared with the plan.

`./run.sh --pilot` takes LONG_STEPS steps with the longest rows, which need the most memory, and
then SPEED_STEPS steps with rows drawn at random, which take as long as those of training. The first
step warms up. Nothing is evaluated or saved, and run/train is not touched. A pilot writes
run/pilot/pilot.json, which `ftc plan --calibrate` and `ftc compile --calibrate` read.

`planned` and `measured` have the same names there, and null where a number is not known. The memory
is that of one process: what torch has reserved on a GPU, or the process's memory on a CPU.
`margin_bytes` is the part of it that is only there for safety, and `calibration` has the factors
that the plan was scaled by. `out_of_memory` says how the micro-batch was reduced. `spans` are the
seconds of the steps.
"""

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice, pairwise
from typing import Any

import torch
from pyarrow import compute
from torch.utils.data import SequentialSampler
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from ..files import read_json, write_json
from ..libraries import list_versions
from ..run import Run
from ..upstream.trainer_parts import find_sampler, set_sampler
from .progress import format_seconds, peak_memory_bytes

LONG_STEPS = 2  # the first warms up; in the second the optimizer's states exist as well
SPEED_STEPS = 6
STEPS = LONG_STEPS + SPEED_STEPS
TIGHT_SHARE = 0.92  # of the memory; above it the fragments of a long run may not fit
FREE_SHARE = 0.6  # of the memory; below it a larger micro-batch may fit
SLOW_FACTOR = 1.25  # measured over planned seconds
BATCH_ROWS = 10_000  # whose lengths are read at a time


class Pilot:
    """Chooses the rows of a pilot, changes the Trainer for it, and reports what was measured."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.step_rows = 0  # of all processes
        self.lengths: list[int] = []  # of the chosen rows, in tokens
        self.times: list[float] = []  # at the start and after each step
        self.counts: list[int] = []  # tokens that TRL has counted by then, where it counts them
        self.order: list[int] = []

    def choose(self, rows: Any, step_rows: int, count: Callable[[Any], Any]) -> Any:
        """Return the longest rows for one step, and others at random for SPEED_STEPS steps.

        `rows` is a Dataset; where it has fewer rows, they are repeated. The longest come first. The
        first call is for the rows to train on, another one for those of an evaluation. `count`
        returns the tokens of each row of a pyarrow table.
        """
        batches = rows.with_format("arrow").iter(batch_size=BATCH_ROWS)
        lengths = [tokens for batch in batches for tokens in count(batch).to_pylist()]
        chosen = choose_rows(lengths, step_rows)
        if not self.lengths:
            self.step_rows, self.lengths = step_rows, [lengths[place] for place in chosen]
        return rows.select(chosen)

    def attach(self, trainer: Any) -> None:
        """Make the Trainer take the steps of a pilot, and nothing else."""
        args, generations = trainer.args, getattr(trainer, "num_generations", 1)
        size = self.step_rows // generations
        drawn = list(range(self.step_rows, self.step_rows + SPEED_STEPS * size))
        if sort := getattr(find_sampler(trainer), "sort", None):
            drawn = sort(drawn, self.lengths, SPEED_STEPS)
        self.order = [*list(range(size)) * LONG_STEPS, *drawn]
        trainer.train_dataset = trainer.train_dataset.select(self.order)
        if hasattr(trainer, "num_generations"):
            trainer.shuffle_dataset = False  # the trainer's own sampler repeats each prompt
        else:
            set_sampler(trainer, SequentialSampler(trainer.train_dataset))
        args.max_steps, args.logging_steps = STEPS, 1
        args.eval_on_start, args.eval_strategy = False, IntervalStrategy.NO
        args.save_strategy, args.load_best_model_at_end = SaveStrategy.NO, False
        handler = trainer.callback_handler
        trackers, found = "transformers.integrations", handler.callbacks
        kept = (each for each in found if not type(each).__module__.startswith(trackers))
        handler.callbacks = list(kept)

    def note_step(self, args: Any, state: Any) -> None:
        """Note the time, once the device has done everything up to here."""
        if args.device.type == "cuda":
            torch.cuda.synchronize()
        self.times.append(time.monotonic())
        self.counts.append(int(state.num_input_tokens_seen))

    def measure(self, args: Any) -> dict[str, float]:
        """Return what this process has measured: bytes, and seconds and tokens of a step."""
        seconds, tokens = self.measure_step()
        return {
            "memory_bytes": peak_memory_bytes(args),
            "allocated_bytes": torch.cuda.max_memory_allocated(),  # 0 on a CPU
            "step_seconds": seconds,
            "longest_step_seconds": self.times[LONG_STEPS] - self.times[LONG_STEPS - 1],
            "step_tokens": tokens,
        }

    def measure_step(self) -> tuple[float, float]:
        """Return the seconds and tokens of a step of random rows, at the median rate of the steps.

        A GPU loads or chooses kernels when it meets a length for the first time. A step then takes
        many times as long, which a whole training hardly notices.
        """
        spans = [after - before for before, after in pairwise(self.times[LONG_STEPS:])]
        counted = [after - before for before, after in pairwise(self.counts[LONG_STEPS:])]
        size = len(self.order) // STEPS
        rows = [self.lengths[place] for place in self.order[LONG_STEPS * size :]]
        summed = [sum(rows[begin : begin + size]) for begin in range(0, len(rows), size)]
        tokens = counted if all(counted) else summed
        mean = sum(tokens) / len(tokens)
        rates = (span / count for span, count in zip(spans, tokens, strict=True))
        return statistics.median(rates) * mean, mean

    def report(
        self,
        args: Any,
        found: Sequence[Mapping[str, float]],
        *,
        row: int,
        changes: Sequence[Mapping[str, Any]],
    ) -> None:
        """Write run/pilot/pilot.json and print the table.

        `found` are the measurements of all processes, `row` the line of the ladder, `changes` those
        that a lack of memory made.
        """
        plan = read_json(self.run.bundle / "plan.json")
        rung = plan["pilot"]["rungs"][row]
        most = {name: max(each[name] for each in found) for name in found[0]}
        planned = list_planned(plan, row)
        measured: dict[str, Any] = {
            "memory_bytes": round(most["memory_bytes"]),
            "allocated_bytes": round(most["allocated_bytes"]) or None,
            "step_seconds": round(most["step_seconds"], 4),
            "tokens_per_second": round(most["step_tokens"] / most["step_seconds"], 1),
        }
        measured["training_seconds"] = estimate(plan, planned, measured["step_seconds"])
        measured |= {"longest_step_seconds": round(most["longest_step_seconds"], 4)}
        pilot = {
            "version": 1,
            "machine": describe_machine(args),
            "versions": list_versions(),
            "micro_batch": rung["micro_batch"],
            "accumulation": rung["accumulation"],
            "longest_tokens": max(self.lengths),
            "out_of_memory": list(changes),
            "planned": planned,
            "measured": {**measured, "steps": STEPS},
            "spans": [round(after - before, 4) for before, after in pairwise(self.times)],
        }
        write_json(self.run.folder / "pilot" / "pilot.json", pilot)
        for line in (*write_table(pilot), *advise(pilot, is_planned=row == 0)):
            self.run.say(line)


# -----------------------------------------------------------------------------
# Rows


def count_tokens(table: Any) -> Any:
    """Return the tokens of each row of a pyarrow table; of a prompt alone, those of the prompt."""
    name = "input_ids" if "input_ids" in table.column_names else "prompt_ids"
    return compute.list_value_length(table[name])


def choose_rows(lengths: Sequence[int], step_rows: int) -> list[int]:
    """Return places of rows: the longest of one step, then SPEED_STEPS steps at random."""
    places = sorted(range(len(lengths)), key=lambda place: (-lengths[place], place))
    drawn = torch.randperm(len(lengths), generator=torch.Generator().manual_seed(0)).tolist()
    speed_rows = SPEED_STEPS * step_rows
    return [*islice(cycle(places), step_rows), *islice(cycle(drawn), speed_rows)]


# -----------------------------------------------------------------------------
# Numbers


def describe_machine(args: Any) -> dict[str, Any]:
    """Return what pilot.json says about the machine."""
    count = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    machine: dict[str, Any] = {"count": count, "nodes": max(1, args.world_size // count)}
    if args.device.type == "cuda":
        device = torch.cuda.get_device_properties(args.device)
        machine |= {"kind": "gpu", "device": device.name, "memory_bytes": device.total_memory}
    else:
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        machine |= {"kind": "cpu", "device": "cpu", "memory_bytes": memory_bytes}
    return {**machine, "cores": os.cpu_count()}


def list_planned(plan: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Return the plan's numbers for a line of the ladder; null where one is not known."""
    rung, seconds = plan["pilot"]["rungs"][row], plan["seconds"]
    step = rung["step_seconds"]
    return {
        **{name: rung[name] for name in ("memory_bytes", "margin_bytes", "allocated_bytes")},
        "step_seconds": step,
        "tokens_per_second": step and round(plan["tokens_per_step"] / step, 1),
        "training_seconds": seconds and seconds["total"],
        "calibration": plan["pilot"]["calibration"],
    }


def estimate(plan: Mapping[str, Any], planned: Mapping[str, Any], step_seconds: float) -> float:
    """Return the seconds of the whole training, if all steps take so long.

    What it does beside its steps takes as long as planned.
    """
    steps: int = plan["steps"]
    step: float | None = plan["pilot"]["rungs"][0]["step_seconds"]
    seconds: float | None = planned["training_seconds"]
    beside = 0.0 if step is None or seconds is None else max(0.0, seconds - steps * step)
    return round(beside + steps * step_seconds, 1)


# -----------------------------------------------------------------------------
# The report


def write_table(pilot: Mapping[str, Any]) -> list[str]:
    """Return the lines of the table of planned and measured numbers."""
    planned, measured, machine = pilot["planned"], pilot["measured"], pilot["machine"]
    processes = machine["count"] * machine["nodes"]
    batch = f"{pilot['micro_batch']} rows x {pilot['accumulation']} passes"
    where = f"{processes} {'processes' if processes > 1 else 'process'} on {machine['device']}"
    shown: dict[str, tuple[str, Callable[[Any], str]]] = {
        "memory_bytes": ("peak memory", lambda size: f"{size / 2**30:.2f} GiB"),
        "allocated_bytes": ("allocated", lambda size: f"{size / 2**30:.2f} GiB"),
        "step_seconds": ("seconds a step", lambda seconds: f"{seconds:.3f}"),
        "tokens_per_second": ("tokens/s", lambda rate: f"{rate:,.0f}"),
        "training_seconds": ("whole training", format_seconds),
    }
    title = f"pilot: {measured['steps']} steps of {batch}, {where}"
    lines = [title, f"  {'':<16}{'planned':>14}{'measured':>14}"]
    for name, (label, show) in shown.items():
        if measured[name] is None:
            continue
        before = "unknown" if planned[name] is None else show(planned[name])
        ratio = f"   x {measured[name] / planned[name]:.2f}" if planned[name] else ""
        lines.append(f"  {label:<16}{before:>14}{show(measured[name]):>14}{ratio}")
        if name == "memory_bytes":
            lines.append(f"  {'incl. a margin':<16}{show(planned['margin_bytes']):>14}")
    longest, seconds = pilot["longest_tokens"], measured["longest_step_seconds"]
    return [*lines, f"  a step with the longest rows, of {longest:,} tokens: {seconds:.3f} s"]


def advise(pilot: Mapping[str, Any], *, is_planned: bool) -> list[str]:
    """Return what to change, a line for each reason, and how to plan with these numbers.

    `is_planned` says that the micro-batch is the planned one.
    """
    planned, measured, machine = pilot["planned"], pilot["measured"], pilot["machine"]
    per_device = machine["count"] if machine["kind"] == "cpu" else 1
    used = measured["memory_bytes"] * per_device / machine["memory_bytes"]
    advice = []
    if not is_planned:
        rows = pilot["micro_batch"]
        advice.append(f"the planned micro-batch does not fit: set training.micro_batch to {rows}")
    elif used > TIGHT_SHARE:
        advice.append(
            f"{used:.0%} of the memory is used: set a smaller training.micro_batch,"
            " or training.gradient_checkpointing to true"
        )
    elif used < FREE_SHARE and pilot["accumulation"] > 1:
        advice.append(
            f"{1 - used:.0%} of the memory is free: a larger training.micro_batch may be faster"
        )
    slower = measured["step_seconds"] / (planned["step_seconds"] or measured["step_seconds"])
    if slower > SLOW_FACTOR:
        advice.append(
            f"a step takes {slower:.1f} times as long as planned: look for other programs on this"
            " machine, and count on the measured time"
        )
    lines = [f"  {line}" for line in advice] or ["  nothing has to be changed"]
    command = "ftc compile spec.json --calibrate run/pilot/pilot.json"
    return [*lines, f"  `{command}` plans with what was measured"]
