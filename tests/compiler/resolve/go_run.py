"""Go's own text/template, run on cases in the way that Ollama documents."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("ollama.go")


def run_go(cases: Sequence[tuple[str, Sequence[Mapping[str, Any]]]]) -> list[Mapping[str, str]]:
    """Render templates over messages; each result has a `text`, or an `error` that is not empty."""
    given = [{"template": text, "messages": list(messages)} for text, messages in cases]
    done = subprocess.run(
        [_build()], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    results: list[Mapping[str, str]] = json.loads(done.stdout)
    return results


@cache
def _build() -> str:
    """Compile the program, once for each of its texts."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go, Debian's golang-go: templates are executed by its text/template")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    binary = home / "ftc" / "tests" / f"ollama-{sha256(PROGRAM.read_bytes()).hexdigest()[:32]}"
    if not binary.is_file():
        binary.parent.mkdir(parents=True, exist_ok=True)
        partial = binary.with_name(f"{binary.name}.{os.getpid()}")
        environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": "0"}
        command = [go, "build", "-o", str(partial), str(PROGRAM)]
        subprocess.run(command, check=True, env=environment, cwd=PROGRAM.parent)
        partial.replace(binary)
    return str(binary)
