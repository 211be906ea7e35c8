"""Compares current plans with the peaks in the ledger: each case is planned again for its card."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import write_case
from benchmarks.gpu.cases import CASES, SPEEDS
from benchmarks.gpu.ledger import read
from benchmarks.gpu.speed import ARMS, name_arm
from ftc.compiler.knowledge.accelerators import find_accelerator
from ftc.compiler.pipeline import check

#: Bounds of the relative error. A plan that is too low promises what does not fit. The pairs and
#: answers of these cases are equally long, so they ran without the padding mask that is planned.
LOWEST, HIGHEST = -0.01, 0.06
_RESERVED: Final = 0.12


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One case: the relative errors of its planned peaks, negative if they are too low."""

    case: str
    allocated: float
    reserved: float

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
    with tempfile.TemporaryDirectory(prefix="ftc-gpu-") as name:
        folder = Path(name)
        for number, entry in enumerate(read(ledger)):
            if "predicted" not in entry or only not in entry["case"]:
                continue
            card = find_accelerator(entry["machine"])
            assert card is not None, entry["machine"]
            case = cases[entry["case"]]
            place = folder / str(number)
            chosen = entry.get("chosen", {})
            spec = write_case(case, place, folder, card.accelerator.name, chosen)
            plan = check(str(spec)).plan
            assert plan is not None, entry["case"]
            yield _compare(entry, plan.memory)


def _compare(entry: Any, planned: Any) -> Held:
    measured = entry["measured"]
    return Held(
        case=entry["case"],
        allocated=planned.allocated_bytes / measured["allocated_bytes"] - 1,
        reserved=planned.reserved_bytes / measured["reserved_bytes"] - 1,
    )


def print_errors(ledger: Path, only: str) -> int:
    """Print the errors of all cases, and return the exit code."""
    print(f"{'case':44}{'allocated':>12}{'reserved':>12}")
    missed = 0
    for held in compare(ledger, only):
        missed += not held.holds
        print(f"{held.case:44}{held.allocated:>+12.2%}{held.reserved:>+12.2%}", flush=True)
    print(f"{missed} outside the bounds")
    return min(missed, 1)
