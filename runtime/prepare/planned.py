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

MARGIN: Final = 0.01  # share of the rows that may be over-long beyond the share in the plan
TOKENS_TOLERANCE: Final = 0.25  # a larger difference changes memory, packing and time
ROWS_TOLERANCE: Final = 0.02  # a larger difference changes steps, warmup and evaluations
_AGAIN: Final = (
    "compile again with `ftc compile SPEC --update`, or pass --changed-data to use these data"
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


def check_lengths(
    run: Run, lengths: Sequence[int], *, max_length: int, planned_share: float
) -> None:
    """End the stage if clearly more rows are over-long than the plan says.

    `lengths` are in tokens, `planned_share` is the share of the rows in the plan. The rows may be a
    sample, so three standard errors are added to the limit.
    """
    overlong = sum(length > max_length for length in lengths)
    chance = 3 * (planned_share / len(lengths)) ** 0.5
    if overlong > (planned_share + MARGIN + chance) * len(lengths):
        run.stop(
            f"{overlong:,} of {len(lengths):,} rows are longer than {max_length} tokens,"
            f" the longest has {max(lengths):,}, and the plan said {planned_share:.1%} of rows:"
            " set data.max_length in the spec and compile again"
        )


def check_planned_lengths(planned: Planned, lengths: Sequence[int], *, planned_p95: int) -> None:
    """End the stage if the rows of a changed file are much longer or shorter than planned.

    `lengths` are in tokens, `planned_p95` is their 95th percentile in the plan.
    """
    found = sorted(lengths)[(len(lengths) - 1) * 95 // 100]
    if planned.changed and abs(found - planned_p95) > TOKENS_TOLERANCE * planned_p95:
        said = f"95% of the rows have at most {found:,} tokens, {planned_p95:,} in the plan"
        planned.warn_or_stop(f"{planned.changed[0][1].name} has changed: {said}")
