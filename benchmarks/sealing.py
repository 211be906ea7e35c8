"""How long training stands still while a checkpoint is sealed.

    python benchmarks/sealing.py [GIB]

Writes a checkpoint of GIB files of 1 GiB (4 by default) to a temporary folder. `hashed first`
hashes every file before training goes on, as bundles did before; `hashed in a thread` is what they
do now.
"""

import hashlib
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ftc.runtime.train.checkpoints import Sealer, list_files

GIB = int(sys.argv[1]) if len(sys.argv) > 1 else 4
BLOCK = os.urandom(2**26)


def write(checkpoint: Path) -> None:
    """Write the files of a checkpoint."""
    checkpoint.mkdir(parents=True)
    for number in range(GIB):
        with (checkpoint / f"model-{number}.safetensors").open("wb") as file:
            for _ in range(2**30 // len(BLOCK)):
                file.write(BLOCK)


def hash_synced(path: Path) -> str:
    """Return the SHA-256 of a file that is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


with tempfile.TemporaryDirectory() as folder:
    for name in ("hashed first", "hashed in a thread"):
        checkpoint = Path(folder, "checkpoint-1")
        write(checkpoint)
        sealer, started = Sealer(1), time.monotonic()
        if name == "hashed first":
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(hash_synced, list_files(checkpoint)))
        else:
            sealer.seal(checkpoint)
        stopped = time.monotonic() - started
        sealer.wait()
        ended = time.monotonic() - started
        print(f"{name}: training stands still for {stopped:.2f} s; hashed after {ended:.2f} s")
        for path in checkpoint.iterdir():
            path.unlink()
        checkpoint.rmdir()
