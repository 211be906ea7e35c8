"""`ftc plan --trace`: the backbone's activations traced in a separate process."""

import subprocess
import sys
from importlib.resources import as_file, files
from importlib.util import find_spec

_NEEDED = ("torch", "transformers")


class TraceError(Exception):
    """A trace that this machine cannot run, or that did not end; the text says why."""


def trace_backbone(architecture: str) -> str:
    """Return the table that a trace prints: bytes per layer and token, traced and as planned.

    Nothing that trains is imported here: another process of this interpreter does it. Raises
    TraceError where torch or transformers is missing, or nothing could be traced.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        names = " and ".join(missing)
        raise TraceError(f"--trace needs {names} in this environment; the plan is not checked")
    with as_file(files("ftc.compiler.rehearse") / "scripts" / "trace_backbone.py") as script:
        done = subprocess.run(
            [sys.executable, script, architecture],
            capture_output=True,
            text=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    lines = done.stdout.rstrip().splitlines()
    if not any(line.startswith(f"{architecture} ") for line in lines):
        cause = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise TraceError(f"the trace of {architecture} failed: {cause[0]}")
    return "\n".join(lines)
