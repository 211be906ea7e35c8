"""What the shared modules of a bundle do where nothing can be written: real small file systems."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compiler.render.stage_folders import run_cases, run_in


@pytest.fixture
def small_disk(bundle: Path) -> Iterator[Path]:
    """Mount a disk of one MiB as the run folder."""
    folder = bundle / "run"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, check=False)
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a disk needs rights that are not there")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk(bundle: Path, small_disk: Path) -> None:
    """A stage ends in one sentence, and what was whole is still whole."""
    first = run_in(bundle, "import guard\nguard.write_rows(guard.RUN / 'rows', [1])")
    again = run_in(bundle, "import guard\nguard.write_rows(guard.RUN / 'rows', ['x' * 2**21])")

    assert first.code == 0, first.err
    assert again.code == 1
    assert again.err.count("\n") == 1
    assert "the disk is full" in again.err
    assert (small_disk / "rows").read_text() == "1\n"


def test_a_full_disk_at_a_checkpoint(bundle: Path, small_disk: Path) -> None:
    """The libraries' own errors, which lose the number, are told as what they are."""
    (small_disk / "train").mkdir()
    saves = ("torch.save({'a': big}, at)", "save_file({'a': big}, at)")
    cases = run_cases(
        bundle,
        *(
            "from safetensors.torch import save_file\n"
            "at, big = str(survival.guard.RUN / 'big'), torch.zeros(2**20)\n"
            f"try:\n    {save}\n"
            "except Exception as error:\n    survival.explain(error, None, 0, [[1, 1]], 0)\n"
            "    raise\n"
            for save in saves
        ),
    )

    for ended in cases:
        assert ended.code == 1
        assert ended.err.count("\n") == 1
        assert f"{small_disk}: the disk is full; nothing of training is saved yet" in ended.err


def test_a_folder_that_can_only_be_read(bundle: Path, small_disk: Path) -> None:
    """A stage says so when it takes the lock, before any work."""
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    ended = run_in(bundle, "import guard\nguard.lock()")

    assert ended.code == 1
    assert "the folder can only be read; mend that and start again" in ended.err
    assert ended.err.count("\n") == 1
