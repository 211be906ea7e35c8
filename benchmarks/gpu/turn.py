"""Runs a script when the GPU is free.

    accelerate launch ... turn.py SCRIPT [ARGUMENT ...]

Several runs start at the same time, since imports take longer than the steps of a pilot, and then
use the GPU one after another. Each imports what all scripts import, waits for the lock of the file
that FTC_GPU_TURN names, and holds it until its script ends. Without FTC_GPU_TURN it does not wait.
"""

import fcntl
import os
import runpy
import sys
from pathlib import Path

# Each starts its library as a whole; none of them uses the GPU.
import peft.tuners  # noqa: F401
import transformers.modeling_utils  # noqa: F401
import trl.trainer.dpo_trainer
import trl.trainer.grpo_trainer
import trl.trainer.sft_trainer  # noqa: F401

sys.argv = sys.argv[1:]
sys.path[0] = str(Path(sys.argv[0]).resolve().parent)
name = os.environ.get("FTC_GPU_TURN")
lock = Path(name).open("a") if name else None  # noqa: SIM115 - held until the process ends
if lock is not None:
    fcntl.flock(lock, fcntl.LOCK_EX)
runpy.run_path(sys.argv[0], run_name="__main__")
