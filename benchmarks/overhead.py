"""Measures what a generated train.py costs per step beside plain TRL with the same settings.

    python -m benchmarks.overhead [--rounds 5]     # writes benchmarks/overhead.md

Each round runs the train.py of a miniature, and the same Trainer without what the bundle adds
(`steps.py`). The difference of two runs is smaller than the noise of a shared machine, so the calls
of the bundle's own code are timed by themselves too. Exits 1 if they take more than 2% of a step of
50 ms, which is a fast one on a GPU.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.bundles import write_case
from benchmarks.gpu.cases import Case
from benchmarks.gpu.material import make_model
from benchmarks.rehearsals import describe_machine
from ftc.compiler.pipeline import compile_bundle, write

HERE: Final = Path(__file__).resolve().parent
STEP_SECONDS: Final = 0.05
MOST_SHARE: Final = 0.02  # of such a step
_STEPS: Final = 300
_WARM: Final = 20  # steps that count for nothing
_ARMS: Final = ("bundle", "plain")
_EACH_STEP: Final = ("note_pass", "on_pre_optimizer_step", "on_step_end")
_SOMETIMES: Final = {"on_log": "a line of log.jsonl", "on_save": "sealing a checkpoint"}
_CASE: Final = Case(shape="tiny", method="full", checkpointing=False, tokens=64, micro=4)

Spans = Sequence[Sequence[float]]


def main() -> None:
    """Measure, write the report beside this file, and exit 1 if the bound is broken."""
    parser = argparse.ArgumentParser(description="The cost of a bundle's own code per step.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    found: dict[str, list[Mapping[str, Any]]] = {arm: [] for arm in _ARMS}
    with tempfile.TemporaryDirectory(prefix="ftc-overhead-") as name:
        bundle = make_bundle(Path(name))
        for _ in range(rounds):
            for arm in _ARMS:
                found[arm].append(measure(bundle, arm))
    share = own_seconds(found["bundle"]) / STEP_SECONDS
    text = "\n".join(describe(found, share)) + "\n"
    (HERE / "overhead.md").write_text(text, encoding="utf-8")
    print(text)
    sys.exit(0 if share <= MOST_SHARE else 1)


def make_bundle(folder: Path) -> Path:
    """Return a prepared bundle of a miniature, which trains on a CPU."""
    case = folder / "case"
    path = write_case(_CASE, case, folder, "cpu", {"training": {"max_steps": _STEPS}})
    described = (case / "model").resolve()
    (case / "model").unlink()
    make_model(case / "model", _CASE.shape)
    shutil.copytree(described, case / "model", dirs_exist_ok=True)
    write(compile_bundle(str(path)))
    bundle = case / "measured"
    subprocess.run([sys.executable, "prepare.py"], cwd=bundle, check=True, capture_output=True)
    return bundle


def measure(bundle: Path, arm: str) -> Mapping[str, Any]:
    """Return the report of one run, from the beginning."""
    report = bundle.parent / "report.json"
    shutil.rmtree(bundle / "run" / "train", ignore_errors=True)
    command = [sys.executable, str(HERE / "steps.py"), str(report), arm, str(bundle / "train.py")]
    fixed = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    subprocess.run(
        command, cwd=bundle, env={**os.environ, **fixed}, check=True, capture_output=True
    )
    found: Mapping[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return found


def median(spans: Spans, clock: int) -> float:
    """Return the median of spans by one of the two clocks: 0 the wall's, 1 the processor's."""
    return statistics.median(span[clock] for span in spans)


def own_seconds(reports: Sequence[Mapping[str, Any]]) -> float:
    """Return the seconds of the bundle's own code in a usual step; there is one pass a step."""
    return sum(median(join(reports, name), 0) for name in _EACH_STEP)


def join(reports: Sequence[Mapping[str, Any]], name: str) -> Spans:
    """Return the calls of a method in all runs."""
    return [span for report in reports for span in report["calls"][name]]


def describe(found: Mapping[str, Sequence[Mapping[str, Any]]], share: float) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# What a bundle costs per step"
    yield ""
    yield f"`python -m benchmarks.overhead --rounds {len(found['plain'])}` {describe_machine()}"
    yield f"A miniature, {_STEPS} steps of four rows of 64 tokens, one thread; milliseconds."
    yield ""
    yield "| a step, median | wall | processor |"
    yield "| --- | ---: | ---: |"
    for arm, words in zip(_ARMS, ("train.py of the bundle", "plain TRL"), strict=True):
        steps = [span for report in found[arm] for span in report["steps"][_WARM:]]
        yield f"| {words} | {median(steps, 0) * 1e3:.2f} | {median(steps, 1) * 1e3:.2f} |"
    yield ""
    yield "| of it the bundle's own code, median of a call | wall | processor | calls in a run |"
    yield "| --- | ---: | ---: | ---: |"
    for name in (*_EACH_STEP, *_SOMETIMES):
        spans = join(found["bundle"], name)
        words = f"`{name}`" + (f": {_SOMETIMES[name]}" if name in _SOMETIMES else "")
        times = f"{median(spans, 0) * 1e3:.3f} | {median(spans, 1) * 1e3:.3f}"
        yield f"| {words} | {times} | {len(spans) // len(found['bundle'])} |"
    yield ""
    own = f"{own_seconds(found['bundle']) * 1e3:.3f} ms"
    yield f"Every step has the first three: {own}, {share:.2%} of 50 ms (bound: 2%)."
    yield ""
    yield from _ON_A_GPU


_ON_A_GPU: Final = (
    "A line of the log is written fifty times in a run, and in between at most every ten seconds.",
    "On a terminal the line of progress is rewritten after each step. The processor's time of two",
    "arms differs by up to a millisecond from run to run on a shared machine.",
    "",
    "On a GPU the steps also wait for the device. TRL's `compute_loss` reads numbers after each",
    "forward pass, and the Trainer's own filter of losses, on by default, after each backward",
    "pass. A bundle turns the filter off and reads the losses of all passes at once, before the",
    "optimizer steps: of `n` passes it waits `n - 1` times less than plain TRL. Only a pilot",
    "synchronizes the device after a step, and nothing empties the cache.",
)


if __name__ == "__main__":
    main()
