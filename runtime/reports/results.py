"""What the stages of a bundle recorded, for a report on all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from .. import stages
from ..files import read_json
from ..run import Run

Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The records of the stages that are shown, in their order, and what the bundle says."""

    run: Run
    records: Mapping[str, stages.Record]
    decided: Numbers  # the values of the plan's decisions
    plan: Numbers
    lock: Numbers
    stages: tuple[str, ...]  # of the plan
    is_complete: bool  # the last stage of the plan is among the records

    def read(self, name: str) -> Any:
        """Return a JSON file of the run folder; ends the stage if it is missing or was changed."""
        path = self.run.folder / name
        if not path.is_file():
            self.run.stop(f"run/{name} is missing: run the stages before this one (see run.sh)")
        self.run.check_outputs(path)
        return read_json(path)

    def read_rows(self, name: str) -> list[Any]:
        """Return the rows of a file that evaluate.py wrote, or none if it did not."""
        path = self.run.folder / "evaluate" / name
        if f"run/evaluate/{name}" not in self.records["evaluate"].read["outputs"]:
            return []
        self.run.check_outputs(path)
        return self.run.read_rows(path)


def read_results(run: Run) -> Results:
    """Return the records of the stages so far.

    The stages of plan.json up to the one of `run` must be up to date, or this ends the stage. Of
    the later ones, those that are up to date are among the records.
    """
    plan, lock = (read_json(run.bundle / name) for name in ("plan.json", "ftc.lock.json"))
    names = [name for name in plan["stages"] if name != "report"]
    first = names[: names.index(run.stage) + 1] if run.stage in names else names
    records: dict[str, stages.Record] = {}
    for name in names:
        record = stages.read_record(run.bundle, name)
        if record is None:
            continue
        if name in first:
            run.check_current(name)
            run.check_outputs(*(run.bundle / output for output in record.read["outputs"]))
        elif not is_current(record, records.get("train")):
            continue
        records[name] = record
    decided = {name: entry["value"] for name, entry in lock["decisions"].items()}
    return Results(
        run=run,
        records=records,
        decided=decided,
        plan=plan,
        lock=lock,
        stages=tuple(names),
        is_complete=names[-1] in records,
    )


def load_part(name: str) -> Any:
    """Return a module of `report_parts`; a bundle carries only those for its own results."""
    return import_module(f"..report_parts.{name}", __package__)


def is_current(record: stages.Record, train: stages.Record | None) -> bool:
    """Return whether a stage's scripts, inputs, outputs and training are as it recorded."""
    is_older = train and not set(train.read["trainings"]) <= set(record.read["trainings"])
    changed = stages.find_changed(record, "sources") or stages.find_changed(record, "inputs")
    changed = changed or stages.find_changed_output(record, record.bundle, bundle=record.bundle)
    return not is_older and not changed
