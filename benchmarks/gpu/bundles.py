"""Bundles of the GPU benchmark: compiled from a case, prepared, and piloted.

A pilot (`runtime/train/pilot.py`) takes the longest rows first and a few steps after them, saves
nothing, and writes what the plan says beside what was measured.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.cases import Case, make_spec
from benchmarks.gpu.material import make_model, write_rows
from benchmarks.gpu.processes import LAUNCH, Clock, Ended, run
from ftc.compiler.pipeline import Outcome, compile_bundle, write

_STEPS: Final = 8  # of a pilot
_ROWS: Final = 2000  # where the plan chooses the batch
_PREPARED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A compiled case; `refused` are its errors, and `prepared` tells how its data became ready."""

    case: Case
    folder: Path
    outcome: Outcome
    refused: str | None
    prepared: "Future[Ended] | None"

    @property
    def failure(self) -> str | None:
        """Wait for its data; return why it cannot run, or None."""
        if self.refused is not None:
            return self.refused
        return None if self.prepared is None else self.prepared.result().failure


def make_bundles(
    cases: Sequence[Case], folder: Path, *, hardware: str, clock: Clock
) -> Iterator[Bundle]:
    """Yield a bundle of each case; data are prepared while earlier ones run on the GPU."""
    with ThreadPoolExecutor(_PREPARED_AT_ONCE) as pool:
        made = []
        for number, case in enumerate(cases):
            model = folder / "models" / case.shape
            if not model.exists():
                make_model(model, case.shape)
            made.append(make_bundle(case, folder / f"case-{number}", model, hardware=hardware))
        waiting = [_prepare(bundle, pool, clock) for bundle in made]
        yield from waiting


def _prepare(bundle: Bundle, pool: ThreadPoolExecutor, clock: Clock) -> Bundle:
    if bundle.refused is not None:
        return bundle
    command = (sys.executable, "prepare.py")
    future = pool.submit(run, command, bundle.folder, clock=clock, gpu=False)
    return Bundle(
        case=bundle.case,
        folder=bundle.folder,
        outcome=bundle.outcome,
        refused=None,
        prepared=future,
    )


def make_bundle(
    case: Case,
    folder: Path,
    model: Path,
    *,
    hardware: str,
    changes: Mapping[str, Any] | None = None,
) -> Bundle:
    """Write the rows and the spec of a case, with `changes` on its sections, and compile it."""
    folder.mkdir(parents=True)
    (folder / "model").symlink_to(model.resolve())
    rows = case.micro * _STEPS * (8 if case.packed else 1) if case.micro else _ROWS
    write_rows(folder / "rows.jsonl", case, rows=rows)
    spec = make_spec(case, hardware=hardware)
    for name, change in (changes or {}).items():
        spec[name] = {**spec[name], **change} if isinstance(change, dict) else change
    path = folder / "spec.json"
    path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    outcome = compile_bundle(str(path))
    errors = [found.message for found in outcome.findings if found.severity == "error"]
    if not outcome.failed:
        write(outcome)
    return Bundle(
        case=case,
        folder=folder / "measured",
        outcome=outcome,
        refused="; ".join(errors) if outcome.failed else None,
        prepared=None,
    )


def run_pilot(bundle: Bundle, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Return the entry of a case: what was planned and measured, or why nothing was.

    Bytes are those of one process. On a CPU only the memory of the process is measured.
    """
    entry = {"case": bundle.case.name}
    if (failure := bundle.failure) is not None:
        return {**entry, "refused" if bundle.refused else "failed": failure}
    ended = run((*LAUNCH, "train.py", "--pilot"), bundle.folder, clock=clock, gpu=gpu)
    if ended.failure is not None:
        return {**entry, "failed": ended.failure}
    path = bundle.folder / "run" / "pilot" / "pilot.json"
    pilot = json.loads(path.read_text(encoding="utf-8"))
    plan = bundle.outcome.plan
    assert plan is not None
    planned, measured = _pick(pilot["planned"]), _pick(pilot["measured"])
    planned["device_bytes"] = plan.memory.device_bytes
    measured["device_bytes"] = ended.device_bytes
    fell = {"fell_back": pilot["out_of_memory"]} if pilot["out_of_memory"] else {}
    return {**entry, **fell, "predicted": planned, "measured": measured}


def _pick(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "allocated_bytes": found["allocated_bytes"],
        "reserved_bytes": found["memory_bytes"],
        "step_seconds": found["step_seconds"],
        "tokens_per_second": found["tokens_per_second"],
    }
