"""What an Apptainer container must see beside the bundle and the home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.runtime.binds import find_binds

ROOT = Path(__file__).parents[2]


def test_a_container_sees_what_is_outside_of_the_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders of data and models, also behind a link; the user's own binds stay."""
    bundle, far = tmp_path / "bundle", tmp_path / "far"
    for folder in (bundle, far / "model", far / "rows"):
        folder.mkdir(parents=True)
    (tmp_path / "rows.csv").touch()
    (far / "rows" / "others.csv").touch()
    (tmp_path / "model").symlink_to(far / "model")
    (bundle / "container.txt").write_text("train.sif\n../rows.csv\n../model\n/none/there\n")
    monkeypatch.setenv("APPTAINER_BIND", "/opt:/opt:ro")
    given = ("--data", "rows/others.csv", "--model", "org/name", "--pilot")

    found = find_binds(bundle, far, given)

    wanted = ["/opt:/opt:ro", tmp_path, far / "model", far / "rows"]
    assert found == ",".join(map(str, wanted))


def test_run_sh_gets_them_printed(tmp_path: Path) -> None:
    """With the standard library alone, in the bundle's folder."""
    (tmp_path / "container.txt").write_text(f"train.sif\n{ROOT}\n")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "runtime.binds", str(tmp_path), "--pilot"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "APPTAINER_BIND": ""},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{ROOT.parent},{ROOT}\n"
