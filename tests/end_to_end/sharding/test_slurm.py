"""The generated job on a real Slurm cluster: two nodes, preempted, queued again, finished."""

import csv
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.process import ROOT, compile_spec, read_json, run
from tests.end_to_end.sharding.slurm import Cluster, missing, start_cluster

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

EXAMPLE = ROOT / "examples" / "slurm"
STEPS = 60
EVERY = 10
WAIT_SECONDS = 300
ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Run a cluster of two nodes; the names of its sockets may have 108 characters in all."""
    with (
        tempfile.TemporaryDirectory(prefix="ftc-", dir="/tmp") as folder,
        start_cluster(Path(folder)) as cluster,
    ):
        yield cluster


@pytest.fixture
def bundle(tmp_path: Path, model: Path, tickets: list[list[str]]) -> Path:
    """Return a bundle for one process on each of two nodes."""
    (tmp_path / "model").symlink_to(model)
    with (tmp_path / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tickets[:121])
    spec = {
        "name": "nodes",
        "model": "./model",
        "data": "tickets.csv",
        "method": "full",
        "hardware": {"gpu": "cpu", "count": 1, "nodes": 2},
        "distribution": "ddp",
        "launch": {"type": "slurm", "partition": "low"},
        "training": {
            "max_steps": STEPS,
            "global_batch": 8,
            "micro_batch": 4,
            "learning_rate": 0.002,
            "evaluation": {"every_steps": EVERY},
        },
    }
    return compile_spec(tmp_path, spec)


def wait_for_text(log: Path, text: str) -> None:
    """Wait until a job's log holds a text."""
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        if log.is_file() and text in log.read_text(encoding="utf-8", errors="replace"):
            return
        time.sleep(0.2)
    raise AssertionError(log.read_text(encoding="utf-8")[-3000:])


@pytest.mark.prove
def test_the_controller_takes_the_job(cluster: Cluster, tmp_path: Path) -> None:
    """Every #SBATCH line is one that a real sbatch reads and its controller could start."""
    shutil.copytree(EXAMPLE, tmp_path / "slurm")
    shutil.copytree(EXAMPLE.parent / "chat", tmp_path / "chat")
    done = run("ftc", "compile", tmp_path / "slurm/spec.json", "-o", tmp_path / "job", cwd=tmp_path)
    assert done.code == 0, done.said
    # this cluster has two small nodes without GPUs, and partitions of its own names
    text = (tmp_path / "job/slurm.sh").read_text()
    small = re.sub(r"(--cpus-per-task|--mem|--partition)=\S+", _smaller, text)
    (tmp_path / "job/slurm.sh").write_text(
        re.sub(r"^#SBATCH --gpus.*\n", "", small, flags=re.MULTILINE)
    )

    job = cluster.submit("--hold", "slurm.sh", cwd=tmp_path / "job")
    shown = cluster.show(job)

    assert shown["JobName"] == "llama-two-nodes"
    assert shown["NumNodes"] == "2-2"
    assert shown["TimeLimit"] == "12:00:00"
    assert shown["Account"] == "nlp"
    assert shown["Requeue"] == "1"
    assert shown["JobState"] == "PENDING"


def _smaller(option: re.Match[str]) -> str:
    """Return the option with what this cluster has."""
    return f"{option[1]}={ {'--cpus-per-task': '1', '--mem': '100M'}.get(option[1], 'low') }"


@pytest.mark.prove_all
def test_preempted_queued_again_and_finished(cluster: Cluster, bundle: Path) -> None:
    """A job of more priority takes both nodes: the run saves, queues again by itself, goes on."""
    job = cluster.submit("slurm.sh", cwd=bundle)
    log = bundle / f"slurm-{job}.log"
    wait_for_text(log, f"step {EVERY + 2} of")
    urgent = cluster.submit(
        "--partition=high", "--nodes=2", "--exclusive", "--wrap=sleep 5", cwd=bundle
    )
    assert cluster.wait_for(urgent, ENDED, WAIT_SECONDS)["JobState"] == "COMPLETED"
    shown = cluster.wait_for(job, ENDED, WAIT_SECONDS)
    said = log.read_text(encoding="utf-8", errors="replace")

    assert shown["JobState"] == "COMPLETED", said[-3000:]
    assert int(shown["Restarts"]) == 1
    assert "slurm.sh: the checkpoint is saved; the job is requeued" in said
    assert "resuming from run/train/checkpoints/checkpoint-" in said
    assert "prepare: already done" in said
    steps = [step for step, _ in read_json(bundle / "run/train/curve.json")["train"]]
    assert steps == list(range(steps[0], STEPS + 1, steps[0]))  # each logged once, of both starts
    assert (bundle / "run/report.md").is_file()
    for node in (0, 1):
        assert list(bundle.glob(f"run/logs/node-{node}/*/attempt_0/0/stdout.log"))
