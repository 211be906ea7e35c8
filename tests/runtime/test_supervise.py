"""The supervisor of run.sh: real processes as stages, real signals, real exit codes."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ftc.runtime.supervise import make_command
from tests.end_to_end.process import Ended, environment

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 60
TRAIN = "python train.py [--model MODEL]"


def write_stages(bundle: Path, **scripts: str) -> None:
    """Write scripts that first add their arguments to a file; `HERE` is the bundle's folder."""
    (bundle / "run/train").mkdir(parents=True, exist_ok=True)
    for name, text in scripts.items():
        (bundle / f"{name}.py").write_text(
            "import json, os, signal, sys, time\nfrom pathlib import Path\nHERE = Path.cwd()\n"
            "CODE = HERE / 'run/train/exit_code.json'\nSTOP = HERE / 'run/stop'\n"
            "with (HERE / 'ran.jsonl').open('a') as file:\n"
            "    file.write(json.dumps(sys.argv) + '\\n')\n" + text
        )


def read_ran(bundle: Path) -> list[list[str]]:
    """Return the arguments of the stages that ran, in their order."""
    path = bundle / "ran.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@contextmanager
def started(
    bundle: Path,
    stages: Sequence[str],
    *options: str,
    given: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
    module: str = "supervise",
) -> Iterator[subprocess.Popen[str]]:
    """Start the supervisor in a bundle's folder, with stages on its standard input."""
    command = [sys.executable, "-m", f"runtime.{module}", *options, "--", *given]
    (bundle / "stages.txt").write_text("\n".join(stages))
    with (bundle / "stages.txt").open() as lines:
        process = subprocess.Popen(
            command,
            cwd=bundle,
            env={**environment(extra), "PYTHONPATH": str(ROOT)},
            stdin=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def supervise(
    bundle: Path,
    stages: Sequence[str],
    *options: str,
    given: Sequence[str] = (),
    extra: Mapping[str, str] | None = None,
) -> Ended:
    """Run the supervisor to its end."""
    with started(bundle, stages, *options, given=given, extra=extra) as process:
        return finish(process)


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait until the supervisor ends."""
    out, err = process.communicate(timeout=LIMIT_SECONDS)
    return Ended(code=process.returncode, out=out, err=err)


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    end = time.monotonic() + LIMIT_SECONDS
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


def wait_for_end(process: int) -> None:
    """Wait until a process has ended, whether or not its end was read."""
    end = time.monotonic() + LIMIT_SECONDS
    while psutil.pid_exists(process) and psutil.Process(process).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, process
        time.sleep(0.01)


# -----------------------------------------------------------------------------
# Stages and arguments


def test_stages_run_in_order_with_the_given_arguments(tmp_path: Path) -> None:
    """A path is relative to the folder of the caller; what is no path stays as it is."""
    bundle, caller = tmp_path / "bundle", tmp_path / "caller"
    caller.mkdir()
    (caller / "rows.csv").touch()
    write_stages(bundle, prepare="", train="", evaluate="")
    stages = (
        "# a comment",
        "prepare.py [--data DATA] [--changed-data] [--model MODEL]",
        "",
        TRAIN,
        "evaluate.py --fast [--base MODEL]",
    )

    plain = supervise(bundle, stages, "--caller", str(caller))
    given = ("--data", "rows.csv", "--changed-data", "--model", "acme/tiny")
    ended = supervise(bundle, stages, "--caller", str(caller), given=given)

    assert (plain.code, ended.code) == (0, 0), plain.said + ended.said
    data = str(caller / "rows.csv")
    assert read_ran(bundle) == [
        ["prepare.py"],
        ["train.py"],
        ["evaluate.py", "--fast"],
        ["prepare.py", "--data", data, "--changed-data", "--model", "acme/tiny"],
        ["train.py", "--model", "acme/tiny"],
        ["evaluate.py", "--fast", "--base", "acme/tiny"],
    ]


@pytest.mark.parametrize("given", [["--other"], ["--changed-data"], ["--data"], ["rows.csv"]])
def test_an_argument_that_no_stage_takes(tmp_path: Path, given: list[str]) -> None:
    """It is an error of usage, and no stage runs."""
    write_stages(tmp_path, prepare="")

    ended = supervise(tmp_path, ["prepare.py [--data DATA]"], given=given)

    assert ended.code == 2
    assert "usage: ./run.sh [-h] [--data DATA]" in ended.err
    assert read_ran(tmp_path) == []


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("raise SystemExit(3)", 3),
        ("raise SystemExit('a sentence')", 1),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137),
    ],
)
def test_a_stage_that_fails_ends_the_run(tmp_path: Path, script: str, code: int) -> None:
    """Its exit code is that of the run, in a shell's way after a signal."""
    write_stages(tmp_path, prepare=script, merge="")

    ended = supervise(tmp_path, ["prepare.py", "merge.py"])

    assert ended.code == code, ended.said
    assert read_ran(tmp_path) == [["prepare.py"]]


def test_a_command_that_is_missing(tmp_path: Path) -> None:
    """It is named, and the exit code is a shell's."""
    ended = supervise(tmp_path, ["no-command prepare.py"])

    assert ended.code == 127
    assert "run.sh: cannot start `no-command` for prepare.py: No such file" in ended.err


def test_a_stage_has_its_own_session_and_no_input(tmp_path: Path) -> None:
    """A signal to the terminal's processes does not reach it, and it does not read the stages."""
    write_stages(tmp_path, prepare="print(os.getsid(0) == os.getpid(), repr(sys.stdin.read()))")

    ended = supervise(tmp_path, ["prepare.py", "prepare.py"])

    assert ended.out == "True ''\n" * 2, ended.said


def test_threads_of_training_share_the_cores(tmp_path: Path) -> None:
    """Each process on a CPU gets its part, at least one; a number that is set stays; no GPU's."""
    text = "print(os.environ.get('OMP_NUM_THREADS'))"
    write_stages(tmp_path, train=text, prepare=text)
    stages = ("prepare.py", TRAIN)
    none = {"OMP_NUM_THREADS": ""}

    single = supervise(tmp_path, stages, "--cpu-processes", "1", extra=none).out.split()
    many = supervise(tmp_path, stages, "--cpu-processes", "9999", extra=none).out.split()
    chosen = supervise(
        tmp_path, stages, "--cpu-processes", "1", extra={"OMP_NUM_THREADS": "7"}
    ).out.split()
    gpu = supervise(tmp_path, [TRAIN], extra=none).out.split()

    assert single == [str(len(os.sched_getaffinity(0)))]  # preparation has no such number
    assert many == ["1"]
    assert chosen == ["7", "7"]
    assert gpu == []


def test_commands_run_in_the_container(tmp_path: Path) -> None:
    """Scripts and launchers do; what enters the container by itself does not."""
    (tmp_path / "container.txt").write_text("docker://train:1\n../rows.csv\n")
    inside = ["apptainer", "exec", "--nv", "docker://train:1"]
    given = {"model": "/m", "data": None, "changed_data": True}

    assert make_command("merge.py [--model MODEL] [--data DATA]", given, tmp_path) == [
        *inside,
        *("python", "merge.py", "--model", "/m"),
    ]
    assert make_command("accelerate launch train.py [--changed-data]", given, tmp_path) == [
        *inside,
        *("accelerate", "launch", "train.py", "--changed-data"),
    ]
    assert make_command("srun ./node.sh [--model MODEL]", given, tmp_path) == [
        *("srun", "./node.sh", "--model", "/m"),
    ]
    assert make_command("merge.py", given, tmp_path / "elsewhere") == ["python", "merge.py"]


# -----------------------------------------------------------------------------
# Signals

SAVES = (
    "(HERE / 'began').touch()\n"
    "while not STOP.exists():\n    time.sleep(0.01)\n"
    "(HERE / 'saved').touch()\nSTOP.unlink()\nCODE.write_text('75\\n')\nraise SystemExit(1)"
)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_makes_training_save(tmp_path: Path, sent: signal.Signals) -> None:
    """Training ends by itself, and the run with 75, instead of a restart or the next stage."""
    write_stages(tmp_path, train=SAVES, merge="")

    with started(tmp_path, [TRAIN, "merge.py"], "--restarts", "3") as process:
        wait_for(tmp_path / "began")
        process.send_signal(sent)
        ended = finish(process)

    assert ended.code == 75, ended.said
    assert (tmp_path / "saved").exists()
    assert "training saves a checkpoint at the end of this step" in ended.err
    assert "run.sh: stopped by a signal in train.py; ./run.sh resumes" in ended.err
    assert read_ran(tmp_path) == [["train.py"]]


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_terminates_any_other_stage(tmp_path: Path, sent: signal.Signals) -> None:
    """The next start repeats the stage."""
    write_stages(tmp_path, prepare="(HERE / 'began').touch()\ntime.sleep(60)", merge="")

    with started(tmp_path, ["prepare.py", "merge.py"]) as process:
        wait_for(tmp_path / "began")
        process.send_signal(sent)
        ended = finish(process)

    assert ended.code == 75, ended.said
    assert "stopped by a signal in prepare.py" in ended.err
    assert read_ran(tmp_path) == [["prepare.py"]]
    assert not (tmp_path / "run/stop").exists()


def test_a_second_interrupt_kills_training(tmp_path: Path) -> None:
    """Its launcher is killed, and the workers, which have sessions of their own."""
    worker = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    write_stages(
        tmp_path,
        train=(
            "import subprocess\n"
            f"command = [sys.executable, '-c', {worker!r}]\n"
            "worker = subprocess.Popen(command, start_new_session=True)\n"
            "(HERE / 'worker').write_text(str(worker.pid))\n"
            "(HERE / 'began').touch()\nworker.wait()"
        ),
    )

    with started(tmp_path, [TRAIN]) as process:
        wait_for(tmp_path / "began")
        process.send_signal(signal.SIGINT)
        wait_for(tmp_path / "run/stop")
        process.send_signal(signal.SIGINT)
        ended = finish(process)

    assert ended.code == 75, ended.said
    wait_for_end(int((tmp_path / "worker").read_text()))
    assert (tmp_path / "run/stop").exists()


def test_training_is_terminated_if_it_cannot_be_asked(tmp_path: Path) -> None:
    """Here the name of the stop file is a link into a folder that does not exist."""
    stops = "signal.signal(15, lambda *_: sys.exit(0))\n(HERE / 'began').touch()\ntime.sleep(60)"
    write_stages(tmp_path, train=f"STOP.symlink_to('missing/stop')\n{stops}")

    with started(tmp_path, [TRAIN]) as process:
        wait_for(tmp_path / "began")
        process.terminate()
        ended = finish(process)

    assert ended.code == 75, ended.said
    assert "stopped by a signal in train.py" in ended.err


def test_a_request_to_stop_is_forgotten_at_the_next_start(tmp_path: Path) -> None:
    """A file that an earlier run left would stop the training of this one."""
    write_stages(tmp_path, train="raise SystemExit(STOP.exists())")
    (tmp_path / "run/stop").touch()

    assert supervise(tmp_path, [TRAIN]).code == 0


def test_the_run_waits_for_a_process_that_still_saves(tmp_path: Path) -> None:
    """A launcher may end before its workers: the next stage starts when the lock is free."""
    write_stages(
        tmp_path,
        train=(
            "import fcntl\nfile = (HERE / 'run/.lock').open('w')\n"
            "fcntl.flock(file, fcntl.LOCK_EX)\n"
            "if os.fork() == 0:\n"
            "    time.sleep(0.5)\n    (HERE / 'saved').touch()\n    os._exit(0)"
        ),
        merge="raise SystemExit(not (HERE / 'saved').exists())",
    )

    ended = supervise(tmp_path, [TRAIN, "merge.py"])

    assert ended.code == 0, ended.said


# -----------------------------------------------------------------------------
# Restarts

COUNTS = (
    "starts = HERE / 'starts'\nnumber = int(starts.read_text()) + 1 if starts.exists() else 1\n"
    "starts.write_text(str(number))\nassert not CODE.exists()\n"
)


@pytest.mark.parametrize("code", [75, 76])
def test_training_is_restarted(tmp_path: Path, code: int) -> None:
    """After a signal of its own or out of memory it goes on, and so do the next stages."""
    ends = COUNTS + f"if number < 3:\n    CODE.write_text('{code}\\n')\n    raise SystemExit(1)"
    write_stages(tmp_path, train=ends, merge="")

    ended = supervise(tmp_path, [TRAIN, "merge.py"], "--restarts", "2")

    assert ended.code == 0, ended.said
    assert read_ran(tmp_path) == [["train.py"]] * 3 + [["merge.py"]]


@pytest.mark.parametrize(
    ("options", "written", "starts", "code"),
    [
        (("--restarts", "2"), "76", 3, 76),
        (("--restarts", "2"), "77", 1, 77),
        (("--restarts", "2"), "", 1, 1),
        (("--restarts", "2"), None, 1, 1),
        (("--restarts", "2", "--restart-after", "76"), "75", 1, 75),
        ((), "76", 1, 76),
    ],
)
def test_training_is_restarted_so_often_and_after_these_codes(
    tmp_path: Path, options: Sequence[str], written: str | None, starts: int, code: int
) -> None:
    """Any other exit code is that of the run, 1 if training wrote none; nothing comes after it."""
    note = "" if written is None else f"CODE.write_text('{written}\\n')\n"
    write_stages(tmp_path, train=COUNTS + note + "raise SystemExit(9)", merge="")

    ended = supervise(tmp_path, [TRAIN, "merge.py"], *options)

    assert ended.code == code, ended.said
    assert read_ran(tmp_path) == [["train.py"]] * starts
    assert ("training was restarted 2 times" in ended.err) == (starts == 3)


def test_a_pilot_ends_the_run(tmp_path: Path) -> None:
    """It is restarted as training is, its exit code has a file of its own, and nothing follows."""
    out_of_memory = (
        "CODE = HERE / 'run/pilot/exit_code.json'\n"
        "if not CODE.parent.exists():\n"
        "    CODE.parent.mkdir()\n    CODE.write_text('76')\n    sys.exit(1)\n"
    )
    write_stages(tmp_path, prepare="", train=out_of_memory, evaluate="")
    stages = ("prepare.py", "train.py [--model MODEL] [--pilot]", "evaluate.py")
    (tmp_path / "run/train/exit_code.json").write_text("1")

    ended = supervise(tmp_path, stages, "--restarts", "3", given=("--pilot",))

    assert ended.code == 0, ended.said
    pilot = ["train.py", "--pilot"]
    assert read_ran(tmp_path) == [["prepare.py"], pilot, pilot]
    assert (tmp_path / "run/train/exit_code.json").read_text() == "1"
    assert supervise(tmp_path, stages).code == 0
    assert read_ran(tmp_path)[3:] == [["prepare.py"], ["train.py"], ["evaluate.py"]]


def test_a_killed_training_is_explained(tmp_path: Path) -> None:
    """The logged event contains the sentence that run.sh prints."""
    began = '{"stage": "train", "event": "began"}\n'
    write_stages(
        tmp_path,
        train=(
            f"(HERE / 'run/stages.jsonl').write_text({began!r})\n"
            "os.kill(os.getpid(), signal.SIGKILL)"
        ),
    )

    ended = supervise(tmp_path, [TRAIN])

    assert ended.code == 1
    (said,) = ended.err.splitlines()
    event = json.loads((tmp_path / "run/stages.jsonl").read_text().splitlines()[-1])
    assert said == f"run.sh: {event['sentence']}"
    assert "training ended after step 0 without an error message" in said


# -----------------------------------------------------------------------------
# Several nodes


def test_other_nodes_wait_and_only_train(tmp_path: Path) -> None:
    """They start when the first one listens, and run no other stage."""
    write_stages(tmp_path, prepare="", train="", merge="")
    stages = ("prepare.py", TRAIN, "merge.py")
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        node = f"127.0.0.1:{first.getsockname()[1]}"
        with started(tmp_path, stages, "--node", "1", node, module="nodes") as process:
            time.sleep(0.5)
            waiting = read_ran(tmp_path)
            first.listen()
            ended = finish(process)

    assert waiting == []
    assert ended.code == 0, ended.said
    assert ended.out == "run.sh: node 1 waits until training starts on 127.0.0.1\n"
    assert read_ran(tmp_path) == [["train.py"]]


def test_a_node_that_waits_can_be_stopped(tmp_path: Path) -> None:
    """It does not wait for a first node that never comes."""
    write_stages(tmp_path, train="")
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        node = f"127.0.0.1:{first.getsockname()[1]}"
        with started(tmp_path, [TRAIN], "--node", "1", node, module="nodes") as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.terminate()
            ended = finish(process)

    assert ended.code == 75, ended.said
    assert read_ran(tmp_path) == []


def test_the_first_node_runs_all_stages(tmp_path: Path) -> None:
    """It waits for no other node."""
    write_stages(tmp_path, prepare="", train="")
    with started(
        tmp_path, ["prepare.py", TRAIN], "--node", "0", "host:1", module="nodes"
    ) as process:
        ended = finish(process)

    assert ended.code == 0, ended.said
    assert [name for name, *_ in read_ran(tmp_path)] == ["prepare.py", "train.py"]


def test_another_node_leaves_the_exit_code_to_the_first(tmp_path: Path) -> None:
    """The folder is shared: the first node may have written it already."""
    write_stages(tmp_path, train="raise SystemExit(1)")
    (tmp_path / "run/train/exit_code.json").write_text("77\n")
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        first.listen()
        node = f"127.0.0.1:{first.getsockname()[1]}"
        with started(tmp_path, [TRAIN], "--node", "1", node, module="nodes") as process:
            ended = finish(process)

    assert ended.code == 77, ended.said


def test_only_the_standard_library_is_imported() -> None:
    """The supervisor starts before the environment of the bundle is known to be complete."""
    command = [sys.executable, "-S", "-c", "import runtime.supervise"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
