"""Writing a bundle: only ftc's own files change, and conflicting files are named."""

import fcntl
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.write.bundle import (
    RECORD_NAME,
    STAGING_NAME,
    Written,
    write_bundle,
)
from ftc.compiler.write.conflict import Conflict
from ftc.compiler.write.disk import BundleInUse, DiskFailure
from ftc.compiler.write.lock import (
    LOCK_NAME,
    Lock,
    LockFailure,
    dump_lock,
    hash_text,
    read_lock,
)

MakeLock = Callable[..., Lock]
Write = Callable[..., Written]


def _files(texts: Mapping[str, str]) -> tuple[RenderedFile, ...]:
    return tuple(
        RenderedFile(name=name, text=text, language="text", executable=name.endswith(".sh"))
        for name, text in texts.items()
    )


def _on_disk(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes().decode()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != LOCK_NAME
    }


@pytest.fixture
def write(tmp_path: Path, lock_of: MakeLock) -> Write:
    """Return a writer of a whole bundle into `tmp_path / "b"`."""

    def run(texts: Mapping[str, str], *, force: bool = False) -> Written:
        files = _files(texts)
        return write_bundle(tmp_path / "b", files, lock_of(files), force=force)

    return run


OLD = {"train.py": "old\n", "run.sh": "#!/bin/sh\n", "gone.json": "{}\n", "same.md": "caf\u00e9\n"}
NEW = {"train.py": "new\n", "run.sh": "#!/bin/sh\n", "more.py": "more\n", "same.md": "caf\u00e9\n"}


def test_first_write_creates_everything(tmp_path: Path, write: Write) -> None:
    """All files arrive byte for byte, the script executable, and nothing else is left."""
    written = write(OLD)
    assert written.created == ("ftc.lock.json", "gone.json", "run.sh", "same.md", "train.py")
    assert written.replaced == written.unchanged == written.removed == ()
    assert _on_disk(tmp_path / "b") == OLD
    assert os.access(tmp_path / "b" / "run.sh", os.X_OK)
    assert not os.access(tmp_path / "b" / "train.py", os.X_OK)
    lock = read_lock(tmp_path / "b")
    assert lock is not None
    assert set(lock.files) == set(OLD)


def test_second_write_touches_only_what_differs(tmp_path: Path, write: Write) -> None:
    """Files that are right keep their time stamp; files of the old bundle alone are removed."""
    write(OLD)
    bundle = tmp_path / "b"
    (bundle / "run").mkdir()
    (bundle / "run" / "curve.json").write_text("[]")
    (bundle / "notes.txt").write_text("mine")
    before = (bundle / "same.md").stat().st_mtime_ns
    written = write(NEW)
    assert written.created == ("more.py",)
    assert written.replaced == ("ftc.lock.json", "train.py")
    assert written.unchanged == ("run.sh", "same.md")
    assert written.removed == ("gone.json",)
    assert (bundle / "same.md").stat().st_mtime_ns == before
    assert _on_disk(bundle) == {**NEW, "run/curve.json": "[]", "notes.txt": "mine"}


def test_same_write_twice_changes_nothing(tmp_path: Path, write: Write) -> None:
    """A compile of the same spec leaves every time stamp, the lock's included."""
    write(OLD)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "b").iterdir()}
    written = write(OLD)
    assert written.created == written.replaced == written.removed == ()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "b").iterdir()} == before


def test_nested_files_and_their_folders(tmp_path: Path, write: Write) -> None:
    """A file in a folder is written, and the folder goes with its last file."""
    write({"a/b/c.txt": "1\n", "d.txt": "2\n"})
    assert (tmp_path / "b" / "a" / "b" / "c.txt").read_text() == "1\n"
    write({"d.txt": "2\n"})
    assert not (tmp_path / "b" / "a").exists()


def test_lost_mode_is_restored(tmp_path: Path, write: Write) -> None:
    """A script that lost its executable bit gets it back without `force`."""
    write(OLD)
    (tmp_path / "b" / "run.sh").chmod(0o644)
    if os.access(tmp_path / "b" / "run.sh", os.X_OK):
        pytest.skip("this file system has no executable bit")
    assert write(OLD).replaced == ("run.sh",)
    assert os.access(tmp_path / "b" / "run.sh", os.X_OK)


def test_edited_and_foreign_files_are_named_together(tmp_path: Path, write: Write) -> None:
    """Everything in the way is one failure with a finding each, and nothing is written."""
    write(OLD)
    bundle = tmp_path / "b"
    (bundle / "train.py").write_text("my own\n")
    (bundle / "gone.json").write_text('{"my": 1}\n')
    (bundle / "more.py").write_text("was here\n")
    before = _on_disk(bundle)
    with pytest.raises(Conflict) as caught:
        write(NEW)
    assert caught.value.exit_code == 1
    assert "3 files are in the way" in caught.value.message
    found = {(finding.code, finding.message.split("`")[1]) for finding in caught.value.findings}
    assert found == {("FTC910", "train.py"), ("FTC910", "gone.json"), ("FTC911", "more.py")}
    said = {finding.message.split("`")[1]: finding for finding in caught.value.findings}
    assert "would overwrite" in said["train.py"].message
    assert "would remove" in said["gone.json"].message
    assert "diff" not in said["gone.json"].help, "a new bundle has no such file to compare with"
    assert _on_disk(bundle) == before
    assert write(NEW, force=True).removed == ("gone.json",)
    assert _on_disk(bundle) == NEW


def test_foreign_file_with_the_right_bytes_is_no_conflict(tmp_path: Path, write: Write) -> None:
    """A bundle whose lock was lost, but whose files are right, only gets its lock back."""
    write(OLD)
    (tmp_path / "b" / LOCK_NAME).unlink()
    assert write(OLD).created == (LOCK_NAME,)


def test_edited_file_is_left_alone_when_the_spec_asks_for_the_edit(
    tmp_path: Path, write: Write
) -> None:
    """An edit that is what the new spec compiles to is no conflict."""
    write(OLD)
    (tmp_path / "b" / "train.py").write_text("new\n")
    assert "train.py" in write(NEW).unchanged


def test_link_is_never_written_through(tmp_path: Path, write: Write) -> None:
    """A linked file is named; `force` replaces the link and leaves what it points at."""
    write(OLD)
    outside = tmp_path / "outside.py"
    outside.write_text("old\n")
    (tmp_path / "b" / "train.py").unlink()
    (tmp_path / "b" / "train.py").symlink_to(outside)
    with pytest.raises(Conflict) as caught:
        write(NEW)
    assert [finding.code for finding in caught.value.findings] == ["FTC912"]
    write(NEW, force=True)
    assert outside.read_text() == "old\n"
    assert not (tmp_path / "b" / "train.py").is_symlink()
    assert _on_disk(tmp_path / "b") == NEW


def test_linked_folder_is_never_written_through(tmp_path: Path, write: Write) -> None:
    """A folder that is a link is refused even with `force`."""
    (tmp_path / "b").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "b" / "a").symlink_to(tmp_path / "outside", target_is_directory=True)
    with pytest.raises(Conflict) as caught:
        write({"a/c.txt": "1\n"}, force=True)
    assert [finding.code for finding in caught.value.findings] == ["FTC912"]
    assert list((tmp_path / "outside").iterdir()) == []


@pytest.mark.parametrize("force", [False, True])
def test_folder_in_the_way_of_a_file(tmp_path: Path, write: Write, force: bool) -> None:
    """A folder under a file's name, or a file under a folder's, is named and stays."""
    (tmp_path / "b" / "train.py").mkdir(parents=True)
    (tmp_path / "b" / "a").write_text("mine")
    with pytest.raises(Conflict) as caught:
        write({"train.py": "1\n", "a/c.txt": "2\n"}, force=force)
    assert [finding.code for finding in caught.value.findings] == ["FTC911", "FTC911"]
    assert (tmp_path / "b" / "train.py").is_dir()


def test_bundle_folder_is_a_file(tmp_path: Path, write: Write) -> None:
    """One sentence, and the file is as it was."""
    (tmp_path / "b").write_text("mine")
    with pytest.raises(DiskFailure, match="`b` is a file"):
        write(OLD)
    assert (tmp_path / "b").read_text() == "mine"


def test_parent_of_the_bundle_is_a_file(tmp_path: Path, lock_of: MakeLock) -> None:
    """A path through a file is one sentence too."""
    (tmp_path / "f").write_text("mine")
    with pytest.raises(DiskFailure, match="could not create the folder `b`"):
        write_bundle(tmp_path / "f" / "b", _files(OLD), lock_of(()), force=False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder on a disk of 64 KiB, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("no mount command here")
    if done.returncode:
        pytest.skip("this user may not mount a small disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_leaves_the_old_bundle_whole(small_disk: Path, lock_of: MakeLock) -> None:
    """On a disk that really is full nothing was replaced, and no staging is left behind."""
    old, big = _files(OLD), _files({**NEW, "huge.txt": "x" * 100_000 + "\n"})
    write_bundle(small_disk / "b", old, lock_of(old), force=False)
    before = (small_disk / "b" / LOCK_NAME).read_text()
    with pytest.raises(DiskFailure, match="no space left on device; the bundle is as it was"):
        write_bundle(small_disk / "b", big, lock_of(big), force=False)
    assert _on_disk(small_disk / "b") == OLD
    assert (small_disk / "b" / LOCK_NAME).read_text() == before
    assert not (small_disk / "b" / STAGING_NAME).exists()


def test_read_only_disk_is_one_sentence(small_disk: Path, lock_of: MakeLock) -> None:
    """A bundle on a disk mounted read-only is refused; so is a new folder there."""
    old = _files(OLD)
    write_bundle(small_disk / "b", old, lock_of(old), force=False)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    new = _files(NEW)
    with pytest.raises(DiskFailure, match="read-only file system; the bundle is as it was"):
        write_bundle(small_disk / "b", new, lock_of(new), force=False)
    with pytest.raises(DiskFailure, match="could not create the folder `c`: read-only"):
        write_bundle(small_disk / "c", new, lock_of(new), force=False)
    assert _on_disk(small_disk / "b") == OLD


def test_second_compile_at_the_same_time_fails(tmp_path: Path, write: Write) -> None:
    """While another process holds the folder, nothing is written and one sentence says why."""
    write(OLD)
    holder = os.open(tmp_path / "b", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(BundleInUse, match="another `ftc compile`"):
        write(NEW)
    os.close(holder)
    assert _on_disk(tmp_path / "b") == OLD
    write(NEW)
    assert _on_disk(tmp_path / "b") == NEW


def test_folder_given_as_a_dot_has_its_name_said(
    tmp_path: Path, lock_of: MakeLock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`-o .` is named by the folder's own name."""
    monkeypatch.chdir(tmp_path)
    holder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with pytest.raises(BundleInUse, match=f"writing to `{tmp_path.name}`"):
        write_bundle(Path(), _files(OLD), lock_of(()), force=False)
    os.close(holder)


def test_damaged_lock_stops_the_write(tmp_path: Path, write: Write) -> None:
    """Without a readable lock nothing is ftc's; `force` gives the folder to ftc."""
    write(OLD)
    (tmp_path / "b" / LOCK_NAME).write_text("<<<<<<< ours\n")
    with pytest.raises(LockFailure):
        write(NEW)
    assert _on_disk(tmp_path / "b") == OLD
    write(NEW, force=True)
    assert _on_disk(tmp_path / "b") == {**NEW, "gone.json": "{}\n"}


def test_lock_of_another_bundle_cannot_remove_outside(tmp_path: Path, write: Write) -> None:
    """A planted lock that lists a file outside of the bundle is damage, not an order."""
    write(OLD)
    victim = tmp_path / "victim"
    victim.write_text("old\n")
    planted = json.loads((tmp_path / "b" / LOCK_NAME).read_text())
    planted["files"]["../victim"] = planted["files"]["train.py"]
    (tmp_path / "b" / LOCK_NAME).write_text(json.dumps(planted))
    with pytest.raises(LockFailure, match="leads out of the bundle"):
        write(NEW)
    assert victim.exists()


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "[" * 100_000,
        '{"../victim": ["' + "0" * 64 + '"]}',
        '{"/tmp/victim": ["' + "0" * 64 + '"]}',
        '{"train.py": null}',
    ],
)
def test_damaged_record_counts_as_none(tmp_path: Path, write: Write, record: str) -> None:
    """What is malformed, or leads out of the bundle, is not followed, and edits stay."""
    write(OLD)
    (tmp_path / "victim").write_text("old\n")
    (tmp_path / "b" / RECORD_NAME).write_text(record)
    (tmp_path / "b" / "train.py").write_text("mine\n")
    with pytest.raises(Conflict):
        write(NEW)
    assert (tmp_path / "b" / "train.py").read_text() == "mine\n"
    write(NEW, force=True)
    assert (tmp_path / "victim").exists()
    assert not (tmp_path / "b" / RECORD_NAME).exists()
    assert _on_disk(tmp_path / "b") == NEW


def test_record_that_is_a_link_is_not_read(tmp_path: Path, write: Write) -> None:
    """A link under the record's name is replaced, and what it points at stays."""
    write(OLD)
    train, elsewhere = tmp_path / "b" / "train.py", tmp_path / "elsewhere.json"
    train.write_text("mine\n")
    elsewhere.write_text(json.dumps({"train.py": [hash_text("mine\n")]}))
    (tmp_path / "b" / RECORD_NAME).symlink_to(elsewhere)
    with pytest.raises(Conflict):
        write(NEW)
    write(NEW, force=True)
    assert elsewhere.exists()
    assert _on_disk(tmp_path / "b") == NEW


def test_planted_staging_link_is_not_followed(tmp_path: Path, write: Write) -> None:
    """A staging folder that is a link to elsewhere is dropped, and elsewhere stays."""
    write(OLD)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "keep").write_text("mine")
    (tmp_path / "b" / STAGING_NAME).symlink_to(tmp_path / "elsewhere")
    write(NEW)
    assert (tmp_path / "elsewhere" / "keep").read_text() == "mine"
    assert _on_disk(tmp_path / "b") == NEW


@pytest.mark.parametrize("name", ["run/a", "../a", "/a", ".ftc-x", LOCK_NAME])
def test_names_that_no_template_may_have(tmp_path: Path, write: Write, name: str) -> None:
    """What scripts write, what ftc keeps and what lies outside are no names for a file."""
    with pytest.raises(ValueError, match="name"):
        write({name: "x\n"})
    assert not (tmp_path / "b").exists()


def test_lock_text_is_written_as_dumped(tmp_path: Path, lock_of: MakeLock) -> None:
    """The lock on disk is exactly `dump_lock`, so that two compiles are byte-identical."""
    files = _files(OLD)
    lock = lock_of(files)
    for name in ("one", "two"):
        write_bundle(tmp_path / name, files, lock, force=False)
    assert (tmp_path / "one" / LOCK_NAME).read_text() == dump_lock(lock)
    assert (tmp_path / "one" / LOCK_NAME).read_bytes() == (
        tmp_path / "two" / LOCK_NAME
    ).read_bytes()
