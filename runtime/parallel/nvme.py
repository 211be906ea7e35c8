"""States that ZeRO-Infinity keeps in files of a local disk: room for them, and resuming.

DeepSpeed 0.19 copies these files back when it loads a checkpoint, but loses the optimizer's
moments, its count of steps, and all states smaller than 1 MiB, which are in no file.
"""

import fcntl
import os
import shutil
from pathlib import Path
from typing import Any

import deepspeed
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


def restore_on_load() -> None:
    """Make DeepSpeed restore, when it loads a checkpoint, the states that it would lose."""
    load = deepspeed.DeepSpeedEngine.load_checkpoint

    def load_checkpoint(engine: Any, *args: Any, **kwargs: Any) -> Any:
        path, state = load(engine, *args, **kwargs)
        if path is not None:
            folder = Path(path).parent
            file = engine._get_zero_ckpt_name(str(folder.parent), folder.name)  # noqa: SLF001
            restore(engine.optimizer, engine.checkpoint_engine.load(file, map_location="cpu"))
        return path, state

    deepspeed.DeepSpeedEngine.load_checkpoint = load_checkpoint


def restore(sharded: Any, read: Any) -> None:
    """Restore the optimizer's states; those in files are registered, not read."""
    saved = read["optimizer_state_dict"]
    sharded.checkpoint_event_prologue()
    sharded._set_fp32_optimizer_param_groups()  # noqa: SLF001
    sharded.optimizer.load_state_dict(saved["optimizer_state_dict"])
    sharded._clear_fp32_optimizer_param_groups()  # noqa: SLF001
    for group, master in enumerate(sharded.fp32_partitioned_groups_flat):
        if not sharded._swappable_optimizer_subgroup(group):  # noqa: SLF001
            master.data.copy_(saved["fp32_flat_groups"][group].data)
            sharded._reassign_or_swap_out_partitioned_parameters(group)  # noqa: SLF001
            continue
        states = sharded.optimizer.state[master]
        swapped = sharded.optimizer_swapper.swap_params_info[master.ds_id]
        swapped.tensors = swapped.tensors[:1]
        for name in ("exp_avg", "exp_avg_sq"):
            states[name].ds_id = f"{name}-{master.ds_id}"
        swapped.add_state_tensors([states["exp_avg"], states["exp_avg_sq"]])
    sharded.checkpoint_event_epilogue()  # small weights are whole on every process
