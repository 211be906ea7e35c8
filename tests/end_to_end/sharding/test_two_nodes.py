"""Two nodes that only a network joins: the generated run on both, and the losses of one machine."""

import csv
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.process import (
    LIMIT_SECONDS,
    Ended,
    compile_spec,
    environment,
    read_json,
    run,
    train,
)

STEPS = 6
TOLERANCE = 1e-4  # nats per token, at every step
ADDRESSES = ("10.77.0.1", "10.77.0.2")
SPEC = {
    "model": "./model",
    "data": "tickets.csv",
    "method": "full",
    "distribution": "zero2",
    "training": {
        "max_steps": STEPS,
        "global_batch": 8,
        "micro_batch": 4,
        "learning_rate": 0.002,
        "evaluation": {"every_steps": 3},
    },
}


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of iproute2."""
    return subprocess.run(command, capture_output=True, text=True, check=False)


def missing() -> str | None:
    """Return why two namespaces cannot be joined here, None where they can."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    name = f"ftc-try-{os.getpid()}"
    made = call("ip", "netns", "add", name)
    if made.returncode != 0:
        return f"no right to make a network namespace: {made.stderr.strip()}"
    joined = call("ip", "-n", name, "link", "add", "ftc-a", "type", "veth", "peer", "name", "ftc-b")
    call("ip", "netns", "delete", name)
    return None if joined.returncode == 0 else f"no veth here: {joined.stderr.strip()}"


pytestmark = [
    pytest.mark.prove_all,
    pytest.mark.skipif((why := missing()) is not None, reason=str(why)),
]


@pytest.fixture
def nodes() -> Iterator[tuple[str, str]]:
    """Make two namespaces, each with one end of a cable and an address."""
    names = (f"ftc-{os.getpid()}-0", f"ftc-{os.getpid()}-1")
    try:
        for name in names:
            assert call("ip", "netns", "add", name).returncode == 0
        first, second = names
        ends = ("type", "veth", "peer", "name", "ftc0", "netns", second)
        assert call("ip", "-n", first, "link", "add", "ftc0", *ends).returncode == 0
        for name, address in zip(names, ADDRESSES, strict=True):
            for words in (
                ("address", "add", f"{address}/24", "dev", "ftc0"),
                ("link", "set", "ftc0", "up"),
                ("link", "set", "lo", "up"),
            ):
                assert call("ip", "-n", name, *words).returncode == 0
        yield first, second
    finally:
        for name in names:
            call("ip", "netns", "delete", name)


@pytest.fixture
def folder(tmp_path: Path, model: Path, tickets: list[list[str]]) -> Path:
    """Return a folder with a model and rows."""
    (tmp_path / "model").symlink_to(model)
    with (tmp_path / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tickets[:121])
    return tmp_path


def run_on(nodes: tuple[str, str], bundle: Path) -> list[Ended]:
    """Start run.sh on every node at once, as its README says, and wait for all."""
    started = [
        subprocess.Popen(
            ["ip", "netns", "exec", name, "./run.sh"],
            cwd=bundle,
            env=environment(
                {
                    "NODE_RANK": str(rank),
                    "MASTER_ADDR": ADDRESSES[0],
                    "GLOO_SOCKET_IFNAME": "ftc0",
                    "OMP_NUM_THREADS": "1",
                }
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for rank, name in enumerate(nodes)
    ]
    ended = []
    for process in started:
        out, err = process.communicate(timeout=LIMIT_SECONDS)
        ended.append(Ended(code=process.returncode, out=out, err=err))
    return ended


def test_two_nodes_learn_what_one_machine_learns(folder: Path, nodes: tuple[str, str]) -> None:
    """ZeRO-2 over a cable: both nodes end well, and the losses are those of two processes here."""
    here = {**SPEC, "name": "here", "hardware": "2x cpu"}
    apart = {**SPEC, "name": "apart", "hardware": {"gpu": "cpu", "count": 1, "nodes": 2}}
    together = compile_spec(folder, here, name="here.json")
    prepared = run("python", "prepare.py", cwd=together)
    assert prepared.code == 0, prepared.said
    trained = train(together)
    assert trained.code == 0, trained.said

    bundle = compile_spec(folder, apart, name="apart.json")
    first, second = run_on(nodes, bundle)

    assert first.code == 0, first.said
    assert second.code == 0, second.said
    assert "node 1 waits until training starts on 10.77.0.1" in second.out
    assert "x 2 processes" in first.out
    assert (bundle / "run/merged/config.json").is_file()
    assert (bundle / "run/report.md").is_file()
    one, two = (read_json(each / "run/train/curve.json") for each in (together, bundle))
    for name in ("train", "validation"):
        assert [step for step, _ in one[name]] == [step for step, _ in two[name]]
        for (step, here_loss), (_, apart_loss) in zip(one[name], two[name], strict=True):
            assert abs(here_loss - apart_loss) < TOLERANCE, (name, step)
