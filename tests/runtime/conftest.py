"""Fixtures of the tests of runtime modules."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a disk of one MiB as the run folder."""
    folder = tmp_path / "run"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, check=False)
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a disk needs rights that are missing")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
