"""Real processes: the command line and generated scripts, with their exit status."""

import atexit
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
QUICKSTART = ROOT / "examples" / "quickstart"
DEPRECATIONS = ROOT / "tests" / "end_to_end" / "deprecations"
#: What a process may take; a machine that others work on as well needs more.
LIMIT_SECONDS = int(os.environ.get("FTC_LIMIT_SECONDS", "420"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Everything printed, for the message of a failed test."""
        return f"exit {self.code}\n{self.out[-3000:]}\n{self.err[-3000:]}"


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this environment with the tested interpreter's folder first on PATH.

    Deprecations of the pinned libraries are errors in it (`deprecations/sitecustomize.py`).
    """
    own = str(Path(sys.executable).parent)
    fixed = {
        "PYTHONPATH": str(DEPRECATIONS),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_WAIT_POLICY": "passive",  # threads that wait sleep, so that two trainings share cores
    }
    path = f"{own}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **fixed, "PATH": path, **(extra or {})}


def run(
    *command: str | Path, cwd: Path, extra: Mapping[str, str] | None = None, cold: bool = False
) -> Ended:
    """Run a command to its end; output goes to files, so no process left behind blocks this.

    Scripts of bundles and `ftc` are forks of an interpreter that has imported their libraries
    (`warm.py`), unless they are `cold`, or a variable differs that libraries read when imported.
    """
    words, variables = [str(part) for part in command], environment(extra)
    if not cold and _of_imports(variables) == _of_imports(environment()):
        folder, own = _lend_interpreter(), f"{Path(sys.executable).parent}{os.pathsep}"
        variables["PATH"] = variables["PATH"].replace(own, f"{folder}{os.pathsep}{own}", 1)
        words[0] = str(folder / "python") if words[0] == sys.executable else words[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            check=False,
            timeout=LIMIT_SECONDS,
        )
        said = [_read(each) for each in (out, err)]
    return Ended(code=done.returncode, out=said[0], err=said[1])


def _of_imports(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that libraries read while they are imported."""
    prefixes = ("HF_HOME", "HF_HUB_", "HF_ENDPOINT", "PYTHON", "DS_", "TORCH_")
    return {name: value for name, value in variables.items() if name.startswith(prefixes)}


@cache
def _lend_interpreter() -> Path:
    """Start what `warm.py` describes; return the folder of its clients, whose path is short."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    of_run_sh = {
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "MALLOC_TRIM_THRESHOLD_": "17179869184",
        "MALLOC_MMAP_THRESHOLD_": "17179869184",
        "OMP_NUM_THREADS": "1",  # a fork of a process that had threads would wait for them
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.warm", str(folder)],
        cwd=ROOT,
        env=environment({**of_run_sh, "PYTHONPATH": f"{DEPRECATIONS}{os.pathsep}{ROOT}"}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert any(line == "ready\n" for line in server.stdout)
    for action in (server.wait, server.stdin.close, lambda: shutil.rmtree(folder)):
        atexit.register(action)  # the last first
    return folder


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def rehearse(folder: Path, spec: Mapping[str, Any], sdist: Path) -> dict[str, dict[str, Any]]:
    """Rehearse a spec in a folder by the command line; return its stages by name, all sound."""
    write_json(folder / "spec.json", spec)
    extra = {"FTC_LLAMA_CPP_SDIST": str(sdist), "TMPDIR": str(folder)}
    ended = run("ftc", "rehearse", "spec.json", "--format", "json", cwd=folder, extra=extra)
    assert ended.code == 0, ended.said
    stages = {stage["name"]: stage for stage in json.loads(ended.out)["stages"]}
    assert {stage["status"] for stage in stages.values()} == {"ok"}, stages
    return stages


def compile_spec(folder: Path, spec: Mapping[str, Any], *, name: str = "spec.json") -> Path:
    """Write a spec into a folder and compile it there by the command line; return the bundle."""
    write_json(folder / name, spec)
    done = run("ftc", "compile", name, cwd=folder)
    assert done.code == 0, done.said
    return folder / str(spec["name"])


def children_seconds() -> float:
    """Return the processor seconds of all processes that were started and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def train(bundle: Path, *arguments: str | Path, cold: bool = False) -> Ended:
    """Run the stage that trains, as `run.sh` does.

    A training whose bits are compared with those of a process that a test starts and kills itself
    is `cold` too: sums of a fork of the warm interpreter may differ in their last bits.
    """
    launch = ("accelerate", "launch", "--config_file", "accelerate.yaml")
    return run(*launch, "train.py", *arguments, cwd=bundle, cold=cold)


def run_together(bundle: Path, *, sdist: Path | None = None) -> Ended:
    """Run all stages of a bundle in one process, which imports what takes long only once.

    `run.sh` starts a process for each: the quickstart's tests are about those.
    """
    stages = ("prepare.py", "train.py", "export.py:--merge", "evaluate.py", "export.py")
    extra = {} if sdist is None else {"FTC_LLAMA_CPP_SDIST": str(sdist)}
    command = (sys.executable, "-m", "tests.end_to_end.run_stages")
    return run(*command, *(bundle / stage for stage in stages), cwd=ROOT, extra=extra)


def write_json(path: Path, data: object) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a file of one JSON object per line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
