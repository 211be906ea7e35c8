"""Train bundles, each until it is told to stop and then to its end, in two processes.

    python -m tests.end_to_end.methods.run_tracked PACKAGES BUNDLE...

PACKAGES is a folder of trackers that this environment has not: its own packages come first. Prints
the exit codes of each bundle's two trainings, as JSON. Every training is a fork of this process,
which has imported what takes long, and ends as a process of its own.
"""

import json
import os
import signal
import site
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

from tests.end_to_end.stages import run_stage

STOP_AT = 5


def tell_to_stop(log: Path) -> None:
    """Send this process what a scheduler sends, once a few steps were logged."""
    while not log.is_file() or len(log.read_bytes().splitlines()) <= STOP_AT:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGTERM)


def train(bundle: Path, *, stop: bool) -> int:
    """Train a bundle in a process of its own, preparing its data first; return the exit code."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if stop:
        run_stage(bundle, "prepare.py")
        log = bundle / "run/train/log.jsonl"
        threading.Thread(target=tell_to_stop, args=(log,), daemon=True).start()
        run_stage(bundle, "train.py")
    else:
        run_stage(bundle, "train.py", "--row", "1")
    sys.exit(0)


def main(packages: str, *bundles: str) -> None:
    """Train each, and print how its trainings ended."""
    site.addsitedir(packages)
    for name in ("torch", "datasets", "trl"):
        import_module(name)
    folders = [Path(name) for name in bundles]
    codes = {each.name: [train(each, stop=stop) for stop in (True, False)] for each in folders}
    sys.stdout.write(json.dumps(codes) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
