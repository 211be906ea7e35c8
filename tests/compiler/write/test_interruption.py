"""An interrupted write: the bundle stays complete if it is killed or out of space at any point."""

import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.render.output.file import RenderedFile
from ftc.compiler.write.bundle import (
    RECORD_NAME,
    STAGING_NAME,
    UnfinishedWrite,
    require_finished,
    write_bundle,
)
from ftc.compiler.write.conflict import Conflict
from ftc.compiler.write.disk import DiskFailure
from ftc.compiler.write.lock import Lock

MakeLock = Callable[..., Lock]

OLD = {"a.py": "old a\n", "b.py": "old b\n", "gone.py": "gone\n", "run.sh": "#!/bin/sh\n"}
OTHER = {"a.py": "other a\n", "b.py": "new b\n", "more.py": "more\n"}
NEW = {"a.py": "new a\n", "b.py": "new b\n", "made.py": "made\n", "run.sh": "#!/bin/sh\n# 2\n"}
# What Python reports before it does something to the disk.
EVENTS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "shutil.rmtree"})
COMPLETED = 7
INTERRUPTED = 8
REFUSED = 9


def _files(texts: dict[str, str]) -> tuple[RenderedFile, ...]:
    return tuple(RenderedFile(name=n, text=t, language="text") for n, t in texts.items())


def _on_disk(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name != RECORD_NAME
    }


def _in_child(act: Callable[[], None]) -> int:
    """Run `act` in a forked process; return its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)
        except DiskFailure as failure:
            os._exit(REFUSED if "as it was before" in failure.message else 1)
        except BaseException:  # noqa: BLE001 - the parent sees the exit code
            traceback.print_exc()
            os._exit(1)
        os._exit(COMPLETED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _signal_at(folder: Path, count: int, number: int) -> None:
    """Send this process a signal just before its `count`-th touch of the folder."""
    left = count

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in EVENTS and str(folder) in str(arguments[0]):
            left -= 1
            if left == 0:
                signal.raise_signal(number)

    sys.addaudithook(hook)


class Bundle:
    """An old bundle on disk, and the two ends that a write from it may have."""

    def __init__(self, folder: Path, lock_of: MakeLock) -> None:
        self.folder = folder
        self.lock_of = lock_of
        self.write(NEW)
        self.new = _on_disk(folder)
        self.write(OLD)
        self.old = _on_disk(folder)

    def write(self, texts: dict[str, str], *, force: bool = False) -> None:
        """Write the files and their lock."""
        files = _files(texts)
        write_bundle(self.folder, files, self.lock_of(files), force=force)


@pytest.fixture
def bundle(tmp_path: Path, lock_of: MakeLock) -> Bundle:
    """Return an old bundle."""
    return Bundle(tmp_path / "b", lock_of)


def test_killed_at_any_point(bundle: Bundle) -> None:
    """After SIGKILL before any disk operation, the bundle is complete or marked unfinished."""
    outcomes: list[str] = []
    for count in range(1, 200):
        bundle.write(OLD)
        code = _killed_at(bundle, count)
        if code == COMPLETED:
            break
        found = _on_disk(bundle.folder)
        if (bundle.folder / RECORD_NAME).exists():
            with pytest.raises(UnfinishedWrite):
                require_finished(bundle.folder)
            outcomes.append("between")
        else:
            require_finished(bundle.folder)
            assert found in (bundle.old, bundle.new)
            outcomes.append("new" if found == bundle.new else "old")
    assert code == COMPLETED
    assert list(dict.fromkeys(outcomes)) == ["old", "between", "new"]
    assert len(outcomes) > 15


@pytest.mark.parametrize("texts", [OLD, NEW, OTHER], ids=["as before", "the same", "another"])
def test_killed_and_then_compiled_again(bundle: Bundle, texts: dict[str, str]) -> None:
    """The next compile, of whatever spec, replaces what a killed one left, without `force`."""
    bundle.write(texts)
    whole = _on_disk(bundle.folder)
    for count in range(1, 200, 2):
        bundle.write(OLD)
        code = _killed_at(bundle, count)
        bundle.write(texts)
        assert _on_disk(bundle.folder) == whole
        assert {path.name for path in bundle.folder.iterdir()} == set(whole)
        if code == COMPLETED:
            break
    assert code == COMPLETED


def test_killed_twice(bundle: Bundle) -> None:
    """The files of two killed compiles are replaced, those of the first one included."""
    bundle.write(OTHER)
    whole = _on_disk(bundle.folder)
    for count in range(1, 200, 4):
        bundle.write(OLD)
        _killed_while_replacing(bundle)
        code = _killed_at(bundle, count, {**OTHER, "b.py": "third b\n"})
        bundle.write(OTHER)
        assert _on_disk(bundle.folder) == whole
        if code == COMPLETED:
            break
    assert code == COMPLETED


def _killed_at(bundle: Bundle, count: int, texts: dict[str, str] = NEW) -> int:
    """Write in a process that is killed before its `count`-th touch of the folder."""

    def act() -> None:
        _signal_at(bundle.folder, count, signal.SIGKILL)
        bundle.write(texts)

    code = _in_child(act)
    assert code in {COMPLETED, -signal.SIGKILL}
    return code


def test_interrupted_at_any_point(bundle: Bundle) -> None:
    """Ctrl-C at any point leaves one whole bundle at once, and nothing half-done."""
    codes: list[int] = []
    for count in range(1, 200):
        bundle.write(OLD)

        def act(count: int = count) -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            _signal_at(bundle.folder, count, signal.SIGINT)
            bundle.write(NEW)

        codes.append(_in_child(act))
        assert _on_disk(bundle.folder) in (bundle.old, bundle.new)
        if codes[-1] == COMPLETED:
            break
        assert codes[-1] == INTERRUPTED
        require_finished(bundle.folder)
    assert codes[-1] == COMPLETED
    assert len(codes) > 15


def test_file_size_limit_is_a_full_disk(bundle: Bundle) -> None:
    """A write that the system cuts short leaves the old bundle and says so."""

    def act() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        bundle.write({**NEW, "huge.txt": "x" * 100_000 + "\n"})

    assert _in_child(act) == REFUSED
    assert _on_disk(bundle.folder) == bundle.old
    assert not (bundle.folder / STAGING_NAME).exists()


def _killed_while_replacing(bundle: Bundle) -> None:
    """Leave a bundle in which one of the files has been replaced."""

    def act() -> None:
        renames = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal renames
            if event == "os.rename" and STAGING_NAME in str(arguments[0]):
                renames += 1
                if renames == 3:  # the record's own, `a.py`, and before `b.py`
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        bundle.write(NEW)

    assert _in_child(act) == -signal.SIGKILL
    found = _on_disk(bundle.folder)
    assert (found["a.py"], found["b.py"]) == (NEW["a.py"], OLD["b.py"])


def test_edit_after_a_kill_is_not_lost(bundle: Bundle) -> None:
    """A file edited between the kill and the next compile is named, and the record stays."""
    _killed_while_replacing(bundle)
    (bundle.folder / "b.py").write_text("my own\n")
    for _ in range(2):
        with pytest.raises(Conflict) as caught:
            bundle.write(NEW)
        assert [finding.message for finding in caught.value.findings] == [
            "`b.py` was edited since ftc wrote it, and compiling would overwrite the edit"
        ]
    assert (bundle.folder / "b.py").read_text() == "my own\n"
    bundle.write(NEW, force=True)
    assert _on_disk(bundle.folder) == bundle.new


def test_replacement_that_fails_is_finished_next_time(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk refuses in the middle of replacing, the failure says what happens next."""
    replace, calls = os.replace, 0

    def refuse(source: Any, target: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise PermissionError(13, "Permission denied")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(DiskFailure, match="the next `ftc compile` finishes the write"):
        bundle.write(NEW)
    monkeypatch.undo()
    bundle.write(NEW)
    assert _on_disk(bundle.folder) == bundle.new
