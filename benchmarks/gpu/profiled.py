"""Runs a script of a bundle with one pass of training under PyTorch's profiler.

    accelerate launch --config_file accelerate.yaml profiled.py OUT STEP train.py --pilot

is started in the folder of a bundle. Writes OUT.txt, the operations of pass STEP by their time on
the host and on the GPU, and OUT.json.gz, its timeline, which https://ui.perfetto.dev shows.
"""

import runpy
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.profiler import ProfilerActivity, profile

_SHOWN = 40  # operations of a table


def main() -> None:
    """Run the script, and profile its step."""
    profile_step(sys.argv[1], int(sys.argv[2]))
    sys.argv = sys.argv[3:]
    sys.path[0] = str(Path.cwd())
    runpy.run_path(sys.argv[0], run_name="__main__")


def profile_step(out: str, step: int) -> None:
    """Make the Trainer profile a pass, counted from 1, and write what it found."""
    trainer: Any = transformers.Trainer
    plain: Callable[..., torch.Tensor] = trainer.training_step
    passes = count(1)

    def training_step(self: Any, *arguments: Any, **options: Any) -> torch.Tensor:
        if next(passes) != step:
            return plain(self, *arguments, **options)
        on_gpu = torch.cuda.is_available()
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
        with profile(activities=activities, record_shapes=True) as found:
            loss = plain(self, *arguments, **options)
            if on_gpu:
                torch.cuda.synchronize()
        keys = ["self_cpu_time_total", *(["self_cuda_time_total"] if on_gpu else [])]
        averages = found.key_averages()
        tables = (
            averages.table(sort_by=key, row_limit=_SHOWN, max_name_column_width=60) for key in keys
        )
        Path(f"{out}.txt").write_text("\n".join(tables), encoding="utf-8")
        found.export_chrome_trace(f"{out}.json.gz")
        return loss

    trainer.training_step = training_step


if __name__ == "__main__":
    main()
