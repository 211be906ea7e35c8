"""Prepares the folder on a local disk where ZeRO-Infinity keeps states: free space and a lock."""

import fcntl
import os
import shutil
from pathlib import Path

from deepspeed.ops.op_builder import AsyncIOBuilder

from ..files import read_json
from ..run import Run


class OffloadDisk:
    """The folder of this run on the disk, emptied and locked until the process ends.

    The first process of each node does it. `file_bytes` is what a node writes there.
    """

    def __init__(self, run: Run, *, file_bytes: int) -> None:
        settings = read_json(run.bundle / "deepspeed.json")["zero_optimization"]
        folder = Path(settings["offload_optimizer"]["nvme_path"])
        if os.environ.get("LOCAL_RANK", "0") != "0":
            return
        if not folder.parent.is_dir():
            run.stop(
                f"{folder.parent} is not a folder: mount the disk of distribution.nvme_path there"
            )
        if not AsyncIOBuilder().is_compatible():
            run.stop("DeepSpeed cannot compile its disk reader: apt install libaio-dev g++")
        folder.mkdir(exist_ok=True)
        self.lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            run.stop(f"another run of this name writes to {folder}")
        shutil.rmtree(folder / "zero_stage_3", ignore_errors=True)
        free_bytes = shutil.disk_usage(folder).free
        if free_bytes < file_bytes:
            need = f"{file_bytes / 2**30:.1f} GiB, and {free_bytes / 2**30:.1f} GiB are free"
            run.stop(f"the states offloaded to {folder} need {need}")
