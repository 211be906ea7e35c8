"""The pins of a bundle are those that ftc itself is tested with."""

import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.knowledge.locked_packages import find_closure
from ftc.compiler.plan.known import KnownFacts
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.pins import PINS
from ftc.spec.sections import Spec

ROOT = Path(__file__).parents[3]
RenderRequirements = Callable[[Mapping[str, Any]], tuple[str, str]]


@pytest.fixture
def render_requirements(
    build_known: Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]],
) -> RenderRequirements:
    """Give requirements.txt and requirements.lock of the base spec with edits."""

    def render(edits: Mapping[str, Any]) -> tuple[str, str]:
        spec, facts = build_known(edits)
        source = BundleSource(
            spec=spec,
            written={"name": spec.name},
            facts=facts,
            plan=make_plan(spec, facts),
            data_path="../tickets.csv",
            model_path=None,
            chat_template=None,
        )
        texts = {file.name: file.text for file in render_bundle(source)}
        return texts["requirements.txt"], texts["requirements.lock"]

    return render


def test_pins_are_those_of_the_extras() -> None:
    """`ftc[run,gpu,trackers]` and a bundle's requirements.txt give the same packages."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pinned = dict(
        line.split("==") for line in [*extras["run"], *extras["gpu"], *extras["trackers"]]
    )

    assert pinned == dict(PINS)


def test_every_pin_is_locked_at_its_version() -> None:
    """`.ci/lock.py` was run after the last change of a pin; so were the constraints kept."""
    locked = {package.name: package for package in find_closure(PINS)}

    assert {name: locked[name].version for name in PINS if name in locked} == dict(PINS)
    assert all(package.hashes for package in locked.values())
    constraints = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8")
    pinned = dict(line.split("==") for line in constraints.splitlines() if "==" in line[:60])
    tested = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pinned.items()}
    others = {
        name
        for name, package in locked.items()
        if tested.get(name, package.version) != package.version
    }
    of_gpus = {"triton", "setuptools"}  # of torch's build for them, which CI does not have
    assert others <= of_gpus | {"pillow"}, "which trackio wants older"


def test_trackio_is_locked_with_the_pillow_that_it_takes(
    render_requirements: RenderRequirements,
) -> None:
    """It wants an older one than the tested set has, and only its own bundles get that one."""
    _, usual = render_requirements({})
    _, with_it = render_requirements({"/spec/tracking/type": "trackio"})
    older = re.search(r"^pillow==(\d+)", with_it, re.MULTILINE)
    newer = re.search(r"^pillow==(\d+)", usual, re.MULTILINE)

    assert older is not None
    assert newer is not None
    assert int(older[1]) < 13 <= int(newer[1])
    assert re.search(r"^trackio==\S+ \\\n    --hash=sha256:", with_it, re.MULTILINE)


def test_the_lock_of_a_bundle_is_closed(render_requirements: RenderRequirements) -> None:
    """It holds requirements.txt line for line, and whatever any line of it needs."""
    plain, locked = render_requirements({})
    full, with_more = render_requirements({"/spec/method/type": "full", "/spec/export/types": []})

    for text, lock in ((plain, locked), (full, with_more)):
        heads = [line.removesuffix(" \\") for line in lock.splitlines() if "==" in line]
        assert set(text.split()) <= set(heads)
        assert heads == sorted(heads, key=lambda head: head.split("==")[0])
        names = [head.split("==")[0] for head in heads]
        assert names == [package.name for package in find_closure(names)]
        for line in lock.splitlines():
            known = re.fullmatch(r"#.*|[\w.-]+==\S+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line)
            assert known, line
    assert "llama-cpp-python==" in locked
    assert "nvidia-cublas==" in locked
    assert "llama-cpp-python==" not in with_more
