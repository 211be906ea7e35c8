"""Runs the stages of a bundle on one of several nodes, which share the bundle's folder.

    python -m runtime.nodes OPTIONS --node RANK HOST:PORT -- ARGUMENTS-OF-RUN.SH <STAGES

OPTIONS are those of `runtime.supervise`. The first node, of rank 0, runs all stages. It listens on
the port when training starts. The other nodes wait for that and take part only in training.
Standard library only.
"""

import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from . import supervise

WAIT_SECONDS = 2.0  # between two attempts to reach the first node


def main(arguments: Sequence[str]) -> int:
    """Run the stages of this node; return the exit code of run.sh."""
    place = arguments.index("--node")
    _, rank, first_node = arguments[place : place + 3]
    others = [*arguments[:place], *arguments[place + 3 :]]
    if int(rank) == 0:
        return supervise.main(others)
    supervisor, options, commands = supervise.prepare(others)
    (command,) = (command for command in commands if supervise.is_training(command))
    supervisor.stage = "train.py"
    wait_for_node(supervisor, first_node, int(rank))
    return supervise.attempt(supervisor, command, options)


def wait_for_node(supervisor: supervise.Supervisor, node: str, rank: int) -> None:
    """Wait until the first node listens, which it does once its data are prepared."""
    host, _, port = node.rpartition(":")
    print(f"run.sh: node {rank} waits until training starts on {host}", flush=True)
    while True:
        supervisor.exit_if_stopped()
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=WAIT_SECONDS):
            return
        time.sleep(WAIT_SECONDS)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
