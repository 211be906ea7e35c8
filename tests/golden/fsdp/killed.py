"""Say why training ended without a word, as it does where signal 9 kills it; run.sh asks.

    python killed.py 0   # so many processes had memory cost before, as /proc/vmstat counts them

The kernel kills where the memory of the host runs out, and counts it. Fewer rows per pass would
take less of the GPU and hardly less of the host, so nothing is changed, whoever killed.
"""

import argparse
import contextlib
import json
import sys
from pathlib import Path

import guard
import journal

TRAIN = guard.RUN / "train"
HOST_BYTES = 147549863936  # the plan's memory of the host

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
sizes = f"{HOST_BYTES / 2**30:.2f} GiB of the host's memory were planned"
sealed = [path.parent.name for path in TRAIN.glob("checkpoints/checkpoint-*/manifest.json")]
last = max(sealed, key=lambda name: int(name[11:]), default=None)
if last:
    go_on = f"saved is run/train/checkpoints/{last}; ./run.sh goes on from there"
else:
    go_on = "nothing of training is saved yet: ./run.sh begins it again"
if is_counted:
    said = f"the kernel killed training after step {step:,}, as the host's memory ran out: {sizes}"
    said += "; end what else takes memory, or use a machine with more"
else:
    said = f"training ended without a word after step {step:,}, as if by signal 9: somebody's, a"
    said += f" scheduler's, or for memory: {sizes}"
said += f"; {go_on}"
print(f"run.sh: {said}", file=sys.stderr)
journal.append(guard.RUN / "stages.jsonl", stage="train", event="failed", code=1, sentence=said)
