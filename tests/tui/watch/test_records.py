"""Files that grow: each line is read once, and none before it is whole."""

import json
import os
from pathlib import Path

import pytest

from ftc.tui.watch.records import MOST_RECORDS, Mark, Record, read_object, read_records, thin


def test_what_was_added_is_read_once(tmp_path: Path) -> None:
    """A second reading begins where the first ended."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    first = read_records(path, Mark())
    with path.open("a") as file:
        file.write('{"step": 3}\n')
    second = read_records(path, first.mark)

    assert [record["step"] for record in first.records] == [1, 2]
    assert [record["step"] for record in second.records] == [3]
    assert read_records(path, second.mark).records == ()


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    """Cut at every place, a log gives its whole lines at once and the last when it has come."""
    path = tmp_path / "log.jsonl"
    lines = [json.dumps({"step": 1, "text": "é"}).encode() + b"\n", b'{"step": 2, "x": 1.5}\n']
    whole = b"".join(lines)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        first = read_records(path, Mark())
        assert len(first.records) == whole[:cut].count(b"\n")
        assert first.damaged == 0
        with path.open("ab") as file:
            file.write(whole[cut:])
        second = read_records(path, first.mark)
        assert [r["step"] for r in (*first.records, *second.records)] == [1, 2]


def test_what_is_no_record_is_counted_and_left_out(tmp_path: Path) -> None:
    """Half of a line whose process was killed, and lines that are JSON of another kind."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 1}\n{"st\n[1]\nnull\n' + b"[" * 5000 + b'\n\xff\n\n{"step": 2}\n')
    reading = read_records(path, Mark())

    assert [record["step"] for record in reading.records] == [1, 2]
    assert reading.damaged == 5


def test_another_file_under_the_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    """So is one that became shorter; one that went away has nothing, and says so."""
    path, other = tmp_path / "log.jsonl", tmp_path / "other"
    path.write_text('{"step": 1}\n{"step": 2}\n')
    mark = read_records(path, Mark()).mark
    other.write_text('{"step": 7}\n{"step": 8}\n{"step": 9}\n')
    other.replace(path)
    replaced = read_records(path, mark)
    assert (replaced.afresh, len(replaced.records)) == (True, 3)

    path.write_text('{"step": 1}\n')
    assert read_records(path, replaced.mark).afresh
    path.unlink()
    assert read_records(path, replaced.mark).afresh
    assert not read_records(path, Mark()).afresh


def test_what_is_no_file_has_no_records(tmp_path: Path) -> None:
    """A pipe would be waited for, and a folder cannot be read."""
    os.mkfifo(tmp_path / "pipe")
    assert read_records(tmp_path / "pipe", Mark()).records == ()
    assert read_records(tmp_path, Mark()).records == ()
    assert read_object(tmp_path / "pipe") is None


@pytest.mark.prove
def test_a_long_log_is_sampled_and_no_event_of_it_is_lost(tmp_path: Path) -> None:
    """Three hundred thousand lines: the ends, every start and every evaluation are there."""
    path = tmp_path / "log.jsonl"
    with path.open("w") as file:
        for step in range(300_000):
            file.write(f'{{"time": {step}.5, "step": {step}, "loss": 1.5, "epoch": 0.25}}\n')
            if step % 10_000 == 0:
                file.write(f'{{"time": {step}.5, "step": {step}, "eval_loss": 1.0}}\n')
        file.write('{"step": 300000, "event": "began"}\n')
    reading = read_records(path, Mark())

    assert len(reading.records) < MOST_RECORDS
    assert reading.damaged == 0
    assert reading.records[0]["step"] == 0
    assert reading.records[-1]["event"] == "began"
    assert sum("eval_loss" in record for record in reading.records) == 30
    assert read_records(path, reading.mark).records == ()


def test_a_line_longer_than_any_line_is_passed_over(tmp_path: Path) -> None:
    """It is counted once, and what follows it is read."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 1}\n' + b"x" * 5_000_000 + b'\n{"step": 2}\n{"st')
    reading = read_records(path, Mark())

    assert [record["step"] for record in reading.records] == [1, 2]
    assert reading.damaged == 1
    assert reading.mark.offset == path.stat().st_size - len('{"st')


def test_records_are_thinned_from_the_old_end() -> None:
    """The newest stay, and so does what tells of an event."""
    records: list[Record] = [{"step": step} for step in range(3 * MOST_RECORDS)]
    records[1] = {"step": 1, "event": "began"}
    kept = thin(records)

    assert len(kept) <= MOST_RECORDS
    assert kept[-1000:] == records[-1000:]
    assert records[1] in kept
    evaluations: list[Record] = [{"step": 1, "eval_loss": 1.0}] * (3 * MOST_RECORDS)
    assert len(thin(evaluations)) <= MOST_RECORDS
