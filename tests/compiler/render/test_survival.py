"""What the shared modules of a bundle do with real files: whole checkpoints, full disks, locks."""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.compiler.conftest import BuildKnown
from tests.compiler.render.stage_folders import NAMES, apart, run_cases, run_in, write_checkpoint
from tests.compiler.render.test_bundle import FULL, render
from tests.end_to_end.process import run


@pytest.fixture
def survival(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the bundle's module, imported as train.py does it, from the bundle's folder."""
    monkeypatch.syspath_prepend(str(bundle))
    monkeypatch.chdir(bundle)
    with apart(*NAMES):
        yield importlib.import_module("survival")


def test_a_sealed_checkpoint_is_whole(survival: ModuleType, bundle: Path) -> None:
    """Cut, changed, enlarged or led elsewhere, a checkpoint is not read any more."""
    damages: dict[str, Callable[[Path], object]] = {
        "cut": lambda at: os.truncate(at / "optimizer.pt", 999),
        "changed": lambda at: (at / "optimizer.pt").write_bytes(b"x" * 1000),
        "enlarged": lambda at: (at / "pytorch_model.bin").write_bytes(b"x"),
        "less": lambda at: (at / "optimizer.pt").unlink(),
        "unsealed": lambda at: (at / "manifest.json").unlink(),
        "half sealed": lambda at: os.truncate(at / "manifest.json", 20),
    }
    for step, (name, damage) in enumerate(damages.items(), 1):
        checkpoint = write_checkpoint(bundle, step)
        survival.seal(checkpoint)
        assert survival.is_sealed(checkpoint), name
        damage(checkpoint)
        assert not survival.is_sealed(checkpoint), name


def test_what_lies_elsewhere_is_not_read(survival: ModuleType, bundle: Path) -> None:
    """A file or a folder that a link leads to outside of the run folder does not count."""
    inside, outside = write_checkpoint(bundle, 1), bundle / "elsewhere"
    survival.seal(inside)
    shutil.copytree(inside, outside)
    (inside / "optimizer.pt").unlink()
    (inside / "optimizer.pt").symlink_to(outside / "optimizer.pt")
    (inside.parent / "checkpoint-2").symlink_to(outside)

    assert not survival.is_sealed(inside)
    assert survival.last_checkpoint() is None


def test_other_processes_cannot_go_on(survival: ModuleType, bundle: Path) -> None:
    """A checkpoint of two processes is not one of one."""
    checkpoint = write_checkpoint(bundle, 1)
    survival.seal(checkpoint)
    noted = json.loads((checkpoint / "manifest.json").read_text())
    (checkpoint / "manifest.json").write_text(json.dumps({**noted, "processes": 2}))

    assert not survival.is_sealed(checkpoint)


def test_a_clock_that_jumped(survival: ModuleType, bundle: Path) -> None:
    """The newest checkpoint is the one of the latest step, whatever the files' times say."""
    for step in (8, 16, 24):
        checkpoint = write_checkpoint(bundle, step)
        survival.seal(checkpoint)
        for path in (checkpoint, *checkpoint.iterdir()):
            os.utime(path, (2e9 - step * 1e7, 2e9 - step * 1e7))

    survival.let_go(None, 2)

    kept = {path.name for path in survival.numbered()}
    assert kept == {"checkpoint-16", "checkpoint-24"}
    assert survival.last_checkpoint() == "run/train/checkpoints/checkpoint-24"


def test_the_best_checkpoint_stays(survival: ModuleType, bundle: Path) -> None:
    """The best one counts among those that are kept; one cut short is no loss."""
    for step in (8, 16, 24, 32):
        checkpoint = write_checkpoint(bundle, step)
        if step != 16:
            survival.seal(checkpoint)

    survival.let_go("run/train/checkpoints/checkpoint-8", 2)

    assert [path.name for path in survival.numbered()] == ["checkpoint-32", "checkpoint-8"]


def test_one_cut_short_deletes_nothing(survival: ModuleType, bundle: Path) -> None:
    """While the newest is not sealed, the one before it stays, and is gone on from."""
    survival.seal(write_checkpoint(bundle, 8))
    write_checkpoint(bundle, 16)

    survival.let_go(None, 1)

    assert len(survival.numbered()) == 2
    assert survival.last_checkpoint() == "run/train/checkpoints/checkpoint-8"


def test_a_broken_best_one_is_not_loaded(survival: ModuleType, bundle: Path) -> None:
    """A checkpoint whose best one is there but broken would load that at the end."""
    best = write_checkpoint(bundle, 8)
    survival.seal(best)
    last = write_checkpoint(bundle, 16, "run/train/checkpoints/checkpoint-8")
    survival.seal(last)
    assert survival.last_checkpoint() == last.relative_to(bundle).as_posix()
    os.truncate(best / "model.safetensors", 10)

    assert survival.last_checkpoint() is None


def test_a_bundle_that_moved_in_the_middle_of_training(
    survival: ModuleType, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checkpoints and the best of them are found where the bundle lies now."""
    survival.seal(write_checkpoint(bundle, 8))
    survival.seal(write_checkpoint(bundle, 16, "run/train/checkpoints/checkpoint-8"))
    moved = Path(shutil.copytree(bundle, bundle.with_name(f"moved-{bundle.name}")))
    monkeypatch.chdir(moved)
    monkeypatch.syspath_prepend(str(moved))
    shutil.rmtree(bundle)
    for name in NAMES:
        sys.modules.pop(name, None)

    again = importlib.import_module("survival")

    home = again.guard.HERE
    assert home == moved
    assert again.last_checkpoint() == "run/train/checkpoints/checkpoint-16"
    os.truncate(moved / "run/train/checkpoints/checkpoint-8/optimizer.pt", 10)
    assert again.last_checkpoint() is None


def test_the_rows_and_the_memory(bundle: Path) -> None:
    """A batch is told by its lines, a real failure to allocate by the plan's figures."""
    (bundle / "run/train").mkdir(parents=True)
    fails = (
        "import mmap\ntry:\n    {}\n"
        "except (RuntimeError, OSError) as error:\n"
        "    state = types.SimpleNamespace(global_step=2)\n"
        "    survival.explain(error, state, 0, {}, 3 * 2**30)\n"
    )
    tensor, mapping = "torch.empty(2**60)", "mmap.mmap(-1, 2**60)"
    rows, smaller, mapped, smallest = run_cases(
        bundle,
        "rows = [{'input_ids': [1, 2, 3]}, {'input_ids': [4, 5]}, {'chosen_ids': [6, 7, 8]}]\n"
        "survival.guard.write_rows(survival.guard.RUN / 'data/train.jsonl', rows)\n"
        "batch = {'input_ids': torch.tensor([[9, 6, 7, 8], [4, 5, 0, 0]])}\n"
        "assert survival.find_rows([{'prompt': 'a'}]) == ''\n"
        "survival.diverge('the loss is nan' + survival.find_rows(batch))\n",
        fails.format(tensor, [[4, 2], [2, 4]]),
        fails.format(mapping, [[8, 1], [4, 2]]),
        fails.format(tensor, [[4, 2]]),
    )

    assert rows.code == 77
    assert "are the lines [2, 3] of run/data/train.jsonl" in rows.err
    assert "nothing of training is saved yet: ./run.sh begins it again" in rows.err
    assert smaller.code == 76
    assert "out of memory at step 3 with 4 rows per pass" in smaller.err
    assert "3.00 GiB were planned; next with 2 x 4 passes, the same batch" in smaller.err
    assert mapped.code == 76
    assert "next with 4 x 2 passes, the same batch ([Errno 12] Cannot allocate" in mapped.err
    noted = json.loads((bundle / "run/train/batch.json").read_text())
    assert noted["row"] == 1
    assert noted["changes"][0]["to"] == [4, 2]
    assert smallest.code == 1
    assert "3.00 GiB were planned; fewer rows are not possible" in smallest.err
    assert (bundle / "run/train/exit_code.json").read_text() == "1\n"


def test_another_ladder_forgets_the_row(survival: ModuleType, bundle: Path) -> None:
    """What memory allowed before a new plan says nothing about that plan's batches."""
    noted = {"row": 1, "ladder": [[4, 2], [2, 4]], "changes": []}
    survival.guard.write_json(bundle / "run/train/batch.json", noted)

    assert survival.read_batch([[4, 2], [2, 4]])["row"] == 1
    assert survival.read_batch([[8, 1], [4, 2]])["row"] == 0


def test_killed_without_a_word(bundle: Path) -> None:
    """The kernel's kill for memory leads to a smaller batch; any other one is said, and no more."""
    uncounted, counted = str(10**15), "-1"  # kills before: so many, that there was none since
    write_checkpoint(bundle, 8)
    (bundle / "run/train/checkpoints/checkpoint-8/manifest.json").write_text("{}")
    begin = "import sys\nsys.argv[0] = 'train.py'\nimport guard, journal\nguard.lock()\n"
    noted = {"row": 0, "ladder": [[4, 2], [2, 4]], "changes": []}
    (bundle / "run/train/batch.json").write_text(json.dumps(noted))
    record = "{'step': 9, 'memory_bytes': 3 * 2**30}"
    die = f"journal.append(guard.RUN / 'train/log.jsonl', **{record})\nimport os\nos._exit(9)"
    assert run_in(bundle, begin + die).code == 9

    by_somebody = run(sys.executable, "killed.py", uncounted, cwd=bundle)
    assert json.loads((bundle / "run/train/batch.json").read_text()) == noted
    run_in(bundle, begin + die)
    for_memory = run(sys.executable, "killed.py", counted, cwd=bundle)
    smaller = json.loads((bundle / "run/train/batch.json").read_text())
    run_in(bundle, begin + "guard.stop('the disk is full')")
    spoken = run(sys.executable, "killed.py", uncounted, cwd=bundle)

    assert "ended without a word after step 9, as if by signal 9: somebody's" in by_somebody.err
    assert "3.00 GiB were held" in by_somebody.err
    assert "with `train.py --row 1` the same batch takes less" in by_somebody.err
    assert "saved is run/train/checkpoints/checkpoint-8; ./run.sh goes on" in by_somebody.err
    assert "the kernel killed training after step 9, as memory ran out" in for_memory.err
    assert "next with 2 x 4 passes, the same batch" in for_memory.err
    assert (smaller["row"], smaller["changes"][0]["to"]) == (1, [2, 4])
    assert (bundle / "run/train/exit_code.json").read_text() == "76\n"
    assert (spoken.code, spoken.said) == (0, "exit 0\n\n")


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Path]:
    """Make a control group of 64 MiB, of the first version or the second; give its folder."""
    root = Path("/sys/fs/cgroup")
    first = (root / "memory").is_dir()
    folder = root / ("memory" if first else "") / f"ftc-{os.getpid()}-{tmp_path.name}"
    limits = {"memory.limit_in_bytes": 2**26, "memory.swappiness": 0}
    try:
        folder.mkdir()
        for name, limit in (
            limits if first else {"memory.max": 2**26, "memory.swap.max": 0}
        ).items():
            (folder / name).write_text(str(limit))
    except OSError:
        if folder.is_dir():
            folder.rmdir()
        pytest.skip("limiting memory needs rights that are not there")
    try:
        yield folder
    finally:
        folder.rmdir()


def test_the_kernel_kills_for_memory(bundle: Path, small_memory: Path) -> None:
    """A real kill is counted, told from anybody else's, and leads to the next row of the ladder."""
    noted = {"row": 0, "ladder": [[4, 2], [2, 4]], "changes": []}
    (bundle / "run/train").mkdir(parents=True)
    (bundle / "run/train/batch.json").write_text(json.dumps(noted))
    stage = "import sys\nsys.argv[0] = 'train.py'\nimport guard\nguard.lock()\nb'x' * 2**28\n"
    (bundle / "stage.py").write_text(stage)
    lines = Path("/proc/vmstat").read_text().splitlines()
    before = next(line.split()[1] for line in lines if line.startswith("oom_kill "))

    limited = f"echo $$ > {small_memory}/cgroup.procs && exec {sys.executable} stage.py"
    killed = run("bash", "-c", limited, cwd=bundle)
    ended = run(sys.executable, "killed.py", before, cwd=bundle)

    assert killed.code == -signal.SIGKILL
    assert "the kernel killed training after step 0, as memory ran out" in ended.err
    assert (bundle / "run/train/exit_code.json").read_text() == "76\n"
    assert json.loads((bundle / "run/train/batch.json").read_text())["row"] == 1


def test_two_runs_in_one_folder(bundle: Path) -> None:
    """The second stage ends at once, in a sentence."""
    script = "import guard, sys\nguard.lock()\nprint('held', flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command, cwd=bundle, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        second = run_in(bundle, "import guard\nguard.lock()")
        first.communicate("")

    assert second.code == 1
    assert second.err.startswith("stage.py: another stage is at work in")
    assert second.err.count("\n") == 1


def test_a_model_that_could_move(build_known: BuildKnown, tmp_path: Path) -> None:
    """Of the Hub a stage reads the pinned commit or nothing: another id has none, a folder does."""
    files = render(build_known, FULL)
    for name in ("guard", "journal"):
        (tmp_path / f"{name}.py").write_text(files[f"{name}.py"].text, encoding="utf-8")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/config.json").write_text("{}")
    ask = "import guard\nguard.need_model({!r}, 'acme/tiny')"
    pinned, folder, moving = (
        run_in(tmp_path, ask.format(name)) for name in ("acme/tiny", "other", "acme/other")
    )

    assert (pinned.code, folder.code, moving.code) == (0, 0, 1)
    assert moving.err == (
        "stage.py: --model takes a folder: on the Hub acme/other could move between two stages\n"
    )
    for name in ("prepare.py", "train.py", "merge.py"):
        assert "guard.need_model(args.model, MODEL)" in files[name].text
        assert '{"revision": MODEL_REVISION}' in files[name].text


@pytest.mark.parametrize("changed", ["rows.csv", "model/config.json"])
def test_inputs_that_changed_between_stages(bundle: Path, changed: str) -> None:
    """What changed after a stage had read it stops the next one; what moved away does not."""
    (bundle / "model").mkdir()
    for name in ("rows.csv", "model/config.json"):
        (bundle / name).write_text("before")
    read = "guard.fingerprint('stage.py', Path('rows.csv'), Path('model'))"
    first = f"from pathlib import Path\nimport guard\nguard.mark_done('data', {read})"
    check = "import guard\nguard.check_inputs('data')"
    assert run_in(bundle, first).code == 0
    assert run_in(bundle, check).code == 0

    (bundle / changed).write_text("after")
    ended = run_in(bundle, check)
    (bundle / changed).unlink()

    assert ended.code == 1
    assert f"{changed} has changed since stage `data` read it" in ended.err
    assert run_in(bundle, check).code == 0


def test_a_bundle_inside_its_model(bundle: Path) -> None:
    """What a run writes is no part of the model whose folder the bundle lies in; nor is another."""
    model = bundle.with_name("model-of-" + bundle.name)
    (model / "parts").mkdir(parents=True)
    for name in ("config.json", "parts/more.json"):
        (model / name).write_text("before")
    inside = Path(shutil.move(bundle, model / "run-of-it"))
    note = "print(guard.fingerprint('stage.py', Path('..')))"
    stage = f"from pathlib import Path\nimport guard\nguard.lock()\n{note}"
    marks = [run_in(inside, stage).out]
    (inside / "run/train").mkdir()
    (inside / "run/train/log.jsonl").write_text("{}")
    (model / "other/run").mkdir(parents=True)
    (model / "other/ftc.lock.json").write_text("{}")
    marks.append(run_in(inside, stage).out)
    (model / "parts/more.json").write_text("after")
    marks.append(run_in(inside, stage).out)

    assert marks[0] == marks[1] != marks[2]
    assert all(marks)


def test_a_finished_folder_takes_the_place_of_another(bundle: Path) -> None:
    """What was there is whole until its successor is; a process killed in between loses neither."""
    for name in ("merged", "merged.partial"):
        (bundle / "run" / name).mkdir(parents=True)
        (bundle / "run" / name / "weights").write_text(name)
    swap = (
        "import guard, os, pathlib, signal, sys\n"
        "merged = guard.RUN / 'merged'\n"
        "move = pathlib.Path.rename\n"
        "def rename(path, to):\n"
        "    move(path, to)\n"
        "    if len(sys.argv) > 1:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "pathlib.Path.rename = rename\n"
        "guard.replace_folder(merged, merged.with_name('merged.partial'))\n"
    )
    (bundle / "stage.py").write_text(swap)
    killed = run(sys.executable, "stage.py", "die", cwd=bundle)
    kept = {path.parent.name: path.read_text() for path in (bundle / "run").glob("*/weights")}
    again = run(sys.executable, "stage.py", cwd=bundle)

    assert killed.code == -signal.SIGKILL
    assert kept == {"merged.before": "merged", "merged.partial": "merged.partial"}
    assert again.code == 0, again.said
    left = {path.parent.name: path.read_text() for path in (bundle / "run").glob("*/weights")}
    assert left == {"merged": "merged.partial"}


def test_what_is_written_is_synced(bundle: Path) -> None:
    """A file is on the disk before it takes the place of another, and its folder after that."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not here")
    (bundle / "stage.py").write_text("import guard\nguard.write_json(guard.RUN / 'a', 1)")
    calls = bundle / "calls"
    trace = [
        "strace",
        "-f",
        "-o",
        str(calls),
        "-e",
        "trace=fsync,rename",
        sys.executable,
        "stage.py",
    ]
    subprocess.run(trace, cwd=bundle, check=True, capture_output=True)

    seen = [line.split()[1].partition("(")[0] for line in calls.read_text().splitlines()]
    assert [name for name in seen if name in {"fsync", "rename"}] == ["fsync", "rename", "fsync"]
