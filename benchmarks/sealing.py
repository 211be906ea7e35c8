"""How long training stands still while a checkpoint is sealed.

    python benchmarks/sealing.py [GIB]

Writes a checkpoint of GIB files of 1 GiB (4 by default) to a temporary folder. `hashed first`
hashes every file before training goes on, as bundles did before; `hashed in a thread` is what they
do now.
"""

import argparse
import hashlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ftc.runtime.train.checkpoints import Sealer, list_files

BLOCK = os.urandom(2**26)


def write(checkpoint: Path, gib: int) -> None:
    """Write the files of a checkpoint."""
    checkpoint.mkdir(parents=True)
    for number in range(gib):
        with (checkpoint / f"model-{number}.safetensors").open("wb") as file:
            for _ in range(2**30 // len(BLOCK)):
                file.write(BLOCK)


def hash_synced(path: Path) -> str:
    """Return the SHA-256 of a file that is on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Seal a checkpoint in both ways, and print the times."""
    parser = argparse.ArgumentParser(
        prog="python benchmarks/sealing.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("gib", nargs="?", type=int, default=4, help="files of 1 GiB")
    gib: int = parser.parse_args().gib
    with tempfile.TemporaryDirectory() as folder:
        for name in ("hashed first", "hashed in a thread"):
            checkpoint = Path(folder, "checkpoint-1")
            write(checkpoint, gib)
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


if __name__ == "__main__":
    main()
