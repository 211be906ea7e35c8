"""Say why training ended without a word, as it does where signal 9 kills it; run.sh asks.

    python killed.py 0   # so many processes had memory cost before, as /proc/vmstat counts them

The kernel kills where memory runs out, and counts it: then a smaller batch of as many rows per step
is noted, and run.sh goes on with it. Any other kill may be somebody's will, and changes nothing.
"""

import argparse
import contextlib
import json
import sys
from pathlib import Path

import guard
import journal

TRAIN = guard.RUN / "train"
PLANNED_BYTES = 1477152000  # the plan's peak of one process, in the phase: loss
OUT_OF_MEMORY = 76  # of survival.py

parser = argparse.ArgumentParser(description="Say why training ended without a word.")
parser.add_argument("count", type=int, help="`oom_kill` of /proc/vmstat before training began")
args = parser.parse_args()


def read_records(path):
    """Return what a journal holds, but for lines that were cut."""
    found = []
    with contextlib.suppress(OSError):
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def count_kills():
    """Return how many processes memory has cost since the machine was started."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/vmstat").read_text(encoding="utf-8").splitlines()
        return int(dict(line.split() for line in lines).get("oom_kill", 0))
    return 0


events = [x["event"] for x in read_records(guard.RUN / "stages.jsonl") if x["stage"] == "train"]
is_silent = events[-1:] == ["began"]
is_counted = count_kills() > args.count
if not is_silent and not is_counted:
    raise SystemExit  # it has said itself what was wrong

# -----------------------------------------------------------------------------
# What was killed, and where it goes on

logged = [record for record in read_records(TRAIN / "log.jsonl") if "memory_bytes" in record]
step = logged[-1]["step"] if logged else 0
held_bytes = max((record["memory_bytes"] for record in logged), default=0)
sizes = f"{held_bytes / 2**30:.2f} GiB were held, {PLANNED_BYTES / 2**30:.2f} GiB were planned"
sealed = [path.parent.name for path in TRAIN.glob("checkpoints/checkpoint-*/manifest.json")]
last = max(sealed, key=lambda name: int(name[11:]), default=None)
if last:
    go_on = f"saved is run/train/checkpoints/{last}; ./run.sh goes on from there"
else:
    go_on = "nothing of training is saved yet: ./run.sh begins it again"
code, noted = 1, {"row": 0, "ladder": []}
with contextlib.suppress(OSError, ValueError):
    noted = json.loads((TRAIN / "batch.json").read_text(encoding="utf-8"))
row, ladder = noted["row"], noted["ladder"]
less = row + 1 < len(ladder)
if is_counted and less:
    code, (rows, passes) = OUT_OF_MEMORY, ladder[row + 1]
    change = {"step": step, "from": ladder[row], "to": ladder[row + 1], "held_bytes": held_bytes}
    noted["changes"].append({**change, "planned_bytes": PLANNED_BYTES})
    guard.write_json(TRAIN / "batch.json", {**noted, "row": row + 1})
if is_counted:
    said = f"the kernel killed training after step {step:,}, as memory ran out: {sizes}"
    said += f"; next with {rows} x {passes} passes, the same batch" if less else ""
else:
    said = f"training ended without a word after step {step:,}, as if by signal 9: somebody's, a"
    said += f" scheduler's, or for memory: {sizes}"
    said += f"; with `train.py --row {row + 1}` the same batch takes less" if less else ""
if not less:
    said += "; set a smaller data.max_length in the spec, or end what else takes memory"
said += f"; {go_on}"
print(f"run.sh: {said}", file=sys.stderr)
guard.write_lines(TRAIN / "exit_code.json", [f"{code}\n".encode()])
journal.append(guard.RUN / "stages.jsonl", stage="train", event="failed", code=code, sentence=said)
