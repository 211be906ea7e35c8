"""Reduces the micro-batch after the kernel killed training on a CPU for memory.

The next start reads run/train/batch.json; the global batch stays the same. Standard library only.
"""

from __future__ import annotations

from pathlib import Path

from .exit_codes import OUT_OF_MEMORY
from .files import read_object, write_json


def reduce_batch(path: Path, step: int, used_bytes: int, *, for_memory: bool) -> tuple[int, str]:
    """Write the next smaller micro-batch if memory ran out; return an exit code and a sentence.

    `path` is batch.json in the folder of training. `used_bytes` is the most memory that was used.
    """
    planned_bytes = read_object(path.parents[2] / "plan.json").get("memory_bytes", 0)
    sizes = f"{used_bytes / 2**30:.2f} GiB were used, {planned_bytes / 2**30:.2f} GiB were planned"
    noted = {"row": 0, "ladder": [], "changes": [], **read_object(path)}
    row, ladder = noted["row"], noted["ladder"]
    if row + 1 >= len(ladder):
        return 1, f"{sizes}; set a smaller data.max_length, or stop other programs that use memory"
    if not for_memory:
        return 1, f"{sizes}; `train.py --row {row + 1}` trains the same batch in less memory"
    rows, passes = ladder[row + 1]
    change = {"step": step, "from": ladder[row], "to": ladder[row + 1]}
    change |= {"held_bytes": used_bytes, "planned_bytes": planned_bytes}
    write_json(path, {**noted, "row": row + 1, "changes": [*noted["changes"], change]})
    return OUT_OF_MEMORY, f"{sizes}; next with {rows} x {passes} passes, the same batch"
