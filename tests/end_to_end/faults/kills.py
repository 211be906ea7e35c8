"""Runs that are killed at random moments, again and again, and come to what one run comes to.

    python -m tests.end_to_end.faults.kills FOLDER --methods full lora qlora zero2 --report kills.md

A round starts `run.sh`, waits for a stage, lets a random time of it pass, kills every process of
the run with SIGKILL, and so on; then the run goes to its end, and every trained tensor, merged
weight and GGUF file must have the bits of a run that nothing disturbed. The seed decides when.
"""

import argparse
import hashlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.process import QUICKSTART, compile_spec, environment, run

SPECS: dict[str, dict[str, Any]] = {
    "full": {"method": "full"},
    "lora": {"method": "lora"},
    "qlora": {"method": "qlora"},
    "zero2": {
        "method": "lora",
        "hardware": "2x cpu",
        "distribution": {"strategy": "zero2"},
    },
}
#: In the order of a run, so that each kill meets work that is not done yet.
STAGES = (
    *("prepare", "train", "checkpoint", "train", "checkpoint"),
    *("merge", "quantize", "quantize"),
)
SPAN_SECONDS = {
    "prepare": 6.0,
    "train": 20.0,
    "checkpoint": 0.1,
    "merge": 8.0,
    "quantize": 15.0,
}
STEPS, EVERY, ROWS = 24, 6, 200
PRODUCTS = ("train/model/*.safetensors", "merged/*.safetensors", "quantize/*.gguf", "data/*.jsonl")
LIMIT_SECONDS = 900
_MARK = "FTC_KILLED_RUN"
_numbers = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One kill: the stage that was aimed at, what was at work, and what it left behind."""

    aim: str
    seconds: float
    struck: str
    half_checkpoint: bool


def make_bundle(folder: Path, method: str, model: Path, export: Sequence[str] = ()) -> Path:
    """Compile a small run of a method."""
    (folder / "model").symlink_to(model)
    lines = (QUICKSTART / "tickets.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "tickets.csv").write_text("".join(lines[: ROWS + 1]), encoding="utf-8")
    training = {
        "max_steps": STEPS,
        "global_batch": 8,
        "learning_rate": 0.002,
        "evaluation": {"every_steps": EVERY},
    }
    parts = {"model": "./model", "data": "tickets.csv", "hardware": "cpu", "training": training}
    spec = {"name": method, **parts, "export": list(export), **SPECS[method]}
    return compile_spec(folder, spec)


def finish(bundle: Path) -> dict[str, str]:
    """Run a bundle to its end; return the SHA-256 of what it made."""
    ended = run("./run.sh", cwd=bundle, cold=True)
    assert ended.code == 0, ended.said
    files = [path for pattern in PRODUCTS for path in (bundle / "run").glob(pattern)]
    assert files
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}


def kill_along(bundle: Path, stages: Sequence[str], draw: random.Random) -> Iterator[Kill]:
    """Start a run once for each stage, and kill it there."""
    for stage in stages:
        mark = f"{os.getpid()}-{next(_numbers)}"
        with bundle.with_suffix(".log").open("ab") as log:
            started = subprocess.Popen(
                ["./run.sh"],
                cwd=bundle,
                env=environment({_MARK: mark}),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait_for(bundle, stage, mark, started)
            seconds = draw.uniform(0, SPAN_SECONDS[stage])
            time.sleep(seconds)
        finally:
            struck = _kill_all(mark)
            started.wait()
        half = any(not (path / "manifest.json").exists() for path in _checkpoints(bundle))
        if struck:
            yield Kill(aim=stage, seconds=seconds, struck=struck, half_checkpoint=half)


def _name_stage(words: Sequence[str]) -> str:
    """Return the stage that a command runs, "" for a command that runs none."""
    scripts = [word for word in words if word.endswith(".py")]
    name = Path(scripts[-1]).stem if scripts else ""
    if name == "export":
        return "merge" if "--merge" in words else "quantize"
    return name


def _checkpoints(bundle: Path) -> Iterator[Path]:
    return (bundle / "run/train/checkpoints").glob("checkpoint-*")


def _wait_for(bundle: Path, stage: str, mark: str, started: subprocess.Popen[bytes]) -> None:
    """Wait until a stage is at work, or a checkpoint is being written, or the run is over."""
    before = set(_checkpoints(bundle))
    for _ in range(LIMIT_SECONDS * 100):
        if started.poll() is not None:
            return
        if stage == "checkpoint":
            if set(_checkpoints(bundle)) - before:
                return
        elif any(stage == _name_stage(words) for _, words in _find(mark)):
            return
        time.sleep(0.01)
    raise AssertionError(bundle.with_suffix(".log").read_text(encoding="utf-8")[-3000:])


def _find(mark: str) -> list[tuple[int, list[str]]]:
    """Return number and command of each process of a run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"{_MARK}={mark}".encode() in (entry / "environ").read_bytes():
                    words = (entry / "cmdline").read_bytes().decode().split("\0")
                    found.append((int(entry.name), words))
            except OSError:
                continue
    return found


def _kill_all(mark: str) -> str:
    """Kill every process of a run at once; return the stage that was running, or ""."""
    struck = ""
    while found := _find(mark):
        for number, words in found:
            struck = _name_stage(words) or struck
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if all(not words[0] for _, words in found):  # what is left has ended already
            break
        time.sleep(0.01)
    return struck


def play_round(
    reference: Path, wanted: dict[str, str], stages: Sequence[str], seed: int
) -> list[Kill]:
    """Kill a copy of a bundle along its stages, finish it, and hold it to what was wanted."""
    bundle = reference.with_name(f"{reference.name}-{seed}")
    ignored = shutil.ignore_patterns("run")
    shutil.copytree(reference, bundle, ignore=ignored)
    kills = list(kill_along(bundle, stages, random.Random(seed)))  # noqa: S311
    assert finish(bundle) == wanted, [seed, kills]
    shutil.rmtree(bundle / "run")
    return kills


def main() -> None:
    """Play rounds, and write a report of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--methods", nargs="+", choices=SPECS, default=list(SPECS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--report", type=Path, required=True)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    model = args.folder.resolve() / "model"
    if not model.exists():
        made = run(sys.executable, QUICKSTART / "make_model.py", "--out", model, cwd=args.folder)
        assert made.code == 0, made.said
    for method in args.methods:
        folder = args.folder.resolve() / method
        folder.mkdir()
        bundle = make_bundle(folder, method, model, ["Q8_0"])
        wanted = finish(bundle)
        for seed in args.seeds:
            kills = play_round(bundle, wanted, STAGES, seed)
            rows = [
                {"method": method, "seed": seed, **asdict(kill), "seconds": round(kill.seconds, 2)}
                for kill in kills
            ]
            with args.report.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            sys.stdout.write(f"{method}, seed {seed}: {len(kills)} kills, the same bits\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
