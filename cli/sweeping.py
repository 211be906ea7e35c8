"""A sweep: the combinations of values, a bundle for each, and the scripts that run them all."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

from ftc.compiler.pipeline import Outcome, compile_bundle, write
from ftc.compiler.resolve.resolver import Resolver
from ftc.spec.findings.finding import EnvironmentFailure
from ftc.spec.message import reason_of

INDEX: Final = "sweep.json"
MOST_POINTS: Final = 100
RUN_ALL: Final = "run_all.sh"
ARRAY: Final = "slurm_array.sh"
_LONGEST_NAME: Final = 60  # longest prefix of a point's name, which `-NN` follows
_OPTION: Final = re.compile(r"#SBATCH --([a-z-]+)(?:=(.*))?")
_OWN: Final = frozenset({"job-name", "mem", "output"})
_SCRIPT: Final = """\
#!/usr/bin/env bash
# Runs the points of this sweep one after another, and compares them. A point that is done is
# skipped: run this again after any interruption. Arguments go to the run.sh of each point.
#
#   ./run_all.sh
#   ./run_all.sh --data OTHER-FILE
set -uo pipefail

# The folder stays the caller's: run.sh resolves paths in its arguments from there.
folder=$(CDPATH="" cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
failed=0
for point in "$folder"/point-*/; do
  echo "== $(basename -- "$point")"
  "${point}run.sh" "$@" || failed=1
done
if command -v ftc >/dev/null; then
  ftc compare "$folder"/point-*/
fi
exit "$failed"
"""
_BODY: Final = """\
set -euo pipefail

cd -- "${SLURM_SUBMIT_DIR:?submit this with sbatch}"
point=$(printf 'point-%02d' "${SLURM_ARRAY_TASK_ID:?submit this with sbatch}")
given=()
for word in "$@"; do  # slurm.sh starts in the point's folder: paths are made absolute before
  if [[ -e "$word" ]]; then
    word=$(realpath -- "$word")
  fi
  given+=("$word")
done
export SLURM_SUBMIT_DIR="$SLURM_SUBMIT_DIR/$point"
exec bash "$point/slurm.sh" "${given[@]}"
"""


class BadGridError(ValueError):
    """The values that were given make no sweep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One combination: its folder, the values as they were written, and its compiled bundle."""

    folder: str
    values: Mapping[str, str]
    outcome: Outcome

    @property
    def seconds(self) -> float | None:
        """The planned seconds of the run."""
        return self.outcome.plan.time_seconds if self.outcome.plan is not None else None

    @property
    def disk_bytes(self) -> int:
        """The planned bytes on the disk."""
        return self.outcome.plan.disk_bytes if self.outcome.plan is not None else 0

    @property
    def cost(self) -> float | None:
        """The planned cost, None without a price."""
        cost = self.outcome.plan.cost if self.outcome.plan is not None else None
        return cost.total if cost is not None else None


def total_disk(points: Sequence[Point]) -> int:
    """Return the disk bytes of all points; a model that several points use is downloaded once."""
    plans = [each.outcome.plan for each in points if each.outcome.plan is not None]
    specs = [each.outcome.spec for each in points if each.outcome.plan is not None]
    names = [None if spec is None else (spec.model.id, spec.objective.teacher.id) for spec in specs]
    downloads = dict(zip(names, (plan.download_bytes for plan in plans), strict=True))
    runs = sum(plan.disk_bytes - plan.download_bytes for plan in plans)
    return runs + sum(downloads.values())


def read_grid(settings: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the values of each key of `KEY=A,B`.

    Commas inside brackets or quotes do not separate values.

    Raises BadGridError.
    """
    grid: dict[str, tuple[str, ...]] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        values = tuple(_divide(text))
        if not equals or not all(key.split(".")) or not all(values):
            raise BadGridError(f"{setting!r} is not KEY=VALUE,VALUE")
        if key in grid or key == "name":
            raise BadGridError(
                f"`{key}` is given twice" if key in grid else "points name themselves"
            )
        if len(set(values)) < len(values):
            raise BadGridError(f"`{key}` has a value twice")
        grid[key] = values
    count = prod(map(len, grid.values()))
    if not 1 < count <= MOST_POINTS:
        points = "1 point" if count == 1 else f"{count} points"
        raise BadGridError(f"{points}: a sweep has 2 to {MOST_POINTS}")
    return grid


def compile_points(
    source: str, grid: Mapping[str, tuple[str, ...]], folder: Path
) -> tuple[Point, ...]:
    """Compile every combination; the facts that they share are looked up once.

    Raises EnvironmentFailure where the folder holds something else.
    """
    places = {
        f"point-{number:02d}": dict(zip(grid, values, strict=True))
        for number, values in enumerate(product(*grid.values()), start=1)
    }
    _require_own(folder, _index(places))
    resolver, name = Resolver(), _read_name(source)
    points = []
    for number, (place, own) in enumerate(places.items(), start=1):
        outcome = compile_bundle(
            source,
            output=folder / place,
            overrides={"name": f"{name[:_LONGEST_NAME].rstrip('-')}-{number:02d}", **own},
            resolver=resolver,
        )
        points.append(Point(folder=place, values=own, outcome=outcome))
    return tuple(points)


def write_points(folder: Path, points: Sequence[Point]) -> tuple[str, ...]:
    """Write the bundles and the scripts of a sweep; return the names of the scripts."""
    # the index first, so that an interrupted sweep is recognised and continued
    _write(folder / INDEX, _index({point.folder: point.values for point in points}))
    for point in points:
        write(point.outcome)
    texts = {RUN_ALL: _SCRIPT}
    if (array := _make_array(points)) is not None:
        texts[ARRAY] = array
    for name, text in texts.items():
        _write(folder / name, text)
    return (INDEX, *texts)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)
    except OSError as error:
        raise EnvironmentFailure(
            message=f"`{path.parent}` cannot be written: {reason_of(error)}",
            help="name a folder that you can write to",
        ) from None


def list_requirements(points: Sequence[Point]) -> Mapping[str, str]:
    """Return a file of requirements for each environment that the points need, by its text."""
    found: dict[str, str] = {}
    for point in points:
        for file in point.outcome.files:
            if file.name == "requirements.txt":
                found.setdefault(file.text, f"{point.folder}/{file.name}")
    return found


def _index(places: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of the file that says which values each point has."""
    return json.dumps(places, indent=2) + "\n"


def _require_own(folder: Path, index: str) -> None:
    """Raise if a folder holds anything but this sweep."""
    try:
        found = (folder / INDEX).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        found = None
    taken = folder.is_file() or (folder.is_dir() and found is None and any(folder.iterdir()))
    if taken or (found is not None and found != index):
        raise EnvironmentFailure(
            message=f"`{folder}` holds " + ("another sweep" if found else "other files"),
            help="name another folder with -o, or move that one away",
        )


def _make_array(points: Sequence[Point]) -> str | None:
    """Return the Slurm array; None if the spec is not for Slurm, or if the points need other jobs.

    The options are those of the points' own slurm.sh, with the largest memory request of any point.
    """
    jobs = [dict(_read_options(point)) for point in points]
    kept = [{name: value for name, value in job.items() if name not in _OWN} for job in jobs]
    if not all(jobs) or any(each != kept[0] for each in kept):
        return None
    memory = max(int(str(job["mem"]).removesuffix("M")) for job in jobs)
    options = [
        f"--array=1-{len(points)}",
        f"--mem={memory}M",
        "--output=slurm-%A-%a.log",
        *(f"--{name}" + ("" if value is None else f"={value}") for name, value in kept[0].items()),
    ]
    lines = ["#!/usr/bin/env bash", "# The points of this sweep as one Slurm array; submit it from"]
    lines += ["# this folder with `sbatch slurm_array.sh`.", "#"]
    return "\n".join([*lines, *(f"#SBATCH {each}" for each in options), _BODY])


def _read_options(point: Point) -> Iterator[tuple[str, str | None]]:
    for file in point.outcome.files:
        if file.name == "slurm.sh":
            for line in file.text.splitlines():
                if match := _OPTION.fullmatch(line):
                    yield match[1], match[2]


def _read_name(source: str) -> str:
    """Return the name that the points' names begin with."""
    outcome = compile_bundle(source, stop_after="validate")
    data: Any = outcome.document.data if outcome.document is not None else None
    name = data.get("name") if isinstance(data, Mapping) else None
    return name if isinstance(name, str) and name else "sweep"


def _divide(text: str) -> Iterator[str]:
    """Yield the parts between commas that stand outside of brackets and quotes."""
    depth, quoted, start = 0, False, 0
    for place, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in "[{") - (letter in "]}")
            if letter == "," and depth == 0:
                yield text[start:place].strip()
                start = place + 1
    yield text[start:].strip()
