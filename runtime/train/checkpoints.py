"""Checkpoints of training: sealed when they are complete, verified before they are loaded.

The last file of a checkpoint, manifest.json, lists every other file with its size and SHA-256. It
is written when all of them are on the disk, first with the sizes. A thread adds the digests while
training goes on. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..files import read_json, sync, write_json

SEAL = "manifest.json"
#: Of a larger file only the header and the end are hashed: its size shows if it was cut off.
HASHED_BYTES = 2**30
END_BYTES = 2**20


class Sealer:
    """Seals checkpoints; one thread computes digests, one checkpoint after the other."""

    def __init__(self, processes: int) -> None:
        self.processes = processes
        self._lock = threading.Lock()  # of manifests: one that is deleted is not written again
        self._thread = ThreadPoolExecutor(1)

    def seal(self, checkpoint: Path) -> None:
        """Write the manifest of a checkpoint once its files are on the disk."""
        paths = list_files(checkpoint)
        map_parallel(sync, [*paths, *{path.parent for path in paths}, checkpoint.parent])
        files = {_name(path, checkpoint): [path.stat().st_size, None] for path in paths}
        write_json(checkpoint / SEAL, {"processes": self.processes, "files": files})
        try:
            self._thread.submit(self._add_digests, checkpoint)
        except RuntimeError:  # no thread can start, for want of memory
            self._add_digests(checkpoint)

    def prune(self, newest: Path, best: str | None, keep: int) -> None:
        """Delete older checkpoints than `newest`: of the sealed ones `keep` stay, with the best.

        Later ones are damaged: training did not resume from them, and has not reached their steps.
        """
        past = [p for p in list_checkpoints(newest.parent) if step_of(p) <= step_of(newest)]
        sealed = [path for path in past if (path / SEAL).is_file()]
        names = {newest.name, Path(best or "").name}
        first = [path for path in sealed if path.name in names]
        others = [path for path in sealed if path not in first]
        kept = (first + others)[: max(keep, len(first))]
        for path in past:
            if path not in kept and path != newest:
                with self._lock:  # first the manifest: half a checkpoint must not look sealed
                    (path / SEAL).unlink(missing_ok=True)
                shutil.rmtree(path)

    def wait(self) -> None:
        """Wait until all digests are computed."""
        self._thread.shutdown()
        self._thread = ThreadPoolExecutor(1)

    def _add_digests(self, checkpoint: Path) -> None:
        with suppress(OSError, ValueError):  # pruned, or the disk is full: valid by its sizes
            noted = read_json(checkpoint / SEAL)
            for name, entry in noted["files"].items():
                entry[1] = digest(checkpoint / name)
            with self._lock:
                if (checkpoint / SEAL).is_file():
                    write_json(checkpoint / SEAL, noted)


# -----------------------------------------------------------------------------
# Find checkpoints


def step_of(checkpoint: Path) -> int:
    """Return the step of a checkpoint's folder, checkpoint-STEP."""
    return int(checkpoint.name.removeprefix("checkpoint-"))


def list_checkpoints(folder: Path) -> list[Path]:
    """Return the folders of checkpoints, the newest first, by their steps: clocks can jump."""
    found = [path for path in folder.glob("checkpoint-*") if path.name[11:].isdigit()]
    return sorted(found, key=step_of, reverse=True)


def find_sealed(folder: Path) -> Path | None:
    """Return the newest complete checkpoint."""
    found = (path for path in list_checkpoints(folder) if (path / SEAL).is_file())
    return next(found, None)


def find_valid(folder: Path, *, run_folder: Path, processes: int) -> tuple[Path | None, list[Path]]:
    """Return the newest checkpoint that training can resume from, and newer ones that are damaged.

    The best checkpoint is loaded at the end of training, so it must be valid too if it exists.
    """
    damaged: list[Path] = []
    for path in list_checkpoints(folder):
        if is_valid(path, run_folder=run_folder, processes=processes):
            state = read_json(path / "trainer_state.json")
            best = run_folder.parent / (state["best_model_checkpoint"] or "")
            is_lost = not state["best_model_checkpoint"] or not best.exists()
            if is_lost or is_valid(best, run_folder=run_folder, processes=processes):
                return path, damaged
        damaged.append(path)
    return None, damaged


def is_valid(checkpoint: Path, *, run_folder: Path, processes: int) -> bool:
    """Return whether a checkpoint lies in the run folder and its files are as they were sealed.

    A checkpoint of another number of processes is not valid.
    """
    try:
        noted = read_json(checkpoint / SEAL)
        paths = {_name(path, checkpoint): path for path in list_files(checkpoint)}
        if noted["processes"] != processes or set(paths) != set(noted["files"]):
            return False
        if not all(path.resolve().is_relative_to(run_folder.resolve()) for path in paths.values()):
            return False
        if any(paths[name].stat().st_size != size for name, (size, _) in noted["files"].items()):
            return False
        hashed = {name: known for name, (_, known) in noted["files"].items() if known}
        return map_parallel(digest, [paths[name] for name in hashed]) == [*hashed.values()]
    except (OSError, ValueError, KeyError):
        return False


# -----------------------------------------------------------------------------
# Files


def list_files(checkpoint: Path) -> list[Path]:
    """Return the files of a checkpoint without its manifest."""
    found = (path for path in checkpoint.rglob("*") if not path.is_dir())
    return sorted(path for path in found if path.name not in {SEAL, f"{SEAL}.partial"})


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, of a large one the SHA-256 of its header and its end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= HASHED_BYTES:
            return hashlib.file_digest(file, "sha256").hexdigest()
        header_bytes = int.from_bytes(file.read(8), "little")  # of a safetensors file
        hashed = hashlib.sha256(file.read(min(header_bytes, END_BYTES)))
        file.seek(-END_BYTES, os.SEEK_END)
        hashed.update(file.read())
    return f"ends:{hashed.hexdigest()}"


def map_parallel(call: Any, items: list[Path]) -> list[Any]:
    """Return `call` of each path, in threads where they can start."""
    try:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(call, items))
    except RuntimeError:
        return [call(item) for item in items]


def _name(path: Path, checkpoint: Path) -> str:
    return path.relative_to(checkpoint).as_posix()
