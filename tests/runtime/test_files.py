"""Files that are written whole or not at all, and synced before they replace others."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftc.runtime import files

ROOT = Path(__file__).resolve().parents[2]


def call(code: str, cwd: Path, *before: str) -> int:
    """Run Python with the module as `files` in a process of its own; return its exit code."""
    command = [*before, sys.executable, "-c", f"from runtime import files\n{code}"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, check=False).returncode


def test_json_and_rows_are_utf_8(tmp_path: Path) -> None:
    """Folders are made as needed, and no partial file is left."""
    files.write_json(tmp_path / "a/b.json", {"name": "però"})
    files.write_rows(tmp_path / "a/c.jsonl", iter([{"x": "ç"}, 1]))

    assert (tmp_path / "a/b.json").read_text("utf-8") == '{\n  "name": "però"\n}\n'
    assert (tmp_path / "a/c.jsonl").read_text("utf-8") == '{"x": "ç"}\n1\n'
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b.json", "c.jsonl"]


@settings(max_examples=40)
@given(st.lists(st.recursive(st.text(st.characters(exclude_categories=["Cs"])), st.lists)))
def test_rows_are_read_as_they_were_written(rows: list[Any]) -> None:
    """Whatever characters a text has, such as U+2028, which ends a line for `str.splitlines`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.jsonl")
        files.write_rows(path, rows)
        assert list(files.read_rows(path)) == rows


def test_rows_of_other_programs(tmp_path: Path) -> None:
    """A byte order mark, line ends of Windows and blank lines are no rows."""
    (tmp_path / "rows.jsonl").write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n \r\n2')
    assert list(files.read_rows(tmp_path / "rows.jsonl")) == [{"a": 1}, 2]


def test_an_error_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Rows may fail in the middle."""
    path = tmp_path / "rows.jsonl"
    files.write_rows(path, [1])

    def fail() -> Iterator[int]:
        yield 2
        raise ValueError("no more rows")

    with pytest.raises(ValueError, match="no more rows"):
        files.write_rows(path, fail())

    assert path.read_text() == "1\n"


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """A real small file system."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    mounted = shutil.which("mount") and subprocess.run(command, capture_output=True, check=False)
    if not mounted or mounted.returncode != 0:
        pytest.skip("mounting a disk needs rights that are not there")
    try:
        files.write_rows(tmp_path / "rows", [1])
        with pytest.raises(OSError, match="No space left"):
            files.write_rows(tmp_path / "rows", ["x" * 2**21])
        assert (tmp_path / "rows").read_text() == "1\n"
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_what_is_written_is_synced(tmp_path: Path) -> None:
    """A file is on the disk before it replaces another, and its folder after that."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not here")
    trace = ["strace", "-f", "-o", "calls", "-e", "trace=fsync,rename"]

    assert call("from pathlib import Path\nfiles.write_json(Path('a'), 1)", tmp_path, *trace) == 0

    lines = (tmp_path / "calls").read_text().splitlines()
    seen = [line.split()[1].partition("(")[0] for line in lines]
    assert [name for name in seen if name in {"fsync", "rename"}] == ["fsync", "rename", "fsync"]


def test_a_folder_replaces_another(tmp_path: Path) -> None:
    """A process killed between the two renames loses neither folder; the next one finishes."""
    for name in ("merged", "merged.partial"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name)
    swap = (
        "import os, pathlib, signal\nmerged = pathlib.Path('merged')\n{}"
        "files.replace_folder(merged, pathlib.Path('merged.partial'))\n"
    )
    die = (
        "move = pathlib.Path.rename\n"
        "def rename(path, to):\n"
        "    move(path, to)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path.rename = rename\n"
    )

    killed = call(swap.format(die), tmp_path)
    kept = {path.parent.name: path.read_text() for path in tmp_path.glob("*/weights")}
    again = call(swap.format(""), tmp_path)

    assert killed == -signal.SIGKILL
    assert kept == {"merged.before": "merged", "merged.partial": "merged.partial"}
    assert again == 0
    left = {path.parent.name: path.read_text() for path in tmp_path.glob("*/weights")}
    assert left == {"merged": "merged.partial"}


def test_a_new_folder_needs_no_old_one(tmp_path: Path) -> None:
    """The first result has nothing to replace."""
    (tmp_path / "new").mkdir()

    files.replace_folder(tmp_path / "merged", tmp_path / "new")

    assert [path.name for path in tmp_path.iterdir()] == ["merged"]
