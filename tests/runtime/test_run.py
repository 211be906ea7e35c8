"""The run folder: one stage at a time, how each stage ends, and when it is up to date."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ftc.runtime.run import Run
from ftc.tui.watch.run import Watched
from tests.runtime.stage_scripts import BEGIN, ROOT, SCRIPT, execute, read_stage, start

# -----------------------------------------------------------------------------
# Begin and end


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", ("done", None, "")),
        ("raise SystemExit", ("done", None, "")),
        (
            "raise ValueError('hf_planted')",
            ("failed", 1, "ValueError: see the output of the stage"),
        ),
        ("run.stop('no model')", ("failed", 1, "no model")),
        ("run.ensure([], 'no weights')", ("failed", 1, "post-condition failed: no weights")),
        (
            "run.end.update(event='stopped', code=75, sentence='x')\nrun.finish()\nos._exit(75)",
            ("stopped", 75, "x"),
        ),
    ],
)
def test_the_end_of_a_stage_is_logged(
    tmp_path: Path, rest: str, expected: tuple[str, int | None, str]
) -> None:
    """Done, failed or stopped; an error by its name only, because its text may hold a secret."""
    execute(tmp_path, BEGIN + rest)
    stage = read_stage(tmp_path)

    assert stage.name == "merge"
    assert (stage.status, stage.code, stage.sentence) == expected
    log = (tmp_path / "run/stages.jsonl").read_text()
    assert "planted" not in log
    assert log.count("\n") == 2  # the end is logged once


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (signal.SIGINT, ("stopped", 130, "interrupted from the keyboard")),
        (signal.SIGKILL, ("gone", None, "")),
    ],
)
def test_a_stage_that_is_interrupted_or_killed(
    tmp_path: Path, sent: signal.Signals, expected: tuple[str, int | None, str]
) -> None:
    """An interrupt is logged; after a kill the process is missing."""
    with start(tmp_path, f"{BEGIN}print(flush=True)\ntime.sleep(60)") as process:
        assert process.stdout is not None
        process.stdout.readline()
        alive = read_stage(tmp_path).status
        process.send_signal(sent)
    stage = read_stage(tmp_path)

    assert alive == "running"
    assert (stage.status, stage.code, stage.sentence) == expected


def test_only_the_process_that_began_logs_an_end(tmp_path: Path) -> None:
    """Of several processes of one training only the first begins the stage."""
    assert execute(tmp_path, f"{SCRIPT}run.finish()").code == 0

    assert not (tmp_path / "run").exists()


def test_a_log_that_cannot_be_written_does_not_end_the_stage(tmp_path: Path) -> None:
    """Here its name is a folder; on a full disk the line would not fit."""
    (tmp_path / "run/stages.jsonl").mkdir(parents=True)

    assert execute(tmp_path, BEGIN).code == 0


def test_a_message_has_the_name_of_the_script(tmp_path: Path) -> None:
    """One sentence, without a traceback."""
    ended = execute(tmp_path, f"{BEGIN}run.stop('there is no model: train first')")

    assert (ended.code, ended.err) == (1, "export.py: there is no model: train first\n")


def test_only_the_first_process_prints(tmp_path: Path) -> None:
    """Its rank and the number of processes come from the launcher."""
    code = f"{SCRIPT}run.say(f'{{run.rank}} of {{run.processes}}')"

    assert execute(tmp_path, code).out == "0 of 1\n"
    assert execute(tmp_path, code, RANK="0", WORLD_SIZE="2").out == "0 of 2\n"
    assert execute(tmp_path, code, RANK="1", WORLD_SIZE="2").out == ""


def test_every_process_trains_with_the_same_attention_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first process begins the stage; the others get the variable as well."""
    name = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
    monkeypatch.setattr(os, "environ", {"RANK": "1", "WORLD_SIZE": "2"})

    Run(tmp_path, stage="train")

    assert os.environ[name] == "1"
    os.environ[name] = "0"
    Run(tmp_path, stage="train")
    assert os.environ[name] == "0"


def test_two_stages_of_one_script(tmp_path: Path) -> None:
    """The second begins when the first has ended and has released the lock."""
    second = "other = Run(Path.cwd(), stage='adapter', script='export.py')\nother.begin()\n"
    ended = execute(tmp_path, f"{BEGIN}run.finish()\nrun.release_lock()\n{second}other.stop('no')")

    stages = {stage.name: stage.status for stage in Watched(tmp_path).look(time.time()).stages}
    assert ended.err == "export.py: no\n"
    assert stages == {"merge": "done", "adapter": "failed"}


# -----------------------------------------------------------------------------
# The lock


def test_two_stages_at_the_same_time(tmp_path: Path) -> None:
    """The second one ends with a sentence; the lock is free when the first process has ended."""
    wait = f"{BEGIN}print('locked', flush=True)\nsys.stdin.read()"
    with start(tmp_path, wait) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "locked\n"
        second = execute(tmp_path, BEGIN)
        first.communicate("")
    third = execute(tmp_path, BEGIN)

    assert second.code == 1
    assert second.err == (
        f"export.py: another stage is running in {tmp_path}/run: wait for it, or stop it\n"
    )
    assert third.code == 0, third.said


# -----------------------------------------------------------------------------
# Records


def test_a_stage_is_done_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs again when its script, an input or an output changes, and prints why."""
    script, rows, out = (tmp_path / name for name in ("merge.py", "rows.csv", "run/merged"))
    script.write_text("x = 1")
    rows.write_text("before")
    out.mkdir(parents=True)

    def is_done() -> bool:
        run = Run(tmp_path, stage="merge")
        identity = run.identify(rows, "a value")
        done = run.is_done(identity)
        if not done:
            (out / "weights").write_text("1")
            run.mark_done(identity, out)
        return done

    first = is_done(), is_done()
    assert "merge: already done (it took 0 s)" in capsys.readouterr().out
    script.write_text("x = 2")
    changed_script = is_done(), is_done()
    assert "merge: runs again, because" in capsys.readouterr().out
    rows.write_text("after")
    changed_input = is_done(), is_done()
    (out / "weights").write_text("2")
    changed_output = is_done(), is_done()

    assert {first, changed_script, changed_input, changed_output} == {(False, True)}
    assert json.loads((tmp_path / "run/done/merge.json").read_text())["seconds"] >= 0


def test_each_training_is_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The results of an earlier training are stale, even if the weights are equal."""
    (tmp_path / "stage.py").touch()
    chain = (("train", "data"), ("merge", "train"), ("quantize", "merge"))

    def run_all() -> list[bool]:
        done = []
        for name, before in chain:
            run = Run(tmp_path, stage=name, script="stage.py")
            identity = run.identify(run.folder / before)
            done.append(run.is_done(identity))
            if not done[-1]:
                (run.folder / name).mkdir(parents=True, exist_ok=True)
                (run.folder / name / "weights").write_text("1")
                run.mark_done(identity, run.folder / name, trained=name == "train")
        return done

    assert run_all() == [False] * 3
    assert run_all() == [True] * 3
    (tmp_path / "run/done/train.json").unlink()
    capsys.readouterr()
    assert run_all() == [False] * 3
    said = capsys.readouterr().out
    for name in ("merge", "quantize"):
        assert f"{name}: runs again, because the model was trained again" in said


def test_a_chained_bundle_follows_the_training_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second bundle trains again when the first one did, even on equal weights."""
    first, second = tmp_path / "first", tmp_path / "second"
    for bundle in (first, second):
        bundle.mkdir()
        (bundle / "stage.py").touch()
        (bundle / "ftc.lock.json").touch()

    def run_stage(bundle: Path, stage: str, *read: str) -> bool:
        run = Run(bundle, stage=stage, script="stage.py")
        identity = run.identify(*read)
        done = run.is_done(identity)
        if not done:
            (run.folder / stage).mkdir(parents=True, exist_ok=True)
            (run.folder / stage / "weights").write_text("1")
            run.mark_done(identity, run.folder / stage, trained=stage == "train")
        return done

    def run_all() -> list[bool]:
        merged = str(first / "run/merged")
        trained = run_stage(first, "train")
        (first / "run/merged").mkdir(exist_ok=True)
        return [
            trained,
            run_stage(first, "merged", str(first / "run/train")),
            run_stage(second, "train", merged),
        ]

    assert run_all() == [False] * 3
    assert run_all() == [True] * 3
    (first / "run/done/train.json").unlink()
    capsys.readouterr()
    assert run_all() == [False] * 3
    assert "train: runs again, because the model was trained again" in capsys.readouterr().out


@pytest.mark.parametrize("text", ['{"fingerprint": "x", "outputs": {}}', "[]", "cut sho"])
def test_a_record_of_an_earlier_version(tmp_path: Path, text: str) -> None:
    """The stage is not done."""
    (tmp_path / "run/done").mkdir(parents=True)
    (tmp_path / "run/done/prepare.json").write_text(text)
    (tmp_path / "prepare.py").touch()
    run = Run(tmp_path, stage="prepare")

    assert not run.is_done(run.identify())


@pytest.mark.parametrize("changed", ["rows.csv", "model/config.json"])
def test_inputs_that_changed_between_stages(tmp_path: Path, changed: str) -> None:
    """An input that changed after a stage read it stops the next one; a missing one does not."""
    (tmp_path / "model").mkdir()
    for name in ("rows.csv", "model/config.json", "prepare.py"):
        (tmp_path / name).write_text("1")
    run = Run(tmp_path, stage="prepare")
    run.mark_done(run.identify(tmp_path / "rows.csv", tmp_path / "model"))
    run.check_inputs("prepare")
    run.check_current("prepare")
    run.check_inputs("a stage that never ran")

    (tmp_path / changed).write_text("22")
    for check in (run.check_inputs, run.check_current):
        with pytest.raises(SystemExit, match=f"{changed} has changed since stage `prepare`"):
            check("prepare")
    (tmp_path / changed).unlink()

    run.check_inputs("prepare")


def test_a_script_that_changed_since_a_stage_ran(tmp_path: Path) -> None:
    """A stage that reads another one's result in memory needs the scripts to be the same."""
    (tmp_path / "prepare.py").write_text("x = 1")
    run = Run(tmp_path, stage="prepare")
    run.mark_done(run.identify())

    (tmp_path / "prepare.py").write_text("x = 2")

    run.check_inputs("prepare")
    with pytest.raises(SystemExit, match=r"prepare.py has changed since stage `prepare` ran"):
        run.check_current("prepare")


def test_an_output_that_was_changed(tmp_path: Path) -> None:
    """It stops the stage that reads it."""
    (tmp_path / "prepare.py").touch()
    (tmp_path / "train.py").touch()
    run, rows = Run(tmp_path, stage="prepare"), tmp_path / "run/data/train.jsonl"
    rows.parent.mkdir(parents=True)
    rows.write_text("1\n")
    run.mark_done(run.identify(), rows.parent)
    run.check_outputs(rows)
    Run(tmp_path, stage="train").identify(rows.parent)

    rows.write_text("22\n")

    with pytest.raises(SystemExit, match=r"run/data/train.jsonl"):
        run.check_outputs(rows)
    with pytest.raises(SystemExit, match=r"run/data/train.jsonl"):
        Run(tmp_path, stage="train").identify(rows.parent)


def test_a_bundle_inside_its_model(tmp_path: Path) -> None:
    """Files of this run, or of another bundle in that folder, do not change the model."""
    bundle = tmp_path / "bundle"
    (tmp_path / "parts").mkdir()
    for name in ("config.json", "parts/more.json"):
        (tmp_path / name).write_text("before")
    (bundle / "run/train").mkdir(parents=True)
    (bundle / "prepare.py").touch()

    def identify() -> str:
        return Run(bundle, stage="prepare").identify(tmp_path).fingerprint

    first = identify()
    (bundle / "run/train/log.jsonl").write_text("{}")
    (tmp_path / "other/run").mkdir(parents=True)
    (tmp_path / "other/ftc.lock.json").write_text("{}")
    second = identify()
    (tmp_path / "parts/more.json").write_text("after")

    assert first == second != identify()


# -----------------------------------------------------------------------------
# Models and rows


def test_a_model_is_a_folder_or_the_pinned_one(tmp_path: Path) -> None:
    """Any other id of the Hub could change between two stages."""
    run, folder = Run(tmp_path, stage="train"), tmp_path / "other"
    folder.mkdir()
    (folder / "config.json").write_text("{}")

    run.need_model("acme/tiny", "acme/tiny")
    run.need_model(str(folder), "acme/tiny")
    run.need_model(folder)
    with pytest.raises(SystemExit, match=r"train.py: acme/other is not a model's folder"):
        run.need_model("acme/other", "acme/tiny")
    with pytest.raises(SystemExit, match=r"has no config.json: give its path with --model"):
        run.need_model(tmp_path / "missing")


def test_rows_are_read(tmp_path: Path) -> None:
    """All of them or the first; a missing file is an earlier stage's."""
    run, path = Run(tmp_path, stage="train"), tmp_path / "run/data/train.jsonl"
    with pytest.raises(SystemExit, match=r"run/data/train.jsonl is missing: run the stages before"):
        run.read_rows(path)
    path.parent.mkdir(parents=True)
    path.write_text('{"a": "ç"}\n2\n3\n', encoding="utf-8")

    assert run.read_rows(path) == [{"a": "ç"}, 2, 3]
    assert run.read_rows(path, 1) == [{"a": "ç"}]


def test_nothing_is_imported_but_the_standard_library() -> None:
    """Every stage has these modules, before it is known which packages are installed."""
    command = [sys.executable, "-S", "-c", "import runtime.run"]
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("given", [None, "0"])
def test_cudnn_plans_no_attention_unless_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    """The setting is there before a stage computes; that of the user stays."""
    name = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
    monkeypatch.delenv(name, raising=False)
    if given is not None:
        monkeypatch.setenv(name, given)
    ended = execute(tmp_path, f"{BEGIN}print(os.environ[{name!r}])")
    assert ended.out.split() == [given or "1"]
