"""The course of a rehearsal: its folder, its log, and each stage's time."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import shorten
from typing import Final

from ftc.compiler.rehearse.stage import Stage, StageFailed, Status, Tell
from ftc.spec.findings.finding import EnvironmentFailure

_WIDTH: Final = 96


@dataclass(slots=True)
class Course:
    """The stages so far, and the folder that they run in."""

    folder: Path
    tell: Tell
    stages: list[Stage] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """The file that collects the output of every script."""
        return self.folder / "rehearsal.log"

    @property
    def bundle(self) -> Path:
        """The folder of the rehearsal's bundle."""
        return self.folder / "bundle"

    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[str], None]]:
        """Time a stage; its body calls the yielded function with the result in a few words."""
        self.tell(name, None)
        began, results = time.monotonic(), [""]

        try:
            yield results.append
        except StageFailed as failure:
            words = shorten(str(failure).partition("\n")[0], _WIDTH, placeholder=" ...")
            self._note(name, "failed", time.monotonic() - began, words)
            raise
        self._note(name, "ok", time.monotonic() - began, results[-1])

    def skip(self, name: str, why: str) -> None:
        """Record a stage that this rehearsal could not run."""
        self._note(name, "not rehearsed", 0.0, why)

    def _note(self, name: str, status: Status, seconds: float, result: str) -> None:
        stage = Stage(name=name, status=status, seconds=seconds, result=result)
        self.stages.append(stage)
        self.tell(name, stage)


def make_folder(keep: Path | None) -> Path:
    """Return an empty folder for a rehearsal: `keep`, or a temporary one.

    Raises EnvironmentFailure if `keep` exists and is not empty.
    """
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="ftc-rehearse-")).resolve()
    if keep.exists() and (not keep.is_dir() or next(keep.iterdir(), None) is not None):
        raise EnvironmentFailure(
            message=f"`{keep}` is not an empty folder", help="give `--keep` a new or empty folder"
        )
    keep.mkdir(parents=True, exist_ok=True)
    return keep.resolve()


def clean(folder: Path, *, failed: bool) -> None:
    """Remove a rehearsal's files, except for the log if the rehearsal failed."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif not failed or path.suffix != ".log":
            path.unlink()
    if next(folder.iterdir(), None) is None:
        folder.rmdir()
