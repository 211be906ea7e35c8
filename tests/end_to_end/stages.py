"""Run scripts of a bundle in this process, one after the other, as if each had its own."""

import contextlib
import os
import runpy
import sys
from pathlib import Path
from typing import Any


def run_stage(bundle: Path, stage: str, *arguments: str) -> dict[str, Any]:
    """Run a script as `python STAGE` would; return its names as they are at its end.

    Every bundle has modules of the same names: none is left for the next stage to find.
    """
    os.chdir(bundle)
    sys.argv = [stage, *arguments]
    sys.path.insert(0, str(bundle))
    names: dict[str, Any] = {}
    try:
        with contextlib.redirect_stdout(sys.stderr):
            names = runpy.run_path(stage, run_name="__main__")
    except SystemExit as ended:
        if ended.code or ended.__traceback__ is None:
            raise
        trace = ended.__traceback__
        while trace.tb_next:
            trace = trace.tb_next
        names = dict(trace.tb_frame.f_globals)
    finally:
        sys.path.pop(0)
        for path in bundle.glob("*.py"):
            sys.modules.pop(path.stem, None)
        for name in [name for name in sys.modules if name.split(".")[0] == "runtime"]:
            del sys.modules[name]
        stage_run: Any = getattr(sys.excepthook, "__self__", None)  # of a `Run` that began
        if hasattr(stage_run, "release_lock"):
            stage_run.finish()
            stage_run.release_lock()
            sys.excepthook = sys.__excepthook__
    return names
