"""What stages note of themselves: real processes that end in every way, as `ftc watch` reads."""

import json
import signal
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from ftc.tui.watch.run import Watched
from ftc.tui.watch.stages import Stage

BEGIN = "import journal\njournal.begin()\n"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Return a folder with the module as it is in every bundle: nothing in it is rendered."""
    text = files("ftc.templates").joinpath("journal.py.j2").read_text(encoding="utf-8")
    assert "{{" not in text
    assert "{%" not in text
    (tmp_path / "journal.py").write_text(text, encoding="utf-8")
    return tmp_path


def read(bundle: Path) -> Stage:
    """Return the one stage of a folder."""
    (stage,) = Watched(bundle).look(time.time()).stages
    return stage


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("", ("done", None, "")),
        ("raise SystemExit", ("done", None, "")),
        ("raise ValueError('hf_planted')", ("failed", 1, "ValueError: see what it printed")),
        (
            "journal.end.update(event='failed', code=1, sentence='no disk')\nraise SystemExit('x')",
            ("failed", 1, "no disk"),
        ),
        (
            (
                "journal.end.update(event='stopped', code=75, sentence='told to stop')\n"
                "journal.finish()\nimport os\nos._exit(75)"
            ),
            ("stopped", 75, "told to stop"),
        ),
    ],
)
def test_a_stage_notes_how_it_ended(
    bundle: Path, rest: str, expected: tuple[str, int | None, str]
) -> None:
    """Done, failed, or stopped; an error by its name alone, since its text may hold a token."""
    (bundle / "merge.py").write_text(BEGIN + rest)
    subprocess.run([sys.executable, "merge.py"], cwd=bundle, check=False, capture_output=True)
    stage = read(bundle)

    assert stage.name == "merge"
    assert (stage.status, stage.code, stage.sentence) == expected
    assert "planted" not in (bundle / "run/stages.jsonl").read_text()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (signal.SIGINT, ("stopped", 130, "interrupted from the keyboard")),
        (signal.SIGKILL, ("gone", None, "")),
    ],
)
def test_a_stage_that_is_interrupted_or_killed(
    bundle: Path, sent: signal.Signals, expected: tuple[str, int | None, str]
) -> None:
    """The one can still say so, of the other the process is missing; while it works it runs."""
    (bundle / "train.py").write_text(BEGIN + "print(flush=True)\nimport time\ntime.sleep(60)")
    with subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=bundle,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        alive = read(bundle).status
        process.send_signal(sent)
    stage = read(bundle)

    assert alive == "running"
    assert (stage.status, stage.code, stage.sentence) == expected


def test_only_who_began_notes_an_end(bundle: Path) -> None:
    """Of several processes of one training the first one began it."""
    (bundle / "train.py").write_text("import journal\njournal.finish()\n")
    subprocess.run([sys.executable, "train.py"], cwd=bundle, check=True)

    assert not (bundle / "run").exists()


def test_a_line_that_was_cut_spoils_no_other(bundle: Path) -> None:
    """What comes after it stands on a line of its own, and no number is no JSON."""
    log = bundle / "run/train/log.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"step": 1}\n{"step": 2, "lo')
    code = (
        "import journal\nfrom types import SimpleNamespace as S\n"
        "state = S(is_world_process_zero=True, global_step=3, max_steps=9, epoch=0.5)\n"
        "journal.log(state, loss=float('nan'), grad_norm=float('inf'), eval_loss=1.5)\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=bundle, check=True)
    *_, cut, last = log.read_text().splitlines()

    assert cut == '{"step": 2, "lo'
    said = json.loads(last, parse_constant=pytest.fail)
    assert said.pop("time") == pytest.approx(time.time(), abs=60)
    expected = {"step": 3, "steps": 9, "epoch": 0.5, "loss": None, "grad_norm": None}
    assert said == {**expected, "eval_loss": 1.5}


def test_what_cannot_be_noted_does_not_end_the_stage(bundle: Path) -> None:
    """Here the folder cannot be made; on a full disk a line cannot be written."""
    (bundle / "run").write_text("a file")
    (bundle / "merge.py").write_text(BEGIN)
    done = subprocess.run([sys.executable, "merge.py"], cwd=bundle, check=False)

    assert done.returncode == 0
