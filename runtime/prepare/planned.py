"""Compares the data with those that the plan was made for. Standard library only.

Steps, warmup, evaluations and lengths were planned for the files as they were at compile time. A
changed file with nearly the same rows gives a warning. Larger differences end prepare.py, unless
--data or --changed-data says that they are intended.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..run import Run

ROWS_TOLERANCE: Final = 0.02  # a larger difference changes steps, warmup and evaluations
_AGAIN: Final = (
    "compile again with `ftc compile --update`, or pass --changed-data to use these data"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """The files that the plan was made for, in the order of the spec.

    `rows` are those of each file after cleaning, `changed` the number and the path of each file
    that has changed since. `is_intended` turns errors into warnings.
    """

    run: Run
    rows: Sequence[int]
    changed: Sequence[tuple[int, Path]]
    is_intended: bool

    def check_rows(self, rows: Sequence[int]) -> None:
        """End the stage if a changed file has too many or too few rows; `rows` are those now."""
        for number, path in self.changed:
            now, then = rows[number], self.rows[number]
            said = f"{path.name} is not the file that the plan was made with"
            if abs(now - then) <= ROWS_TOLERANCE * then:
                counts = f"{now:,} usable rows, {then:,} planned"
                self.run.say(f"warning: {said}: {counts}; steps and schedule still fit")
            else:
                counts = f"steps, warmup and evaluations are planned for {then:,} rows, now {now:,}"
                self.warn_or_stop(f"{said}: {counts}")

    def warn_or_stop(self, sentence: str) -> None:
        """End the stage with a sentence, or only print it if the difference is intended."""
        if not self.is_intended:
            self.run.stop(f"{sentence}: {_AGAIN}")
        self.run.say(f"warning: {sentence}")


def find_changed(
    paths: Sequence[Path | None],
    digests: Mapping[str, str],
    *,
    planned: Sequence[str],
    bundle: Path,
) -> list[tuple[int, Path]]:
    """Return the number and the path of each file whose SHA-256 is not that in `planned`.

    `digests` has the SHA-256 of the stage's inputs by path, relative to the bundle. Files of the
    Hub have no path.
    """
    return [
        (number, path)
        for number, path in enumerate(paths)
        if path and digests[os.path.relpath(path, bundle)] != planned[number]
    ]
