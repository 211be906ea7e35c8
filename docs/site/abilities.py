"""The page "Can I train X on Y": what `ftc models --hardware Y` says, for the usual machines."""

import json
from collections.abc import Mapping
from typing import Any, Final

from click.testing import CliRunner

from ftc.commands.models import command

HARDWARE: Final = (
    "1x RTX-3060",
    "1x T4",
    "1x RTX-4090",
    "1x L40S",
    "1x A100-80GB",
    "8x H100-SXM5-80GB",
)
_BILLION: Final = 1e9
_GIBI: Final = 1024**3
_HOUR: Final = 60  # in minutes
_INTRODUCTION: Final = """\
---
hide: [toc]
---

# Can I train X on Y?

Each cell is a plan: the first of LoRA and QLoRA that fits, the memory that it needs on every
device, and the time for 10,000 rows of 512 tokens. A dash means that neither fits.
`ftc models --all --hardware "1x RTX-4090"` prints one of the columns; `--data` takes your own rows,
and `ftc models NAME --hardware` adds full fine-tunes and the longest rows that each method trains
([choosing](choosing.md#the-method)).

Memory and times are planned, not measured on these machines: see
[how far ftc is tested](what-it-does.md#how-far-it-is-tested).

"""


def abilities_page() -> str:
    """Return the page: one row for each model that generates text, the largest last."""
    columns = {hardware: _list_models(hardware) for hardware in HARDWARE}
    first = columns[HARDWARE[0]]
    lines = [f"| model | size | {' | '.join(HARDWARE)} |"]
    lines.append("| --- | ---: |" + " --- |" * len(HARDWARE))
    for name in sorted(first, key=lambda each: (first[each]["parameters"], each)):
        model = first[name]
        cells = [name, f"{model['parameters'] / _BILLION:.1f}B"]
        cells += [_cell(column[name]) for column in columns.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return _INTRODUCTION + "\n".join(lines) + "\n"


def _list_models(hardware: str) -> Mapping[str, Mapping[str, Any]]:
    words = ["--all", "--hardware", hardware, "--format", "json"]
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    return {model["id"]: model for model in json.loads(done.stdout)["models"]}


def _cell(model: Mapping[str, Any]) -> str:
    if model["method"] is None:
        return "—"
    minutes = model["time_seconds"] / 60
    time = f"{minutes:.0f} min" if minutes < _HOUR else f"{minutes / _HOUR:.1f} h"
    return f"{model['method']}, {model['device_bytes'] / _GIBI:.0f} GiB, {time}"
