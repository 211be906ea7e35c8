"""What the shared modules of a bundle are tried on: a stage's folder, and checkpoints in it."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ftc.compiler.render.output.file import RenderedFile
from tests.end_to_end.process import Ended, run

#: The modules that every stage of a bundle shares.
NAMES: tuple[str, ...] = ()


@contextmanager
def apart(*names: str) -> Iterator[None]:
    """Let modules of these names be imported from a folder, and forget them and their hooks."""
    hook = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = hook
        forget(*names)


def forget(*names: str) -> None:
    """Forget imported modules of a bundle: those named, and the package `runtime`."""
    shared = [name for name in sys.modules if name.partition(".")[0] == "runtime"]
    for name in (*names, *shared):
        sys.modules.pop(name, None)


def write_scripts(folder: Path, files: Mapping[str, RenderedFile], *names: str) -> None:
    """Write the scripts of these names that a bundle has, and its modules of `runtime/`."""
    for name, file in files.items():
        if name.startswith("runtime/") or name.removesuffix(".py") in names:
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(file.text, encoding="utf-8")


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
