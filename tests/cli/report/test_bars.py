"""The bars of a plan, on a terminal and as a picture."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftc.commands.plan import has_blocks
from ftc.compiler.plan.plan import Memory
from ftc.report.bars import draw_bars, legend

Call = Callable[..., Any]
SVG = "{http://www.w3.org/2000/svg}"
MEMORY = Memory(
    allocated_bytes=60,
    expected_bytes=60,
    margin_bytes=10,
    reserved_bytes=70,
    device_bytes=80,
    capacity_bytes=100,
    fits=True,
    phases={"load": 20, "layer_backward": 60},
    largest_phase="layer_backward",
    parts={"load": {"static": 20}, "layer_backward": {"static": 20, "activations": 40}},
)


def test_bars_are_to_one_scale_that_ends_at_the_capacity() -> None:
    """20 and 60 of 100 in 50 columns."""
    drawn = [text for _, text in draw_bars(MEMORY, columns=50, plain=True)]
    assert drawn == ["#" * 10, "#" * 10 + "+" * 20]
    assert legend(MEMORY, plain=True) == "# static  + activations"


def test_a_bar_beyond_the_capacity_is_the_scale() -> None:
    """What does not fit is drawn whole."""
    memory = Memory(
        allocated_bytes=200,
        expected_bytes=200,
        margin_bytes=0,
        reserved_bytes=200,
        device_bytes=200,
        capacity_bytes=100,
        fits=False,
        phases={"loss": 200},
        largest_phase="loss",
        parts={"loss": {"static": 100, "loss": 100}},
    )
    ((_, drawn),) = draw_bars(memory, columns=10, plain=True)
    assert drawn == "#####~~~~~"


def test_text_has_a_bar_for_each_phase(call: Call, spec_file: Path) -> None:
    """In the order of a run, below the verdict."""
    lines = call("plan", spec_file).out.splitlines()
    assert lines[1] == ""
    names = [line.split("  ")[1] for line in lines[2:7]]
    assert names == ["load", "loss", "layer backward", "optimizer step", "evaluation"]


def test_the_picture_says_what_the_text_says(call: Call, spec_file: Path) -> None:
    """Well-formed, the verdict as its title, a bar per part, and the capacity."""
    text = call("plan", spec_file).out.splitlines()[0]
    result = call("plan", spec_file, "--format", "svg")
    assert result.code == 0
    root = ET.fromstring(result.out)  # noqa: S314 - the picture is our own
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == text
    data = json.loads(call("plan", spec_file, "--format", "json").out)
    parts = data["memory"]["per_gpu"]["parts"]
    bars = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    assert len(bars) == sum(1 for phase in parts.values() for size in phase.values() if size)
    labels = [label.text for label in root.iter(f"{SVG}text")]
    assert any(label and label.startswith("capacity 2") for label in labels)
    for name, sizes in parts.items():
        assert name.replace("_", " ") in labels
        assert sum(sizes.values()) == data["memory"]["per_gpu"]["phases"][name]


@pytest.mark.parametrize(("encoding", "blocks"), [("utf-8", True), ("ascii", False)])
def test_a_terminal_without_block_elements_gets_ascii(
    monkeypatch: pytest.MonkeyPatch, encoding: str, *, blocks: bool
) -> None:
    """The encoding of standard output decides."""

    class Output:
        """A standard output of such an encoding."""

    Output.encoding = encoding  # type: ignore[attr-defined]
    monkeypatch.setattr("sys.stdout", Output())
    assert has_blocks() is blocks


def test_an_escaped_name_stays_well_formed(call: Call, spec_file: Path) -> None:
    """No word of the spec becomes markup."""
    spec = json.loads(spec_file.read_text(encoding="utf-8"))
    spec_file.write_text(json.dumps({**spec, "hardware": "cpu"}), encoding="utf-8")
    ET.fromstring(call("plan", spec_file, "--format", "svg").out)  # noqa: S314 - our own
