"""Sealed checkpoints: what counts as valid, which one is resumed from, and what is deleted."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ftc.runtime.train import checkpoints
from ftc.runtime.train.checkpoints import Sealer, find_valid, is_valid, list_checkpoints
from tests.compiler.render.stage_folders import write_checkpoint

DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda at: os.truncate(at / "optimizer.pt", 999),
    "changed": lambda at: (at / "optimizer.pt").write_bytes(b"x" * 1000),
    "enlarged": lambda at: (at / "pytorch_model.bin").write_bytes(b"x"),
    "less": lambda at: (at / "optimizer.pt").unlink(),
    "unsealed": lambda at: (at / "manifest.json").unlink(),
    "half sealed": lambda at: os.truncate(at / "manifest.json", 20),
}


def seal(*found: Path) -> None:
    """Seal checkpoints, digests included."""
    sealer = Sealer(1)
    for checkpoint in found:
        sealer.seal(checkpoint)
    sealer.wait()


def is_whole(checkpoint: Path) -> bool:
    """Return whether a checkpoint is valid for one process."""
    return is_valid(checkpoint, run_folder=checkpoint.parents[2], processes=1)


def find_newest(bundle: Path) -> str | None:
    """Return the name of the checkpoint that a run of one process resumes from."""
    folder = bundle / "run/train/checkpoints"
    found, _ = find_valid(folder, run_folder=bundle / "run", processes=1)
    return None if found is None else found.name


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_checkpoint_is_not_valid(tmp_path: Path, name: str) -> None:
    """Cut, changed, enlarged or without its manifest."""
    checkpoint = write_checkpoint(tmp_path, 1)
    seal(checkpoint)
    assert is_whole(checkpoint)

    DAMAGES[name](checkpoint)

    assert not is_whole(checkpoint)


def test_a_checkpoint_is_valid_before_its_digests_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are on the disk; a process that ends first leaves a manifest with sizes."""
    monkeypatch.setattr(Sealer, "_add_digests", lambda *_: None)
    checkpoint = write_checkpoint(tmp_path, 1)
    seal(checkpoint)

    files = json.loads((checkpoint / "manifest.json").read_text())["files"]
    assert files["optimizer.pt"] == [1000, None]
    assert is_whole(checkpoint)
    DAMAGES["cut"](checkpoint)
    assert not is_whole(checkpoint)


def test_digests_without_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If memory allows no more threads, the calling thread computes the digests."""

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", fail)
    checkpoint = write_checkpoint(tmp_path, 1)
    Sealer(1).seal(checkpoint)

    assert is_whole(checkpoint)
    DAMAGES["changed"](checkpoint)
    assert not is_whole(checkpoint)


def test_large_files_are_hashed_at_both_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The safetensors header and the last bytes show damage there; the size a cut."""
    monkeypatch.setattr(checkpoints, "HASHED_BYTES", 100)
    monkeypatch.setattr(checkpoints, "END_BYTES", 50)
    path = tmp_path / "model.safetensors"
    content = (20).to_bytes(8, "little") + b"h" * 20 + b"w" * 172
    found = set()
    for place in (None, 8, 27, 150, 199):
        changed = bytearray(content)
        if place is not None:
            changed[place] += 1
        path.write_bytes(changed)
        found.add(checkpoints.digest(path))
    path.write_bytes(content[:100] + b"x" + content[101:])  # in the middle

    assert len(found) == 5
    assert all(digest.startswith("ends:") for digest in found)
    assert checkpoints.digest(path) in found


def test_files_outside_of_the_run_folder_are_not_read(tmp_path: Path) -> None:
    """Neither a link to a file nor a link to a folder makes a valid checkpoint."""
    inside, outside = write_checkpoint(tmp_path, 1), tmp_path / "elsewhere"
    seal(inside)
    shutil.copytree(inside, outside)
    (inside / "optimizer.pt").unlink()
    (inside / "optimizer.pt").symlink_to(outside / "optimizer.pt")
    (inside.parent / "checkpoint-2").symlink_to(outside)

    assert not is_whole(inside)
    assert find_newest(tmp_path) is None


def test_a_checkpoint_of_another_number_of_processes(tmp_path: Path) -> None:
    """One process cannot resume what two have saved."""
    checkpoint = write_checkpoint(tmp_path, 1)
    sealer = Sealer(2)
    sealer.seal(checkpoint)
    sealer.wait()

    assert not is_whole(checkpoint)
    assert is_valid(checkpoint, run_folder=tmp_path / "run", processes=2)


def test_the_newest_checkpoint_is_that_of_the_latest_step(tmp_path: Path) -> None:
    """Whatever the times of the files say."""
    for step in (8, 16, 24):
        checkpoint = write_checkpoint(tmp_path, step)
        seal(checkpoint)
        for path in (checkpoint, *checkpoint.iterdir()):
            os.utime(path, (2e9 - step * 1e7, 2e9 - step * 1e7))

    Sealer(1).prune(checkpoint, None, 2)

    kept = {path.name for path in list_checkpoints(checkpoint.parent)}
    assert kept == {"checkpoint-16", "checkpoint-24"}
    assert find_newest(tmp_path) == "checkpoint-24"


def test_the_best_checkpoint_is_kept(tmp_path: Path) -> None:
    """It counts among those that are kept; one without a manifest does not."""
    for step in (8, 16, 24, 32):
        checkpoint = write_checkpoint(tmp_path, step)
        if step != 16:
            seal(checkpoint)

    Sealer(1).prune(checkpoint, "run/train/checkpoints/checkpoint-8", 2)

    kept = [path.name for path in list_checkpoints(checkpoint.parent)]
    assert kept == ["checkpoint-32", "checkpoint-8"]


def test_an_unsealed_checkpoint_deletes_nothing(tmp_path: Path) -> None:
    """While the newest is not sealed, the one before it is kept and resumed from."""
    seal(write_checkpoint(tmp_path, 8))
    newest = write_checkpoint(tmp_path, 16)

    Sealer(1).prune(newest, None, 1)

    assert len(list_checkpoints(newest.parent)) == 2
    assert find_newest(tmp_path) == "checkpoint-8"


def test_a_damaged_later_checkpoint_takes_no_place(tmp_path: Path) -> None:
    """Training resumed before it: what is saved on the way there is kept."""
    for step in (5, 10, 20):
        seal(write_checkpoint(tmp_path, step))
    (tmp_path / "run/train/checkpoints/checkpoint-20/model.safetensors").write_bytes(b"cut")
    saved = write_checkpoint(tmp_path, 15)
    seal(saved)

    Sealer(1).prune(saved, None, 1)

    kept = [path.name for path in list_checkpoints(saved.parent)]
    assert kept == ["checkpoint-20", "checkpoint-15"]
    assert find_newest(tmp_path) == "checkpoint-15"


def test_a_pruned_checkpoint_gets_no_manifest(tmp_path: Path) -> None:
    """Its digests may be ready only after it was deleted."""
    sealer = Sealer(1)
    for step in range(1, 30):
        checkpoint = write_checkpoint(tmp_path, step)
        sealer.seal(checkpoint)
        sealer.prune(checkpoint, None, 1)
    sealer.wait()

    assert [path.name for path in checkpoint.parent.iterdir()] == ["checkpoint-29"]
    assert is_whole(checkpoint)


def test_a_damaged_best_checkpoint_is_not_loaded(tmp_path: Path) -> None:
    """Training would load it at the end; if it is gone, another one is chosen."""
    best = write_checkpoint(tmp_path, 8)
    last = write_checkpoint(tmp_path, 16, "run/train/checkpoints/checkpoint-8")
    seal(best, last)
    assert find_newest(tmp_path) == "checkpoint-16"
    os.truncate(best / "model.safetensors", 10)
    assert find_newest(tmp_path) is None
    shutil.rmtree(best)
    assert find_newest(tmp_path) == "checkpoint-16"


def test_a_bundle_that_was_moved(tmp_path: Path) -> None:
    """Checkpoints, and the best one that they name, are found at the new place."""
    seal(write_checkpoint(tmp_path / "old", 8))
    seal(write_checkpoint(tmp_path / "old", 16, "run/train/checkpoints/checkpoint-8"))
    moved = Path(shutil.move(tmp_path / "old", tmp_path / "new"))

    assert find_newest(moved) == "checkpoint-16"
    os.truncate(moved / "run/train/checkpoints/checkpoint-8/optimizer.pt", 10)
    assert find_newest(moved) is None
