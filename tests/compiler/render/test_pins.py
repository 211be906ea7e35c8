"""The pins of a bundle are those that ftc itself is tested with."""

import tomllib
from pathlib import Path

from ftc.compiler.render.pins import PINS

ROOT = Path(__file__).parents[3]


def test_pins_are_those_of_the_extras() -> None:
    """`pip install ftc[run,gpu]` and a bundle's requirements.txt give the same packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pinned = dict(line.split("==") for line in [*extras["run"], *extras["gpu"]])

    assert pinned == dict(PINS)
