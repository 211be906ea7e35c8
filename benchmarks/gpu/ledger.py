"""The ledger: every measured run and its plan, kept in the repository, newest last.

An entry has the command that measured it, the card, its driver, versions and commit. `cudnn` says
that PyTorch took cuDNN's attention, which planned anew for each length and slowed the steps down.
Runs of miniatures on a CPU have no place in it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

LEDGER: Final = Path(__file__).with_name("ledger.json")
_COLUMNS: Final = ("allocated_bytes", "reserved_bytes", "device_bytes", "tokens_per_second")


def read(path: Path) -> list[Mapping[str, Any]]:
    """Return the entries of a ledger; none if there is no file."""
    if not path.exists():
        return []
    entries: list[Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return entries


def append(path: Path, machine: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
    """Add entries, each with the machine that it was measured on."""
    kept = [*read(path), *({**machine, **entry} for entry in entries)]
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def table(entries: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line per entry with the relative error of each predicted figure, and the rate."""
    yield f"{'case':44}" + "".join(
        f"{name.removesuffix('_bytes').split('_')[0]:>12}" for name in (*_COLUMNS, "per s", "MFU")
    )
    for entry in entries:
        yield f"{entry['case']:44}" + _figures(entry)


def _figures(entry: Mapping[str, Any]) -> str:
    measured, predicted = entry.get("measured"), entry.get("predicted", {})
    if measured is None:
        return "  " + str(entry.get("refused") or entry.get("failed"))
    cells = []
    for name in _COLUMNS:
        found, said = measured.get(name), predicted.get(name)
        cells.append(f"{said / found - 1:>+12.2%}" if found and said else f"{'-':>12}")
    share = measured.get("mfu")
    rate = measured.get("tokens_per_second")
    cells.append(f"{'-':>12}" if rate is None else f"{rate:>12,.0f}")
    cells.append(f"{'-':>12}" if share is None else f"{share:>12.1%}")
    return "".join(cells)
