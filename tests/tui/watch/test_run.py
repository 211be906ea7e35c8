"""A run in all its states, from files that are written as the scripts write them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.spec.finding import EnvironmentFailure
from ftc.tui.watch.alerts import find_alerts
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.words import find_facts, headline, say_progress, say_stages
from tests.tui.watch.folder import BEGAN, GIB, Bundle, begin


def look(bundle: Bundle, at: float) -> Run:
    """Return the run, so many seconds after training began."""
    return Watched(bundle.folder).look(BEGAN + at)


def facts(run: Run) -> dict[str, str]:
    """Return the lines of a run by their names."""
    return {fact.name: fact.text for fact in find_facts(run)}


def test_a_run_that_has_not_begun(tmp_path: Path) -> None:
    """Its stages wait; of a training that is not, what is planned is said."""
    run = look(Bundle(tmp_path / "b"), 0)

    assert run.state == "waiting"
    assert headline(run) == "triage: has not begun: ./run.sh starts it"
    assert {stage.status for stage in run.stages} == {"waiting"}
    assert facts(run) == {
        "planned steps": "100",
        "planned memory": "14.0 GiB of 24.0 GiB",
        "planned time": "3 min to 4 min",
    }
    assert find_alerts(run) == ()


def test_a_run_that_trains(tmp_path: Path) -> None:
    """Step, loss, rate, speed, memory and time beside what was planned of them."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(40)
    run = look(bundle, 81)

    assert headline(run) == "triage: train, step 40 of 100 (40%)"
    assert facts(run) == {
        "step": "40 of 100, epoch 0.80",
        "training loss": "1.6000",
        "learning rate": "0.00012",
        "speed": "450 tokens/s",
        "memory": "13.0 GiB (planned 14.0 GiB)",
        "time left": "2 min (planned 2 min)",
        "trained by": "03:36",
        "evaluation": "step 40: loss 1.7000",
    }
    assert find_alerts(run) == ()


def test_the_best_evaluation_is_said_where_it_is_not_the_last(tmp_path: Path) -> None:
    """With its step; the checkpoint of that one is what a run ends with."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(40)
    bundle.log(82, 41, eval_loss=1.9)

    assert facts(look(bundle, 83))["evaluation"] == "step 41: loss 1.9000"
    assert facts(look(bundle, 83))["best"] == "step 40: loss 1.7000"


def test_an_end_on_another_day_has_its_date(tmp_path: Path) -> None:
    """A run of many hours."""
    bundle = begin(tmp_path / "b")
    for step in (1, 2):
        bundle.log(800.0 * step, step, loss=1.0)

    assert facts(look(bundle, 1601))["trained by"] == "2033-05-19 01:46"


def test_progress_is_a_bar(tmp_path: Path) -> None:
    """As long as there is room; none before the first step."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(25)

    assert say_progress(look(bundle, 51), 8) == "━━╌╌╌╌╌╌"
    assert say_progress(look(Bundle(tmp_path / "c"), 0), 8) == ""


def test_a_stage_that_runs_says_for_how_long(tmp_path: Path) -> None:
    """Also one that is no training, after it."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(100)
    bundle.note("train", "done", 200, seconds=210.0)
    bundle.note("merge", "began", 203)
    run = look(bundle, 223)

    assert headline(run) == "triage: merge, for 20 s"
    assert say_stages(run, plain=True).startswith("+ prepare 28 s  + train 4 min  > merge 20 s")
    assert run.left_seconds is None


def test_a_run_that_is_done(tmp_path: Path) -> None:
    """Between two stages it is not taken for one that was stopped; a second run changes nothing."""
    bundle = begin(tmp_path / "b")
    bundle.note("train", "done", 200, seconds=210.0)
    assert look(bundle, 205).state == "running"
    assert headline(look(bundle, 205)) == "triage: train is done, the next stage begins"
    assert headline(look(bundle, 900)).startswith("triage: stopped after train;")
    for at, stage in enumerate(("merge", "evaluate", "quantize", "report")):
        bundle.note(stage, "began", 300 + at)
        bundle.note(stage, "done", 301 + at, seconds=1.0)
    done = look(bundle, 400)
    for at, stage in enumerate(("prepare", "train", "merge")):
        bundle.note(stage, "began", 500 + at)
        bundle.note(stage, "done", 500.5 + at)

    assert done.state == "done"
    assert headline(look(bundle, 900)) == headline(done) == "triage: done, in 4 min of work"


@pytest.mark.parametrize(
    ("event", "code", "said"),
    [
        ("stopped", 75, "train was stopped with exit code 75: told to stop"),
        ("failed", 1, "train failed with exit code 1: told to stop"),
    ],
)
def test_a_run_that_ended_early_says_how(tmp_path: Path, event: str, code: int, said: str) -> None:
    """The sentence and the exit code are the script's own."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(30)
    bundle.note("train", event, 61, code=code, sentence="told to stop")
    run = look(bundle, 70)

    assert headline(run) == f"triage: {said}"
    assert "time left" not in facts(run)


def test_a_process_that_is_gone_was_killed(tmp_path: Path) -> None:
    """A real one: while it lives the run runs, and once it was killed it does not."""
    bundle = begin(tmp_path / "b")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        bundle.note("train", "began", 0, pid=process.pid)
        alive = look(bundle, 1).state
        process.kill()
    run = look(bundle, 2)

    assert (alive, run.state) == ("running", "gone")
    assert "was killed, or its machine went down" in headline(run)


def test_a_number_that_another_process_got_is_not_the_run(tmp_path: Path) -> None:
    """A process that began long after the note is not the one that wrote it."""
    bundle = Bundle(tmp_path / "b")
    bundle.note("train", "began", -BEGAN + 1_000_000)

    assert look(bundle, 0).state == "gone"


def test_a_run_on_another_machine_is_believed(tmp_path: Path) -> None:
    """Its process cannot be asked: it runs until it says otherwise, and that is said."""
    bundle = Bundle(tmp_path / "b")
    bundle.note("prepare", "began", 0, host="node-7", pid=1)
    run = look(bundle, 5)

    assert run.state == "running"
    assert find_alerts(run) == ("prepare runs on node-7: from here its process is not seen",)


def test_a_resumed_run_shows_the_newest_of_each_step(tmp_path: Path) -> None:
    """What lay beyond the checkpoint is forgotten, and the pace is the new attempt's."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(35)
    bundle.note("train", "began", 1000)
    bundle.log(1010, 30, event="began", micro_batch=4)
    for step in (31, 32, 33):
        bundle.log(1010 + 5 * (step - 30), step, loss=9.0)
    run = look(bundle, 1026)
    loss = dict(run.training.curves["loss"])

    assert run.training.step == 33
    assert (loss[30], loss[31], max(loss)) == (1.7, 9.0, 33)
    assert run.training.pace_seconds == 5.0
    assert find_alerts(run) == (
        "a pass takes 4 rows, planned 8: memory ran out with more",
        "training began 2 times, each from the checkpoint before",
    )


def test_what_is_read_bit_by_bit_is_what_is_read_at_once(tmp_path: Path) -> None:
    """A log that grows under the reader, cut in the middle of lines."""
    source = begin(tmp_path / "source")
    source.train_to(40)
    text = (source.folder / "run/train/log.jsonl").read_text()
    bundle = begin(tmp_path / "b")
    (bundle.folder / "run/train/log.jsonl").write_text("")
    watched = Watched(bundle.folder)
    for start in range(0, len(text), 97):
        bundle.append("run/train/log.jsonl", text[start : start + 97])
        run = watched.look(BEGAN + 81)

    assert run.training == look(source, 81).training
    assert run.damaged == 0


ALERTS: dict[str, tuple[dict[str, Any], list[dict[str, Any]], float, str]] = {
    "silence": ({}, [], 1000, "training has written nothing for 15 min: it may hang"),
    "no number": ({}, [{"loss": None}], 85, "the loss is not a number at step 41"),
    "memory": (
        {"memory_bytes": 10 * GIB},
        [],
        81,
        "memory is above the plan: 13.0 GiB, planned 10.0 GiB",
    ),
    "full": (
        {"capacity_bytes": 13 * GIB},
        [],
        81,
        "memory is nearly full: 13.0 GiB of 13.0 GiB",
    ),
    "rising": (
        {},
        [{"eval_loss": value} for value in (1.75, 1.8, 1.9)],
        87,
        "the validation loss rose 3 times in a row: best was 1.7000 at step 40",
    ),
    "slow": (
        {"seconds": {"low": 100.0, "total": 110.0, "high": 120.0}},
        [],
        81,
        "training is slower than planned: 4 min at this pace, planned at most 2 min",
    ),
}


@pytest.mark.parametrize("name", ALERTS)
def test_what_is_wrong_is_said(tmp_path: Path, name: str) -> None:
    """One warning each, and none of the others."""
    plan, more, at, said = ALERTS[name]
    bundle = begin(tmp_path / "b", **plan)
    bundle.train_to(40)
    for step, record in enumerate(more, start=41):
        bundle.log(2.0 * step, step, **record)

    assert find_alerts(look(bundle, at)) == (said,)


def test_a_damaged_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Values of any type, and lines that are none: no exception, and the count is said."""
    bundle = begin(tmp_path / "b")
    values: tuple[Any, ...] = ("x", [], {}, True, -5, 1e400, 10**30, None)
    for value in values:
        bundle.log(1, 1, loss=value, epoch=value, memory_bytes=value)
        record = {"time": value, "step": value, "steps": value, "event": value, "loss": 1}
        bundle.append("run/train/log.jsonl", json.dumps(record) + "\n")
        record = {"time": value, "stage": value, "event": value, "pid": value, "code": value}
        bundle.append("run/stages.jsonl", json.dumps(record) + "\n")
    bundle.append("run/train/log.jsonl", '{"step": 2, "lo\n')
    bundle.log(4, 2, loss=1.5)
    run = look(bundle, 6)

    assert run.training.step == 2
    assert "1 line of the logs is not readable, and left out" in find_alerts(run)


def test_what_a_file_says_cannot_move_the_cursor(tmp_path: Path) -> None:
    """Nor can the name of a plan: escapes become spaces."""
    bundle = begin(tmp_path / "b", name="tri\x1b[2Jage")
    bundle.note("train", "failed", 1, code=1, sentence="bad\x1b]0;title\x07\nnews \u202e")

    assert headline(look(bundle, 2)).isprintable()


def test_a_folder_that_is_no_bundle(tmp_path: Path) -> None:
    """Missing, empty, or with a plan that was cut: one sentence, and what to do."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "plan.json").write_text('{"name": "tri')
    for name, said in (
        ("nowhere", "there is no folder"),
        ("empty", "is no bundle"),
        ("cut", "is damaged"),
    ):
        with pytest.raises(EnvironmentFailure, match=said):
            Watched(tmp_path / name).look(0)


def test_a_run_outlives_its_plan(tmp_path: Path) -> None:
    """A folder with the records alone is still a run, with nothing to hold it against."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(40)
    (bundle.folder / "plan.json").unlink()
    run = look(bundle, 81)

    assert headline(run) == "b: train, step 40 of 100 (40%)"
    assert facts(run)["memory"] == "13.0 GiB"
