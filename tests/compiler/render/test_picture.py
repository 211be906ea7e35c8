"""The picture of a plan's memory, which `ftc plan` prints and a bundle's README shows."""

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.files.picture import draw_plan
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

BuildKnown = Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]]
SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_is_xml_with_every_phase(build_known: BuildKnown) -> None:
    """A name with markup in it stays text; each phase has its bar and its size."""
    plan = make_plan(*build_known({}))
    tree = ET.fromstring(draw_plan("a <b> & c", plan))  # noqa: S314 - our own text
    title = tree.findtext(f"{SVG}title")
    assert title is not None
    assert title.startswith("a <b> & c fits: peak ")
    texts = [text.text for text in tree.iter(f"{SVG}text")]
    assert {phase.replace("_", " ") for phase in plan.memory.phases} <= set(texts)
    assert f"capacity {plan.memory.capacity_bytes / 2**30:.1f} GiB" in texts  # type: ignore[operator]
