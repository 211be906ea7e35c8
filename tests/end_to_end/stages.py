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
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return runpy.run_path(stage, run_name="__main__")
    finally:
        sys.path.pop(0)
        own = {path.stem: sys.modules.pop(path.stem, None) for path in bundle.glob("*.py")}
        held = getattr(getattr(own["guard"], "lock", None), "file", None)
        if held is not None:
            held.close()  # a process that ends would let go of the folder
