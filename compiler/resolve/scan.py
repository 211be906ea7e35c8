"""One pass over the rows: counts, labels, and the examples whose lengths are measured."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from ftc.compiler.resolve.cleaning import duplicate_key
from ftc.compiler.resolve.example import Example, read_example
from ftc.compiler.resolve.labels import LabelCount
from ftc.compiler.resolve.roles import Roles
from ftc.compiler.resolve.rows import Row
from ftc.spec.sections import Cleaning

#: Examples kept of a large file, drawn with a fixed seed.
SAMPLE_ROWS: Final = 20_000
#: Distinct examples that are remembered; past them duplicates of later ones are not found.
_REMEMBERED: Final = 5_000_000
_KEY_BYTES: Final = 12


@dataclass(slots=True, kw_only=True)
class Scan:
    """What the rows add up to; `kept` counts what cleaning leaves, `examples` a sample of it."""

    rows: int = 0
    blank: int = 0
    malformed: int = 0
    duplicates: int = 0
    misencoded: int = 0
    kept: int = 0
    multi_turn: bool = False
    has_system: bool = False
    sampled: bool = False
    examples: list[Example] = field(default_factory=list)
    labels: LabelCount = field(default_factory=LabelCount)


def scan_rows(
    rows: Iterable[Row | None], roles: Roles, cleaning: Cleaning, *, sample: bool
) -> Scan:
    """Read every row once; `sample` bounds the examples kept, by a reservoir (algorithm R)."""
    scan, seen, pick = Scan(), set[bytes](), random.Random(0)  # noqa: S311 - a sample, no secret
    if roles.form in ("chat", "text"):
        scan.labels.closed = False
    for row in rows:
        scan.rows += 1
        example = read_example(row, roles, repair=cleaning.repair_encoding)
        if example == "blank":
            scan.blank += 1
        elif example == "malformed":
            scan.malformed += 1
        elif isinstance(example, Example):
            scan.misencoded += example.misencoded
            known = _is_known(example, seen)
            scan.duplicates += known
            if not (known and cleaning.drop_duplicates):
                _keep(scan, example, pick if sample else None)
    return scan


def _is_known(example: Example, seen: set[bytes]) -> bool:
    """Tell whether the same example came before, by a hash of what duplicates share."""
    key = duplicate_key(text for _, text in example.turns)
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
    if digest in seen:
        return True
    if len(seen) < _REMEMBERED:
        seen.add(digest)
    return False


def _keep(scan: Scan, example: Example, pick: random.Random | None) -> None:
    """Count an example that cleaning leaves, and keep it or let it take another's place."""
    scan.kept += 1
    roles = [role for role, _ in example.turns]
    scan.multi_turn = scan.multi_turn or roles.count("assistant") > 1
    scan.has_system = scan.has_system or roles[0] == "system"
    scan.labels.add(example.answer)
    if pick is None or len(scan.examples) < SAMPLE_ROWS:
        scan.examples.append(example)
        return
    scan.sampled = True
    place = pick.randrange(scan.kept)
    if place < SAMPLE_ROWS:
        scan.examples[place] = example
