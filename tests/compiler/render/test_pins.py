"""The pins of a bundle are those that ftc itself is tested with."""

import tomllib
from pathlib import Path

from ftc.compiler.render.pins import PINS

ROOT = Path(__file__).parents[3]


def test_pins_are_the_run_extra() -> None:
    """`pip install ftc[run]` and a bundle's requirements.txt give the same packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extra = dict(line.split("==") for line in project["optional-dependencies"]["run"])

    assert extra == dict(PINS)
