"""Run a case on two real processes that talk by gloo: python -m tests.runtime.parallel.on_two CASE.

A case is a module of this folder with a function `find`. Each process works in the current folder,
as a bundle does, and writes what it found to RANK.json.
"""

import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

PROCESSES: Final = 2


def main(name: str) -> int:
    """Fork the processes, and return the greatest of their exit codes."""
    case = import_module(f"tests.runtime.parallel.{name}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    forks = []
    for rank in range(PROCESSES):
        fork = os.fork()
        if fork == 0:
            own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": PROCESSES, "MASTER_PORT": port}
            os.environ.update({key: str(value) for key, value in own.items()})
            os.environ["MASTER_ADDR"] = "127.0.0.1"
            Path(f"{rank}.json").write_text(json.dumps(case.find()), encoding="utf-8")
            return 0
        forks.append(fork)
    return max(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]) for fork in forks)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
