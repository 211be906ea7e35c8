"""Measures the memory of generated train.py on a CPU beside its plan.

    python -m benchmarks.processor_memory [CASE ...]    # all write benchmarks/processor_memory.md

Each case is the bundle of a Llama with random weights, prepared and trained for three steps in the
environment of its run.sh, in fp32, since ftc trains in nothing else on a CPU. The process notes the
most resident memory that it had (`ru_maxrss`). Exits 1 if a run took over 1.05 of its plan, or less
than four fifths of it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import write_case
from benchmarks.gpu.cases import SHAPES, Case
from benchmarks.gpu.material import make_model
from benchmarks.rehearsals import describe_machine
from ftc.compiler.pipeline import compile_bundle, write

REPORT: Final = Path(__file__).with_suffix(".md")
LEAST: Final = 0.8  # of the plan
MOST: Final = 1.05
_STEPS: Final = 3
_GIB: Final = 2**30
_EXPORTED: Final = re.compile(r"(MALLOC_\w+)=(\d+)")
CASES: Final = (
    Case(shape="tiny", method="full", checkpointing=False, tokens=64, micro=4),
    Case(shape="small", method="full", checkpointing=False, tokens=256, micro=8),
    Case(shape="small", method="full", checkpointing=True, tokens=512, micro=2),
    Case(shape="small", method="lora", checkpointing=False, tokens=256, micro=1),
    Case(shape="small", method="lora", checkpointing=False, tokens=1024, micro=2),
    Case(shape="small", method="lora", checkpointing=True, tokens=1024, micro=4),
    Case(shape="small", method="lora", checkpointing=False, tokens=256, micro=2, objective="dpo"),
    Case(shape="0.5B", method="lora", checkpointing=True, tokens=128, micro=1),
    Case(shape="0.5B", method="lora", checkpointing=False, tokens=256, micro=2),
    Case(shape="0.5B", method="full", checkpointing=True, tokens=256, micro=1),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The bytes of a case: of its plan, expected and with the margin, and as measured."""

    case: Case
    expected_bytes: int
    planned_bytes: int
    peak_bytes: int

    @property
    def share(self) -> float:
        """What was measured, of the plan."""
        return self.peak_bytes / self.planned_bytes


def main() -> None:
    """Measure the cases that are named, or all of them for the report."""
    parser = argparse.ArgumentParser(description="The memory of a bundle on a CPU.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="a part of a case's name")
    names = parser.parse_args().cases
    chosen = [each for each in CASES if not names or any(name in each.name for name in names)]
    found = []
    with tempfile.TemporaryDirectory(prefix="ftc-memory-") as folder:
        for case in chosen:
            found.append(measure(case, Path(folder)))
            print(_row(found[-1]), flush=True)
    if not names:
        REPORT.write_text("\n".join(describe(found)) + "\n", encoding="utf-8")
    sys.exit(0 if all(LEAST <= each.share <= MOST for each in found) else 1)


def measure(case: Case, folder: Path) -> Measured:
    """Return what a case takes: compiled, prepared and trained in a folder."""
    place = folder / re.sub(r"\W+", "-", case.name)
    training = {"max_steps": _STEPS, "gradient_checkpointing": case.checkpointing}
    training |= {"global_batch": case.micro, "micro_batch": case.micro}
    path = write_case(case, place, folder, "cpu", {"training": training})
    model = folder / "weights" / case.shape
    if not model.exists():
        make_model(model, case.shape)
        shutil.copytree(place / "model", model, dirs_exist_ok=True)
    (place / "model").unlink()
    (place / "model").symlink_to(model)
    outcome = compile_bundle(str(path))
    assert outcome.plan is not None
    write(outcome)
    bundle, memory = place / "measured", outcome.plan.memory
    for script in ("prepare.py", "train.py"):
        command = [sys.executable, script]
        subprocess.run(command, cwd=bundle, env=_environment(bundle), check=True)
    return Measured(
        case=case,
        expected_bytes=memory.device_bytes - memory.margin_bytes,
        planned_bytes=memory.device_bytes,
        peak_bytes=_peak_bytes(bundle),
    )


def _environment(bundle: Path) -> Mapping[str, str]:
    """Return the environment of a stage, with what run.sh says of the allocator."""
    said = dict(_EXPORTED.findall((bundle / "run.sh").read_text(encoding="utf-8")))
    fixed = {"OMP_WAIT_POLICY": "passive", "TOKENIZERS_PARALLELISM": "false"}
    return {**os.environ, **fixed, **said}


def _peak_bytes(bundle: Path) -> int:
    curve: Mapping[str, Any] = json.loads((bundle / "run/train/curve.json").read_text("utf-8"))
    return int(curve["peak_bytes"])


def describe(found: Sequence[Measured]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# The memory of training on a CPU"
    yield ""
    yield f"`python -m benchmarks.processor_memory` {describe_machine()}"
    yield f"{_STEPS} steps in fp32, in the environment of `run.sh`; GiB of resident memory."
    yield ""
    yield "| case | expected | planned | measured | of the plan |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    yield from map(_row, found)
    yield ""
    yield from _TEXT


def _row(each: Measured) -> str:
    shape = SHAPES[each.case.shape]
    name = f"{each.case.name} ({shape['vocab_size']:,} words)"
    sizes = (each.expected_bytes, each.planned_bytes, each.peak_bytes)
    cells = " | ".join(f"{size / _GIB:.2f}" for size in sizes)
    return f"| {name} | {cells} | {each.share:.0%} |"


_TEXT: Final = (
    "*planned* is what `ftc plan` compares with the machine's memory: *expected* and a margin of",
    "12% of all but the libraries. Beside the tensors of the plan a process has 0.65 GiB of",
    "libraries, TRL's loss keeps 29 more bytes for each number of a tile of logits (it has no",
    "Triton here), and dropout keeps masks as wide as its input. glibc before 2.38 hardly uses",
    "memory again that torch has freed: 0.65 of what the layers of a pass allocate, whether they",
    "are recomputed or not.",
    "",
    "The last two numbers and the margin are fitted to eleven runs of Llamas of 0.1B to 0.5B",
    "parameters and to the runs above, on two cores with glibc 2.36. They say nothing of another",
    "kind of model, and a newer glibc was not measured. Outside of `run.sh` (`python train.py`)",
    "the heap also depends on the order in which threads free: three runs of one bundle of 0.4B",
    "took 3.48, 4.23 and 4.25 GiB, where `run.sh` took 3.40.",
)


if __name__ == "__main__":
    main()
