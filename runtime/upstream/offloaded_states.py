"""Replaces and reads private parts of DeepSpeed, so that a run with states on a disk can resume.

DeepSpeed 0.19 copies the files of ZeRO-Infinity back when it loads a checkpoint, but loses the
optimizer's moments, its count of steps, and all states smaller than 1 MiB, which are in no file.
tests/runtime/upstream/test_upstream.py fails if one of these parts has changed. DeepSpeed 0.19.8:
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.8/deepspeed/runtime/zero/stage3.py
"""

from pathlib import Path
from typing import Any

import deepspeed


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
