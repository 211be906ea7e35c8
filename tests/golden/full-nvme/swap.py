"""What lies in files of a local disk (ZeRO-Infinity), of which DeepSpeed keeps no account.

Before the model is loaded: that this machine can read and write there, with room, and that no other
run does. After a checkpoint is loaded: what DeepSpeed 0.19 leaves out of it under NVMe. It copies
the files back, and forgets the optimizer's moments, its count of steps, and all states smaller than
1 MiB, which are in no file.
"""

import fcntl
import json
import os
import shutil
from pathlib import Path

import deepspeed
from deepspeed.ops.op_builder import AsyncIOBuilder

import guard

SETTINGS = json.loads((guard.HERE / "deepspeed.json").read_text())["zero_optimization"]
FOLDER = Path(SETTINGS["offload_optimizer"]["nvme_path"])
# on each node's disk: the weights, and an fp32 master, its gradient and two moments of each trained
# one; a step moves 239.3 GiB of states, at 3 GB/s, which is an assumption
FILE_BYTES = 144544702464

load = deepspeed.DeepSpeedEngine.load_checkpoint


def begin():
    """Empty this run's folder on the disk and hold it; the first process of each node does."""
    if os.environ.get("LOCAL_RANK", "0") != "0":
        return
    if not FOLDER.parent.is_dir():
        guard.stop(f"{FOLDER.parent} is no folder: mount the disk of distribution.nvme_path there")
    if not AsyncIOBuilder().is_compatible():
        guard.stop("what reads the disk is compiled here: apt install libaio-dev g++")
    FOLDER.mkdir(exist_ok=True)
    begin.lock = (FOLDER / "lock").open("w")
    try:
        fcntl.flock(begin.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        guard.stop(f"another run of this name writes to {FOLDER}")
    shutil.rmtree(FOLDER / "zero_stage_3", ignore_errors=True)
    free_bytes = shutil.disk_usage(FOLDER).free
    if free_bytes < FILE_BYTES:
        need = f"{FILE_BYTES / 2**30:.1f} GiB and {free_bytes / 2**30:.1f} are free"
        guard.stop(f"what is offloaded to {FOLDER} needs {need}")


def load_checkpoint(engine, *args, **kwargs):
    """Load a checkpoint as DeepSpeed does, and then what it leaves out."""
    path, state = load(engine, *args, **kwargs)
    if path is not None:
        folder = Path(path).parent
        file = engine._get_zero_ckpt_name(str(folder.parent), folder.name)
        restore(engine.optimizer, engine.checkpoint_engine.load(file, map_location="cpu"))
    return path, state


def restore(sharded, read):
    """Put back the optimizer's states; those that are files are noted as there, not read."""
    saved = read["optimizer_state_dict"]
    sharded.checkpoint_event_prologue()
    sharded._set_fp32_optimizer_param_groups()
    sharded.optimizer.load_state_dict(saved["optimizer_state_dict"])
    sharded._clear_fp32_optimizer_param_groups()
    for group, master in enumerate(sharded.fp32_partitioned_groups_flat):
        if not sharded._swappable_optimizer_subgroup(group):
            master.data.copy_(saved["fp32_flat_groups"][group].data)
            sharded._reassign_or_swap_out_partitioned_parameters(group)
            continue
        states = sharded.optimizer.state[master]
        swapped = sharded.optimizer_swapper.swap_params_info[master.ds_id]
        swapped.tensors = swapped.tensors[:1]
        for name in ("exp_avg", "exp_avg_sq"):
            states[name].ds_id = f"{name}-{master.ds_id}"
        swapped.add_state_tensors([states["exp_avg"], states["exp_avg_sq"]])
    sharded.checkpoint_event_epilogue()  # small weights are whole on every process


deepspeed.DeepSpeedEngine.load_checkpoint = load_checkpoint
