"""Compares current plans with the ledger: each case is planned again for its card."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import write_case
from benchmarks.gpu.cases import CASES, SPEEDS
from benchmarks.gpu.ledger import read
from benchmarks.gpu.speed import ARMS, name_arm
from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.pipeline import Outcome, check
from ftc.compiler.plan.memory.peak import measure
from ftc.compiler.plan.plan import Memory, Plan
from ftc.compiler.plan.planner import make_frame
from ftc.compiler.resolve.facts import known

#: Bounds of the relative error. A plan that is too low promises what does not fit.
LOWEST, HIGHEST = -0.01, 0.05
_RESERVED: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One case: the relative errors of its planned peaks, negative if they are too low.

    `steps` and `plain` are the measured over the planned seconds of a step, of the bundle and the
    plain script: None where it did not run, and `steps` also where `cudnn` slowed the bundle down
    (`ledger.py`). `padded` are the errors, allocated and reserved, of the plan that a user gets for
    pairs and answers, which counts padding that these cases do not have; None for other cases.
    """

    case: str
    allocated: float
    reserved: float
    steps: float | None
    plain: float | None
    padded: tuple[float, float] | None

    @property
    def holds(self) -> bool:
        """Whether both errors are within their bounds."""
        return LOWEST <= self.allocated <= HIGHEST and 0 <= self.reserved <= _RESERVED


def compare(ledger: Path, only: str = "") -> Iterator[Held]:
    """Yield the cases of a ledger whose plan and measurement are known, and have `only` in it.

    What the plan of that time chose is given, since today's may choose otherwise.
    """
    cases = {case.name: case for case in CASES}
    cases |= {name_arm(case, ARMS[0]): case for case in SPEEDS}
    entries = read(ledger)
    steps = {
        (entry["commit"], entry["case"]): entry.get("measured", {}).get("step_seconds")
        for entry in entries
    }
    others = {name_arm(case, ARMS[0]): name_arm(case, ARMS[1]) for case in SPEEDS}
    with tempfile.TemporaryDirectory(prefix="ftc-gpu-") as name:
        folder = Path(name)
        for number, entry in enumerate(entries):
            if "predicted" not in entry or only not in entry["case"]:
                continue
            card = find_accelerator(entry["machine"])
            assert card is not None, entry["machine"]
            case = cases[entry["case"]]
            place = folder / str(number)
            chosen = entry.get("chosen", {})
            spec = write_case(case, place, folder, card.accelerator.name, chosen)
            outcome = check(str(spec))
            assert outcome.plan is not None, entry["case"]
            is_padded = case.objective != "sft" and not case.varied
            memory = _plan_even(outcome) if is_padded else outcome.plan.memory
            yield _compare(
                entry,
                outcome.plan,
                memory,
                plain_seconds=steps.get((entry["commit"], others.get(entry["case"], ""))),
                is_padded=is_padded,
            )


def _plan_even(outcome: Outcome) -> Memory:
    """Return the memory without the padding that pairs and answers are planned with.

    Those of the cases are all equally long, which no plan can know.
    """
    spec, plan = outcome.spec, outcome.plan
    facts = known(outcome.facts) if outcome.facts is not None else None
    assert spec is not None
    assert plan is not None
    assert facts is not None
    decided = plan.decisions
    job = make_frame(spec, facts).job(
        decided.distribution.sharding.value,
        checkpointing=decided.batch.gradient_checkpointing.value,
        micro=decided.batch.micro_batch.value,
        offload=decided.distribution.offload.value,
    )
    return measure(replace(job, even=True), facts.hardware)


def _compare(
    entry: Any, plan: Plan, memory: Memory, *, plain_seconds: float | None, is_padded: bool
) -> Held:
    measured, seconds = entry["measured"], plan.rungs[0].step_seconds
    own = None if entry.get("cudnn") else measured.get("step_seconds")
    allocated, reserved = _find_errors(memory, measured)
    return Held(
        case=entry["case"],
        allocated=allocated,
        reserved=reserved,
        steps=own / seconds if own and seconds else None,
        plain=plain_seconds / seconds if plain_seconds and seconds else None,
        padded=_find_errors(plan.memory, measured) if is_padded else None,
    )


def _find_errors(memory: Memory, measured: Any) -> tuple[float, float]:
    return (
        memory.allocated_bytes / measured["allocated_bytes"] - 1,
        memory.reserved_bytes / measured["reserved_bytes"] - 1,
    )


def print_errors(ledger: Path, only: str) -> int:
    """Print the errors of all cases, and return the exit code."""
    print(f"{'case':44}{'allocated':>12}{'reserved':>12}{'steps':>9}{'plain':>9}")
    missed = 0
    for held in compare(ledger, only):
        missed += not held.holds
        errors = f"{held.allocated:>+12.2%}{held.reserved:>+12.2%}"
        times = ("" if x is None else f"x {x:.2f}" for x in (held.steps, held.plain))
        print(f"{held.case:44}{errors}" + "".join(f"{x:>9}" for x in times), flush=True)
        if held.padded is not None:
            both = "".join(f"{error:>+12.2%}" for error in held.padded)
            print(f"{'  planned with padding, as users get it':44}{both}", flush=True)
    print(f"{missed} outside the bounds")
    return min(missed, 1)
