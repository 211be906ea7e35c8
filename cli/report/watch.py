"""Runs as data: the contract of `watch.schema.json`."""

from collections.abc import Mapping
from typing import Any

from ftc.report.json_output import VERSION
from ftc.tui.watch.alerts import find_alerts
from ftc.tui.watch.gpus import GpuLoad
from ftc.tui.watch.run import Run
from ftc.tui.watch.stages import Stage
from ftc.tui.watch.words import say_advice


def runs_data(runs: tuple[Run, ...]) -> Mapping[str, Any]:
    """Return runs as plain data, in the order that they were named."""
    return {"version": VERSION, "runs": [_run_data(run) for run in runs]}


def _run_data(run: Run) -> Mapping[str, Any]:
    training, expected, current = run.training, run.expected, run.current
    return {
        "bundle": str(run.folder),
        "name": run.name,
        "state": run.state,
        "stage": None if current is None else current.name,
        "stages": [_stage_data(stage) for stage in run.stages],
        "step": training.step,
        "steps": run.total_steps,
        "epoch": training.epoch,
        "attempts": training.attempts,
        "curves": {
            name: [list(point) for point in curve] for name, curve in training.curves.items()
        },
        "evaluation": dict(run.evaluation),
        "evaluated_step": run.evaluated_step,
        "tokens_per_second": training.tokens_per_second,
        "memory_bytes": training.memory_bytes,
        "left_seconds": run.left_seconds,
        "planned": {
            "steps": expected.steps,
            "memory_bytes": expected.memory_bytes,
            "capacity_bytes": expected.capacity_bytes,
            "low_seconds": expected.low_seconds,
            "high_seconds": expected.high_seconds,
        },
        "warnings": [alert.text for alert in find_alerts(run)],
        "advice": say_advice(run) or None,
        "gpus": [_gpu_data(gpu) for gpu in run.gpus],
        "output": list(run.output),
    }


def _gpu_data(gpu: GpuLoad) -> Mapping[str, Any]:
    return {
        "index": gpu.index,
        "percent": gpu.percent,
        "used_bytes": gpu.used_bytes,
        "total_bytes": gpu.total_bytes,
    }


def _stage_data(stage: Stage) -> Mapping[str, Any]:
    return {
        "name": stage.name,
        "status": stage.status,
        "began": stage.began,
        "seconds": stage.seconds,
        "code": stage.code,
        "sentence": stage.sentence or None,
    }
