"""Drift: each kind of difference between a bundle and its spec is distinguished and shown."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.write.bundle import write_bundle
from ftc.compiler.write.drift import find_drift
from ftc.compiler.write.explanations import EXPLANATIONS
from ftc.compiler.write.lock import LOCK_NAME, Lock, LockFailure

MakeLock = Callable[..., Lock]


def _files(**texts: str) -> tuple[RenderedFile, ...]:
    return tuple(
        RenderedFile(name=f"{name}.py", text=text, language="python")
        for name, text in texts.items()
    )


OLD = _files(same="1\n", edited="a\nb\n", outdated="x\ny\n", stale="s\n", missing="m\n")
NEW = _files(same="1\n", edited="a\nb\n", outdated="x\nz\n", missing="m\n")


@pytest.fixture
def folder(tmp_path: Path, lock_of: MakeLock) -> Path:
    """Return a bundle that drifted in every way."""
    write_bundle(tmp_path, OLD, lock_of(OLD), force=False)
    (tmp_path / "edited.py").write_text("a\nmine")
    (tmp_path / "missing.py").unlink()
    return tmp_path


def test_whole_bundle_has_no_drift(tmp_path: Path, lock_of: MakeLock) -> None:
    """What was just written is what would be written, and extra files do not matter."""
    write_bundle(tmp_path, OLD, lock_of(OLD), force=False)
    (tmp_path / "run").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    assert find_drift(tmp_path, OLD, lock_of(OLD)) == ()


def test_every_kind_is_told_apart(folder: Path, lock_of: MakeLock) -> None:
    """Missing, edited, outdated and stale, by name, each with its own code."""
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    drifts = find_drift(folder, NEW, lock_of(NEW))
    assert [(drift.name, drift.kind, drift.finding.code) for drift in drifts] == [
        ("edited.py", "edited", "FTC910"),
        (LOCK_NAME, "outdated", "FTC914"),
        ("missing.py", "missing", "FTC913"),
        ("outdated.py", "outdated", "FTC914"),
        ("stale.py", "stale", "FTC915"),
    ]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_diffs_are_unified(folder: Path, lock_of: MakeLock) -> None:
    """A diff goes from the disk to what a compile would write."""
    diffs = {drift.name: drift.diff for drift in find_drift(folder, NEW, lock_of(NEW))}
    assert diffs["edited.py"] == (
        "--- a/edited.py\n+++ b/edited.py\n@@ -1,2 +1,2 @@\n a\n"
        "-mine\n\\ No newline at end of file\n+b\n"
    )
    assert diffs["missing.py"] == "--- /dev/null\n+++ b/missing.py\n@@ -0,0 +1 @@\n+m\n"
    assert diffs["stale.py"] == "--- a/stale.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-s\n"


def test_another_ftc_is_told_from_an_edit(folder: Path, lock_of: MakeLock) -> None:
    """With another version's lock, files as ftc left them are that version's, edits stay edits."""
    drifts = find_drift(folder, NEW, replace(lock_of(NEW), ftc="0.2.0"))
    kinds = {drift.name: drift.kind for drift in drifts}
    assert kinds["outdated.py"] == kinds[LOCK_NAME] == "other_ftc"
    assert kinds["edited.py"] == "edited"
    said = next(drift.finding.message for drift in drifts if drift.name == "outdated.py")
    assert said == "`outdated.py` was compiled by ftc 0.1.0, and ftc 0.2.0 writes it differently"


def test_folder_without_a_bundle(tmp_path: Path, lock_of: MakeLock) -> None:
    """Without a lock every file is missing, or not ftc's."""
    (tmp_path / "same.py").write_text("other\n")
    kinds = {d.name: d.kind for d in find_drift(tmp_path / "none", OLD, lock_of(OLD))}
    assert set(kinds.values()) == {"missing"}
    assert {d.kind for d in find_drift(tmp_path, OLD, lock_of(OLD)) if d.name == "same.py"} == {
        "edited"
    }


def test_files_that_cannot_be_shown(tmp_path: Path, lock_of: MakeLock) -> None:
    """Links, folders and bytes that are no text have a kind and no lines."""
    write_bundle(tmp_path, OLD, lock_of(OLD), force=False)
    (tmp_path / "same.py").unlink()
    (tmp_path / "same.py").symlink_to(tmp_path / "edited.py")
    (tmp_path / "stale.py").unlink()
    (tmp_path / "stale.py").mkdir()
    (tmp_path / "edited.py").write_bytes(os.urandom(64) + b"\xff\x00")
    (tmp_path / "outdated.py").write_text("x" * 1_000_001)
    found = {d.name: (d.kind, d.diff) for d in find_drift(tmp_path, OLD, lock_of(OLD))}
    assert found == {
        "same.py": ("linked", ""),
        "stale.py": ("folder", ""),
        "edited.py": ("edited", "Binary file edited.py differs\n"),
        "outdated.py": ("edited", "Binary file outdated.py differs\n"),
    }


def test_damaged_lock_is_said(folder: Path, lock_of: MakeLock) -> None:
    """Drift cannot be told without a lock that reads."""
    (folder / LOCK_NAME).write_text("{")
    with pytest.raises(LockFailure):
        find_drift(folder, NEW, lock_of(NEW))


def test_pages_are_complete() -> None:
    """Codes are in their range and unique, and each page has its four parts."""
    codes = [page.code for page in EXPLANATIONS]
    assert codes == sorted(set(codes))
    assert all("FTC910" <= code <= "FTC919" for code in codes)
    for page in EXPLANATIONS:
        for part in ("What it is.", "Why it matters.", "Example.", "Use instead."):
            assert f"**{part}**" in page.text
