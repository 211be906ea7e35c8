"""What the shared modules of a bundle are tried on: a stage's folder, and checkpoints in it."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.end_to_end.process import Ended, run

#: The modules that every stage of a bundle shares.
NAMES = ("guard", "journal", "killed", "survival")


@contextmanager
def apart(*names: str) -> Iterator[None]:
    """Let modules of these names be imported from a folder, and forget them and their hooks."""
    hook = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = hook
        for name in names:
            sys.modules.pop(name, None)


def write_checkpoint(folder: Path, step: int, best: str | None = None) -> Path:
    """Write the files of a checkpoint, with none of them sealed."""
    checkpoint = folder / f"run/train/checkpoints/checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    state = {"global_step": step, "best_model_checkpoint": best}
    (checkpoint / "trainer_state.json").write_text(json.dumps(state))
    for name in ("model.safetensors", "optimizer.pt"):
        (checkpoint / name).write_bytes(bytes([step]) * 1000)
    return checkpoint


def run_in(bundle: Path, code: str) -> Ended:
    """Run Python in the bundle's folder, as a stage."""
    (bundle / "stage.py").write_text(code, encoding="utf-8")
    return run(sys.executable, "stage.py", cwd=bundle)


def run_cases(bundle: Path, *cases: str) -> list[Ended]:
    """Run Python in copies of one process that has imported what training imports."""
    (bundle / "stage.py").write_text(
        "import os, sys, traceback, types\nimport torch, survival\n"
        "for number, code in enumerate(sys.argv[1:]):\n"
        "    if os.fork() == 0:\n"
        "        os.dup2(os.open(f'{number}.err', os.O_CREAT | os.O_WRONLY), 2)\n"
        "        try:\n            exec(code)\n"
        "        except BaseException:\n            traceback.print_exc()\n"
        "        os._exit(99)\n"
        "    print(os.waitstatus_to_exitcode(os.wait()[1]))\n",
        encoding="utf-8",
    )
    done = run(sys.executable, "stage.py", *cases, cwd=bundle)
    assert done.code == 0, done.said
    codes = map(int, done.out.split())
    errors = [(bundle / f"{number}.err").read_text() for number in range(len(cases))]
    return [Ended(code=code, out="", err=err) for code, err in zip(codes, errors, strict=True)]
