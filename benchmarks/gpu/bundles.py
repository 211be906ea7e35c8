"""Bundles of the GPU benchmark: compiled from a case, prepared, and piloted.

A pilot (`runtime/train/pilot.py`) takes the longest rows first and a few steps after them, saves
nothing, and writes what the plan says beside what was measured.
"""

import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.cases import Case, make_spec
from benchmarks.gpu.material import describe_model, make_model, write_rows
from benchmarks.gpu.processes import LAUNCH, TURN, Clock, run
from ftc.compiler.pipeline import Outcome, compile_bundle, write

LEAST_SECONDS: Final = 20  # nothing is started with less left
_STEPS: Final = 8  # of a pilot
_ROWS: Final = 800  # where the plan chooses the batch
_SHARED: Final = 0.9  # of a GPU's memory, where runs share it
_SPEEDS: Final = ("step_seconds", "tokens_per_second", "spans")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A compiled case in its `folder`; `plan` is what the measurements need of its plan.

    `failure` says why it cannot run: the errors of its spec, or of preparing its data.
    """

    case: Case
    folder: Path
    plan: Mapping[str, Any]
    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """Where bundles and models are made, unless they are there already, and for which card.

    `hardware` is an accelerator's name, `auto` or `cpu`. Bundles of an earlier run, also on another
    machine, are used as they are; only their models get weights.
    """

    bundles: Path
    models: Path
    hardware: str

    def make(
        self,
        case: Case,
        *,
        clock: Clock,
        name: str = "",
        changes: Mapping[str, Any] | None = None,
        gpu: bool = True,
    ) -> Bundle:
        """Return the prepared bundle of a case, whose spec has `changes` on its sections."""
        folder = self.bundles / re.sub(r"[^\w.]+", "-", f"{name} {case.name}".strip())
        note = folder / "made.json"
        if not note.exists():
            hardware = self.hardware if gpu else "cpu"
            made = self._compile(case, folder, hardware=hardware, changes=changes or {})
            note.write_text(json.dumps(made), encoding="utf-8")
        made = json.loads(note.read_text(encoding="utf-8"))
        bundle = folder / "measured"
        failure = made["refused"]
        if failure is None and not (bundle / "run" / "data").exists():
            prepared = run((sys.executable, "prepare.py"), bundle, clock=clock, gpu=False)
            failure = prepared.failure
        return Bundle(case=case, folder=bundle, plan=made["plan"], failure=failure)

    def give_weights(self, bundle: Bundle) -> None:
        """Make the weights of a bundle's model, unless another bundle has them already."""
        described = self.bundles / "models" / bundle.case.shape
        model = self.models / bundle.case.shape
        if not model.exists():
            partial = model.with_name(f"{model.name}.partial")
            make_model(partial, bundle.case.shape)
            shutil.copytree(described, partial, dirs_exist_ok=True)
            partial.rename(model)
        link = bundle.folder.parent / "model"
        link.unlink(missing_ok=True)
        link.symlink_to(model.resolve())

    def _compile(
        self, case: Case, folder: Path, *, hardware: str, changes: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write the rows and the spec of a case, compile it, and return made.json's content."""
        path = write_case(case, folder, self.bundles, hardware, changes)
        outcome = compile_bundle(str(path))
        if outcome.failed:
            errors = [found.message for found in outcome.findings if found.severity == "error"]
            return {"refused": "; ".join(errors), "plan": {}}
        write(outcome)
        return {"refused": None, "plan": _read_plan(outcome)}


def write_case(
    case: Case,
    folder: Path,
    shared: Path,
    hardware: str,
    changes: Mapping[str, Any] | None = None,
) -> Path:
    """Write a case's rows and spec, with `changes` on its sections; return the path of the spec.

    Its model has no weights. It is in `shared`, where other cases of its shape find it too.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    described = shared / "models" / case.shape
    if not described.exists():
        describe_model(described, case.shape)
    (folder / "model").symlink_to(Path(os.path.relpath(described, folder)))
    rows = case.micro * _STEPS * (8 if case.packed else 1) if case.micro else _ROWS
    write_rows(folder / "rows.jsonl", case, rows=rows)
    spec = make_spec(case, hardware=hardware)
    for name, change in (changes or {}).items():
        spec[name] = {**spec[name], **change} if isinstance(change, dict) else change
    path = folder / "spec.json"
    path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    return path


def _read_plan(outcome: Outcome) -> Mapping[str, Any]:
    plan = outcome.plan
    assert plan is not None
    return {
        "device_bytes": plan.memory.device_bytes,
        "trainable_parameters": plan.trainable_parameters,
        "decisions": {name: x.value for name, x in plan.decisions.items().items()},
        "rungs": [
            {"micro": x.micro, "allocated": x.allocated_bytes, "memory": x.memory_bytes}
            for x in plan.rungs
        ],
    }


def run_pilot(bundle: Bundle, *, clock: Clock, gpu: bool) -> Mapping[str, Any]:
    """Return the entry of a case: what was planned and measured, or why nothing was.

    Bytes are those of one process. On a CPU only the memory of the process is measured.
    """
    entry = {"case": bundle.case.name}
    if bundle.failure is not None:
        return {**entry, "failed": bundle.failure}
    ended = run((*LAUNCH, TURN, "train.py", "--pilot"), bundle.folder, clock=clock, gpu=gpu)
    if ended.failure is not None:
        return {**entry, "failed": ended.failure}
    path = bundle.folder / "run" / "pilot" / "pilot.json"
    pilot = json.loads(path.read_text(encoding="utf-8"))
    planned, measured = _pick(pilot["planned"]), _pick(pilot["measured"])
    planned["device_bytes"] = bundle.plan["device_bytes"]
    measured["device_bytes"] = ended.device_bytes
    fell = {"fell_back": pilot["out_of_memory"]} if pilot["out_of_memory"] else {}
    found = {"predicted": planned, "measured": measured, "spans": pilot["spans"]}
    return {**entry, **fell, **found}


def run_pilots(
    bundles: Iterable[Bundle], *, clock: Clock, at_once: int, memory_bytes: int | None
) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of bundles that run side by side on a GPU with so much memory.

    At most `at_once` run, and only those whose plans fit together. They slow each other down, so
    their entries have no speed. Without `memory_bytes` they take turns (`turn.py`), and have one.
    """
    room = Room(None if memory_bytes is None else int(_SHARED * memory_bytes))

    def run_one(bundle: Bundle) -> Mapping[str, Any]:
        with room.take(bundle.plan.get("device_bytes", 0)):
            if clock.left < LEAST_SECONDS:
                return {"case": bundle.case.name, "failed": "no time was left"}
            entry = run_pilot(bundle, clock=clock, gpu=True)
        is_alone = at_once == 1 or memory_bytes is None
        return entry if is_alone else dict(_drop_speed(entry))

    with ThreadPoolExecutor(at_once) as pool:
        waiting = [pool.submit(run_one, bundle) for bundle in bundles]
        for done in as_completed(waiting):
            yield done.result()


def _drop_speed(found: Any) -> Any:
    if not isinstance(found, Mapping):
        return found
    return {name: _drop_speed(value) for name, value in found.items() if name not in _SPEEDS}


class Room:
    """The memory of a GPU, shared by runs that say what they need."""

    def __init__(self, memory_bytes: int | None) -> None:
        """Start with all of it free; None is room for everything."""
        self._memory_bytes, self._taken = memory_bytes, 0
        self._changed = threading.Condition()

    @contextmanager
    def take(self, need: int) -> Iterator[None]:
        """Wait until so many bytes are free, or until nothing else runs, and hold them."""
        with self._changed:
            self._changed.wait_for(
                lambda: (
                    not self._taken
                    or self._memory_bytes is None
                    or self._taken + need <= self._memory_bytes
                )
            )
            self._taken += need
        try:
            yield
        finally:
            with self._changed:
                self._taken -= need
                self._changed.notify_all()


def _pick(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "allocated_bytes": found["allocated_bytes"],
        "reserved_bytes": found["memory_bytes"],
        "step_seconds": found["step_seconds"],
        "tokens_per_second": found["tokens_per_second"],
    }
