"""Runs a bundle's train.py on processes of a CPU that accelerate shards as it shards GPUs.

    accelerate launch --config_file accelerate.yaml shard_on_cpu.py train.py

accelerate takes FSDP up where it finds several GPUs, and starts copies on a CPU. All that is put in
its place here is that finding: processes talk by gloo, and count as devices that FSDP is for. What
comes after it is accelerate's, torch's and the Trainer's own code, with DTensors of the CPU.
"""

import os
import runpy
import sys
from typing import Any

from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType

make_state = AcceleratorState.__init__


def find_backend(*_: Any, **__: Any) -> tuple[str, DistributedType]:
    """Return gloo and processes of a CPU, whatever this machine has."""
    return "gloo", DistributedType.MULTI_CPU


def make_sharding_state(self: Any, *given: Any, fsdp_plugin: Any = None, **named: Any) -> None:
    """Make accelerate's state, with FSDP as a GPU's would have it."""
    make_state(self, *given, fsdp_plugin=fsdp_plugin, **named)
    if fsdp_plugin is not None and self.distributed_type == DistributedType.MULTI_CPU:
        self.distributed_type = DistributedType.FSDP
        PartialState._shared_state["distributed_type"] = DistributedType.FSDP
        self.fsdp_plugin = fsdp_plugin


if __name__ == "__main__":
    PartialState._prepare_backend = find_backend
    AcceleratorState.__init__ = make_sharding_state
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - a string, as Python's own first entry is
    runpy.run_path(sys.argv[0], run_name="__main__")
