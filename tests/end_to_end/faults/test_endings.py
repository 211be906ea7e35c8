"""Runs that end early by themselves: for memory, a loss that is no number, a rank that hangs."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import torch
from safetensors.torch import load_file, save_file

from ftc.runtime.exit_codes import DIVERGED, HUNG, PREEMPTED
from tests.end_to_end.process import compile_spec, environment, read_json, read_rows, run

pytestmark = pytest.mark.prove

WAIT_SECONDS: Final = 300
RATE: Final = {"learning_rate": 0.002}


def make_bundle(
    folder: Path, model: Path, tickets: list[list[str]], rows: int, spec: Mapping[str, Any]
) -> Path:
    """Compile a full fine-tune on so many tickets."""
    shutil.copytree(model, folder / "model")
    lines = [f'"{text.replace(chr(34), "")}",{intent}' for text, intent in tickets[: rows + 1]]
    (folder / "tickets.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    parts = {"model": "./model", "data": "tickets.csv", "hardware": "cpu", "method": "full"}
    return compile_spec(folder, {"name": "ends", **parts, "export": [], **spec})


@contextmanager
def started(bundle: Path, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start `run.sh`, which says its words into a file; nothing of it outlives the block."""
    with bundle.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            ["./run.sh"], cwd=bundle, env=environment(more), stdout=log, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.kill()
        for number in find_trainers(bundle):
            os.kill(number, signal.SIGKILL)
        process.wait()


def wait_until(bundle: Path, condition: Callable[[], bool]) -> None:
    """Look again and again, until something is so."""
    for _ in range(WAIT_SECONDS * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(log_of(bundle)[-3000:])


def log_of(bundle: Path) -> str:
    """Return what was printed so far."""
    return bundle.with_suffix(".log").read_text(encoding="utf-8")


def find_trainers(bundle: Path) -> dict[int, str]:
    """Return the rank of each `train.py` that works in this bundle by the number of its process."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            here = (entry / "cwd").resolve() == bundle.resolve()
            names = dict(x.split("=", 1) for x in (entry / "environ").read_text().split("\0") if x)
        except (OSError, ValueError):
            continue
        if here and b"train.py" in words and b"launch" not in words:
            found[int(entry.name)] = names.get("RANK", "0")
    return found


def data_bytes(process: int) -> int:
    """Return how much private memory a process has asked for, which RLIMIT_DATA counts."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))


def test_memory_runs_out(tmp_path: Path, model: Path, tickets: list[list[str]]) -> None:
    """Under a real limit the first batch fails and a smaller one of as many rows ends the run.

    The rows are about as long as each other, so that every step needs about as much memory.
    """
    training = {"max_steps": 5, "global_batch": 256, "micro_batch": 256, **RATE}
    spec = {"training": {**training, "evaluation": {"every_steps": 2}}}
    by_length = sorted(tickets[1:], key=lambda ticket: len(ticket[0]))
    alike = by_length[len(by_length) * 3 // 4 :][:420]
    bundle = make_bundle(tmp_path, model, [tickets[0], *alike], len(alike), spec)
    sealed = bundle / "run/train/checkpoints/checkpoint-2/manifest.json"
    held = 0
    with started(bundle) as process:
        wait_until(bundle, lambda: sealed.exists() or process.poll() is not None)
        held = data_bytes(next(iter(find_trainers(bundle))))
        process.terminate()
        assert process.wait(WAIT_SECONDS) == PREEMPTED, log_of(bundle)[-3000:]
    limit = held - 600 * 2**20  # half a batch less would be 1,100 MiB less

    command = f"ulimit -d {limit // 1024} && exec ./run.sh"
    ended = run("bash", "-c", command, cwd=bundle, cold=True)  # a fork has no such limit

    assert ended.code == 0, ended.said
    noted = read_json(bundle / "run/train/batch.json")
    rows, passes = noted["ladder"][noted["row"]]
    assert noted["row"] >= 1
    assert rows * passes == 256
    assert noted["changes"][0]["from"] == [256, 1]
    assert "out of memory at step" in ended.err
    assert "with 256 rows per pass" in ended.err
    assert "next with 128 x 2 passes, the same batch" in ended.err
    assert f"a step is {rows} rows x {passes} passes" in ended.out
    assert ended.out.count("resuming from run/train/checkpoints/checkpoint-") >= 2
    assert "Out of memory after step" in (bundle / "run/report.md").read_text(encoding="utf-8")


def test_a_poisoned_weight(tmp_path: Path, model: Path, tickets: list[list[str]]) -> None:
    """A word whose vector is infinite ends the run at its step, with its row and the checkpoint."""
    training = {"max_steps": 8, "global_batch": 16, **RATE, "evaluation": {"every_steps": 1}}
    bundle = make_bundle(tmp_path, model, tickets, 120, {"training": training})
    prepared = run("python", "prepare.py", cwd=bundle)
    assert prepared.code == 0, prepared.said
    parts = {name: read_rows(bundle / f"run/data/{name}.jsonl") for name in ("train", "validation")}
    counted = Counter(x for part in parts.values() for row in part for x in set(row["input_ids"]))
    number, row = next(
        (number, row)
        for number, row in enumerate(parts["train"], 1)
        if number > 40 and any(counted[x] == 1 for x in row["input_ids"])
    )
    alone = next(x for x in row["input_ids"] if counted[x] == 1)
    weights = load_file(tmp_path / "model/model.safetensors")
    weights["model.embed_tokens.weight"][alone, 0] = torch.inf
    save_file(weights, tmp_path / "model/model.safetensors", metadata={"format": "pt"})

    ended = run("./run.sh", cwd=bundle)

    said = next(line for line in ended.err.splitlines() if line.startswith("train.py: step "))
    step = int(said.split()[2].rstrip(":"))
    lines = json.loads(ended.err.partition("has the lines ")[2].partition(" of")[0])
    assert ended.code == DIVERGED, ended.said
    assert "the loss of pass " in said
    assert number in lines
    if step > 1:
        assert f"run/train/checkpoints/checkpoint-{step - 1} is saved: ./run.sh resumes" in said
    else:
        assert said.endswith("no checkpoint is saved yet: ./run.sh starts again")
    assert not (bundle / "run/merged").exists()
    stages = [record["stage"] for record in read_rows(bundle / "run/stages.jsonl")]
    assert set(stages) == {"prepare", "train"}


def test_a_rank_that_hangs(tmp_path: Path, model: Path, tickets: list[list[str]]) -> None:
    """One of two processes stands still: the job ends by itself, and names it."""
    training = {"max_steps": 500, "global_batch": 4, **RATE}
    spec = {"hardware": "2x cpu", "distribution": {"strategy": "ddp"}, "training": training}
    bundle = make_bundle(tmp_path, model, tickets, 120, spec)
    with started(bundle, HUNG_SECONDS="12", TORCH_ELASTIC_SHUTDOWN_TIMEOUT="1") as process:
        wait_until(bundle, lambda: "training loss" in log_of(bundle) or process.poll() is not None)
        ranks = find_trainers(bundle)
        hung = next((number for number, rank in ranks.items() if rank == "1"), None)
        assert hung is not None, log_of(bundle)[-3000:]
        os.kill(hung, signal.SIGSTOP)
        code = process.wait(WAIT_SECONDS)

    assert code == HUNG, log_of(bundle)[-3000:]
    assert "no process made progress for 12 s" in log_of(bundle)
    assert f"no heartbeat of rank 1 (process {hung} on " in log_of(bundle)
    assert not (bundle / "run/merged").exists()
