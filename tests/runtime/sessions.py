"""A training session in an empty bundle, and code that runs in a process of its own."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from ftc.runtime.run import Run
from ftc.runtime.train.training import TrainingSession
from tests.end_to_end.process import Ended

LADDER = [[4, 2], [2, 4]]


def make_session(folder: Path, ladder: list[list[int]] | None = None) -> TrainingSession:
    """Return the session of a bundle's folder; `ladder` has the batches."""
    return TrainingSession(
        Run(folder, stage="train"),
        ladder=LADDER if ladder is None else ladder,
        row=None,
        planned_bytes=3 * 2**30,
        keep=2,
    )


def run_cases(folder: Path, *cases: str) -> list[Ended]:
    """Run Python in forks of one process that has imported what training imports.

    Each has `session`, `make_session`, `folder` and a CPU's `trainer` at step 2.
    """
    script = textwrap.dedent("""
        import os, sys, traceback, types
        from pathlib import Path
        import torch
        from tests.runtime.sessions import make_session
        folder = Path(sys.argv[1])
        session = make_session(folder)
        trainer = types.SimpleNamespace(
            state=types.SimpleNamespace(global_step=2),
            args=types.SimpleNamespace(device=torch.device("cpu")),
        )
        for number, code in enumerate(sys.argv[2:]):
            if os.fork() == 0:
                os.dup2(os.open(str(folder / f"{number}.err"), os.O_CREAT | os.O_WRONLY), 2)
                try:
                    exec(code)
                except BaseException:
                    traceback.print_exc()
                os._exit(99)
            print(os.waitstatus_to_exitcode(os.wait()[1]))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), *cases],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    codes = map(int, done.stdout.split())
    errors = [(folder / f"{number}.err").read_text() for number in range(len(cases))]
    return [Ended(code=code, out="", err=err) for code, err in zip(codes, errors, strict=True)]
