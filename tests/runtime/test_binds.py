"""What an Apptainer container must see beside the bundle and the home."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ftc.runtime.binds import CACHES, find_binds

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
    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    given = ("--data", "rows/others.csv", "--model", "org/name", "--pilot")

    found = find_binds(bundle, far, given)

    wanted = ["/opt:/opt:ro", tmp_path, far / "model", far / "rows"]
    assert found == ",".join(map(str, wanted))


def test_a_container_sees_the_caches_of_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is still to be made, outside of the home; a relative name is none."""
    bundle, disk = tmp_path / "bundle", tmp_path / "scratch"
    for folder in (bundle, disk / "hub"):
        folder.mkdir(parents=True)
    (bundle / "container.txt").write_text("train.sif\n")
    for name in ("APPTAINER_BIND", *CACHES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(disk / "hub"))
    monkeypatch.setenv("HF_HOME", str(disk / "hub" / "new" / "home"))
    monkeypatch.setenv("HF_DATASETS_CACHE", "relative")

    found = find_binds(bundle, tmp_path, ())

    assert found == f"{disk},{disk / 'hub'}"


def test_run_sh_gets_them_printed(tmp_path: Path) -> None:
    """With the standard library alone, in the bundle's folder."""
    (tmp_path / "container.txt").write_text(f"train.sif\n{ROOT}\n")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "runtime.binds", str(tmp_path), "--pilot"],
        cwd=tmp_path,
        env={
            **os.environ,
            **dict.fromkeys(("APPTAINER_BIND", *CACHES), ""),
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{ROOT.parent},{ROOT}\n"
