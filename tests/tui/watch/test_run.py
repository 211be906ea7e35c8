"""A run in all its states, from files that are written as the scripts write them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ftc.spec.findings.finding import EnvironmentFailure
from ftc.tui.watch.alerts import find_alerts
from ftc.tui.watch.plain import tell_news
from ftc.tui.watch.run import Run, Watched
from ftc.tui.watch.words import find_facts, headline, say_progress, say_stages
from tests.tui.watch.folder import BEGAN, GIB, Bundle, begin


def look(bundle: Bundle, at: float) -> Run:
    """Return the run, so many seconds after training began."""
    return Watched(bundle.folder).look(BEGAN + at)


def alerts(run: Run) -> tuple[str, ...]:
    """Return the sentences of a run's alerts."""
    return tuple(alert.text for alert in find_alerts(run))


def facts(run: Run) -> dict[str, str]:
    """Return the lines of a run by their names."""
    return {fact.name: fact.text for fact in find_facts(run)}


def test_a_run_that_has_not_begun(tmp_path: Path) -> None:
    """Its stages wait; of a training that is not, what is planned is said."""
    run = look(Bundle(tmp_path / "b"), 0)

    assert run.state == "waiting"
    assert headline(run) == "triage: not started: ./run.sh starts it"
    assert {stage.status for stage in run.stages} == {"waiting"}
    assert facts(run) == {
        "planned steps": "100",
        "planned memory": "14.0 GiB of 24.0 GiB",
        "planned time": "3 min to 4 min",
    }
    assert alerts(run) == ()


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
        "training ends": "03:36",
        "evaluation": "step 40: loss 1.7000",
    }
    assert alerts(run) == ()


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

    assert facts(look(bundle, 1601))["training ends"] == "2033-05-19 01:46"


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
    assert headline(look(bundle, 205)) == "triage: train is done; the next stage is starting"
    assert headline(look(bundle, 900)).startswith("triage: stopped after train;")
    for at, stage in enumerate(("merge", "evaluate", "quantize")):
        bundle.note(stage, "began", 300 + at)
        bundle.note(stage, "done", 301 + at, seconds=1.0)
    done = look(bundle, 400)
    for at, stage in enumerate(("prepare", "train", "merge")):
        bundle.note(stage, "began", 500 + at)
        bundle.note(stage, "done", 500.5 + at)

    assert done.state == "done"
    assert headline(look(bundle, 900)) == headline(done) == "triage: done in 4 min"


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
    assert "was killed, or its machine stopped" in headline(run)


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
    assert alerts(run) == ("prepare runs on node-7, so its process cannot be checked from here",)


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
    assert alerts(run) == (
        "the micro-batch is 4 rows, planned 8, because memory ran out",
        "training was started 2 times, each time from the last checkpoint",
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
    "silence": ({}, [], 1000, "training has written nothing for 15 min: it may be hanging"),
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

    assert alerts(look(bundle, at)) == (said,)


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
    assert "1 line of the logs is damaged and ignored" in alerts(run)


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
        ("empty", "is not a bundle"),
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


def test_the_best_reward_is_the_highest(tmp_path: Path) -> None:
    """GRPO is judged by its reward: its loss hovers around zero and says nothing."""
    bundle = begin(tmp_path / "b")
    bundle.log(0, 0, eval_reward=0.9, eval_loss=0.0)
    for step, reward in ((10, 0.2), (20, 0.6), (30, 0.5), (40, 0.4), (50, 0.3)):
        bundle.log(2.0 * step, step, loss=0.0, reward=reward)
        bundle.log(2.0 * step, step, eval_reward=reward, eval_loss=-0.001 * step)
    for named in ({}, {"event": "began", "best_by": "reward", "higher_is_better": True}):
        bundle.log(101, 50, **named)
        run = look(bundle, 102)

        assert facts(run)["best"] == "step 20: reward 0.6000"
        assert facts(run)["evaluation"].startswith("step 50: reward 0.3000")
        assert "the validation reward fell 3 times in a row: best was 0.6000 at step 20" in (
            alerts(run)
        )


def test_what_the_best_is_chosen_by_is_said_by_the_log(tmp_path: Path) -> None:
    """The name is that of an evaluation's measurement, with or without its prefix."""
    bundle = Bundle(tmp_path / "b")
    bundle.note("train", "began", -10)
    bundle.log(0, 0, event="began", best_by="eval_macro_f1", higher_is_better=True)
    for step, score in ((10, 0.8), (20, 0.7)):
        bundle.log(step, step, eval_loss=1 / step, eval_macro_f1=score)

    assert facts(look(bundle, 21))["best"] == "step 10: macro f1 0.8000"


def test_training_that_stops_early_says_so(tmp_path: Path) -> None:
    """Among the lines of the run, and as news; a later attempt that passes it forgets it."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(40)
    before = look(bundle, 81)
    bundle.log(82, 40, stopped_early="training stops early, at step 40 of 100: no better")
    run = look(bundle, 83)

    assert facts(run)["stopped early"] == "training stops early, at step 40 of 100: no better"
    assert list(tell_news(before, run, named=False)) == [run.training.stopped_early]
    bundle.log(90, 20, event="began", micro_batch=8)
    assert look(bundle, 91).training.stopped_early == ""


def test_a_warning_of_training_stays_until_rewards_differ(tmp_path: Path) -> None:
    """It is among the alerts and told once more whenever training repeats it."""
    bundle = begin(tmp_path / "b")
    told = "in 5 logs all answers to a prompt got the same reward: nothing is learned"
    again = told.replace("5", "10")
    bundle.log(1, 5, reward=0.0, frac_reward_zero_std=1.0)
    first = look(bundle, 2)
    bundle.log(2, 5, warning=told)
    second = look(bundle, 3)
    bundle.log(4, 10, reward=0.0, frac_reward_zero_std=1.0)
    bundle.log(5, 10, warning=again)
    third = look(bundle, 6)

    assert alerts(second) == (told,)
    assert list(tell_news(first, second, named=False)) == [f"warning: {told}"]
    assert f"warning: {again}" in tell_news(second, third, named=False)
    bundle.log(7, 15, reward=0.1, frac_reward_zero_std=0.75)
    assert alerts(look(bundle, 8)) == ()
