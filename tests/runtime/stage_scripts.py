"""Scripts of a bundle with one stage, started as processes of their own."""

import subprocess
import sys
import time
from pathlib import Path

from ftc.tui.watch.run import Watched
from ftc.tui.watch.stages import Stage
from tests.end_to_end.process import Ended, environment

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import os, sys, time
from pathlib import Path
from runtime.run import Run
run = Run(Path(__file__).resolve().parent, stage="merge", script="export.py")
"""
BEGIN = f"{SCRIPT}run.begin()\n"


def start(bundle: Path, code: str, **extra: str) -> subprocess.Popen[str]:
    """Start a script of a bundle that defines `run` first."""
    (bundle / "export.py").write_text(code)
    return subprocess.Popen(
        [sys.executable, "export.py"],
        cwd=bundle,
        env={**environment(extra), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def execute(bundle: Path, code: str, **extra: str) -> Ended:
    """Run a script of a bundle to its end."""
    with start(bundle, code, **extra) as process:
        out, err = process.communicate(timeout=60)
    return Ended(code=process.returncode, out=out, err=err)


def read_stage(bundle: Path) -> Stage:
    """Return the one stage of a bundle, as `ftc watch` reads it."""
    (stage,) = Watched(bundle).look(time.time()).stages
    return stage
