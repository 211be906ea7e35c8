"""The last lines of a log: of a file of any size and with any bytes in it."""

import os
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ftc.tui.watch.tail import OUTPUT_NAME, read_output, read_tail


def test_the_last_lines_of_a_huge_file_are_read_at_once(tmp_path: Path) -> None:
    """A sparse file of 200 GiB takes no longer than a short one."""
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.seek(200 * 2**30)
        file.write(b"\nfirst\n\nlast\n")
    began = time.process_time()

    assert read_tail(path, 2) == ("first", "last")
    assert time.process_time() - began < 0.5


def test_a_line_is_what_a_terminal_would_show_of_it(tmp_path: Path) -> None:
    """The last text of a rewritten line, no colours, no bell, and no bytes that are not UTF-8."""
    path = tmp_path / "log"
    path.write_bytes(
        b"step 1\rstep 2\r\x1b[Kstep 3\n\x1b[31mred\x1b[0m\x1b]0;title\x07\n\xff\xfe\tb\x07\nhalf"
    )
    assert read_tail(path, 9) == ("step 3", "red", "\ufffd\ufffd  b\ufffd", "half")
    assert read_tail(path, 0) == ()
    assert read_tail(tmp_path / "absent", 3) == ()
    assert read_tail(tmp_path, 3) == ()


@given(data=st.binary(max_size=400), most=st.integers(0, 5))
def test_any_bytes_give_printable_lines(data: bytes, most: int, tmp_path_factory: object) -> None:
    """Never more than asked for."""
    path = tmp_path_factory.getbasetemp() / "bytes"  # type: ignore[attr-defined]
    path.write_bytes(data)
    lines = read_tail(path, most)
    assert len(lines) <= most
    assert all(line.isprintable() and line.strip() for line in lines)


def test_the_log_that_was_written_last_is_read(tmp_path: Path) -> None:
    """Of logs that are written at the same time, the fullest; none without a log."""
    assert read_output(tmp_path, 3) == ()
    names = (OUTPUT_NAME, "slurm-7.log", "run/logs/attempt_0/1/stdout.log", "run/stages.log")
    for age, name in enumerate(names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    assert read_output(tmp_path, 3) == (OUTPUT_NAME,)
    for name in reversed(names):
        os.utime(tmp_path / name, (3000, 3000))
        assert read_output(tmp_path, 3) == (name,)
