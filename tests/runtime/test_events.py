"""The logs for `ftc watch`: every event is a line of its own, whatever happened before it."""

import json
import time
from pathlib import Path

import pytest

from ftc.runtime import events
from ftc.runtime.run import Run


def test_an_event_is_a_line_with_its_time(tmp_path: Path) -> None:
    """The folder is made with the first one."""
    log = tmp_path / "run/log.jsonl"

    events.append(log, stage="train", event="began")
    events.append(log, sentence="però", rate=1e-4)

    first, second = events.read(log)
    assert first.pop("time") == pytest.approx(time.time(), abs=60)
    assert second.pop("time") >= 0
    assert (first, second) == (
        {"stage": "train", "event": "began"},
        {"sentence": "però", "rate": 1e-4},
    )


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    """The next event starts a line of its own, and readers leave the cut one out."""
    log = tmp_path / "log.jsonl"
    log.write_text('{"step": 1}\n{"step": 2, "lo')

    events.append(log, step=3)

    assert log.read_text().splitlines()[1] == '{"step": 2, "lo'
    assert [event["step"] for event in events.read(log)] == [1, 3]


def test_numbers_that_json_does_not_have_are_null(tmp_path: Path) -> None:
    """A loss may be nan; numbers of libraries become plain ones."""
    log = tmp_path / "log.jsonl"

    class Number:
        def __float__(self) -> float:
            return 0.5

    events.append(log, loss=float("nan"), norm=float("inf"), epoch=Number())

    found = json.loads(log.read_text(), parse_constant=pytest.fail)
    assert (found["loss"], found["norm"], found["epoch"]) == (None, None, 0.5)


def test_an_error_of_the_disk_is_ignored(tmp_path: Path) -> None:
    """Only `ftc watch` misses the event."""
    (tmp_path / "run").write_text("a file")

    events.append(tmp_path / "run/log.jsonl", step=1)

    assert events.read(tmp_path / "run/log.jsonl") == []


def test_only_objects_are_events(tmp_path: Path) -> None:
    """Any other JSON value, or damaged bytes, is left out."""
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'1\n[]\n\xff\n\n{"step": 1}\n')

    assert events.read(log) == [{"step": 1}]


def test_what_a_stage_says_is_logged_as_it_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, by the first process; without a folder it is printed alone."""
    run = Run(tmp_path, stage="train")
    run.say("too early")
    run.folder.mkdir()
    run.say("step 1: é")
    monkeypatch.setenv("RANK", "1")
    Run(tmp_path, stage="train").say("unheard")

    assert (run.folder / "stages.log").read_bytes() == "step 1: é\n".encode()
    assert capsys.readouterr().out.startswith("too early\nstep 1: é\n")
