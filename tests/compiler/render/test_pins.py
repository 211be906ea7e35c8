"""The pins of a bundle are those that ftc itself is tested with."""

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from ftc.compiler.knowledge.locked_packages import CPU_TORCH_NEEDS, find_closure
from ftc.compiler.plan.planner import make_plan
from ftc.compiler.render.bundle import BundleSource, render_bundle
from ftc.compiler.render.pins import PINS, SDIST_MB
from ftc.compiler.resolve.facts import KnownFacts
from ftc.spec.sections import Spec

ROOT = Path(__file__).parents[3]
RenderTexts = Callable[[Mapping[str, Any]], dict[str, str]]
RenderRequirements = Callable[[Mapping[str, Any]], tuple[str, str]]


@pytest.fixture
def render_texts(
    build_known: Callable[[Mapping[str, Any]], tuple[Spec, KnownFacts]],
) -> RenderTexts:
    """Give the files of the base spec with edits."""

    def render(edits: Mapping[str, Any]) -> dict[str, str]:
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
        return {file.name: file.text for file in render_bundle(source)}

    return render


@pytest.fixture
def render_requirements(render_texts: RenderTexts) -> RenderRequirements:
    """Give requirements.txt and requirements.lock of the base spec with edits."""

    def render(edits: Mapping[str, Any]) -> tuple[str, str]:
        texts = render_texts(edits)
        return texts["requirements.txt"], texts["requirements.lock"]

    return render


def test_pins_are_those_of_the_extras() -> None:
    """The extras give the packages of a bundle's requirements.txt."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    bundles = ("run", "gpu", "trackers", "vllm", "vision")
    pinned = dict(line.split("==") for name in bundles for line in extras[name])

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
    assert others <= of_gpus | {"numpy", "pillow"}, "which trackio and vllm want older"


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
    assert re.search(r"^trackio==\S+ --hash=sha256:", with_it, re.MULTILINE)


def test_a_tower_of_timm_brings_its_packages(render_requirements: RenderRequirements) -> None:
    """A bundle of Gemma 3n requires timm and torchvision; a bundle of Gemma 3 requires neither."""
    text, locked = render_requirements({"/facts/model/wrapper": "Gemma3nForConditionalGeneration"})
    other, _ = render_requirements({"/facts/model/wrapper": "Gemma3ForConditionalGeneration"})

    assert {"timm", "torchvision"} <= {line.split("==")[0] for line in text.split()}
    assert re.search(r"^timm==\S+ --hash=sha256:", locked, re.MULTILINE)
    assert "timm" not in other
    assert "torchvision" not in other


def test_the_lock_of_a_bundle_is_closed(render_requirements: RenderRequirements) -> None:
    """It holds requirements.txt line for line, and whatever any line of it needs."""
    plain, locked = render_requirements({})
    full, with_more = render_requirements({"/spec/method/type": "full", "/spec/export/types": []})

    for text, lock in ((plain, locked), (full, with_more)):
        heads = [line.split()[0] for line in lock.splitlines() if "==" in line]
        assert set(text.split()) <= set(heads)
        assert heads == sorted(heads, key=lambda head: head.split("==")[0])
        names = [head.split("==")[0] for head in heads]
        assert names == [package.name for package in find_closure(names)]
        for line in lock.splitlines():
            assert re.fullmatch(r"#.*|[\w.-]+==\S+( --hash=sha256:[0-9a-f]{64})+", line), line
    assert "llama-cpp-python==" in locked
    assert "nvidia-cublas==" in locked
    assert "llama-cpp-python==" not in with_more


CPU: Mapping[str, Any] = {
    "/spec/hardware/gpu": "cpu",
    "/facts/hardware/kind": "cpu",
    "/facts/hardware/name": "cpu",
    "/facts/hardware/count": 1,
    "/facts/hardware/memory_bytes": 0,
    "/facts/hardware/host_ram_bytes": 2**36,
}


def test_a_bundle_for_the_cpu_locks_no_cuda(render_requirements: RenderRequirements) -> None:
    """Torch is installed before, and its needs are locked; what else needs CUDA keeps it."""
    _, usual = render_requirements({})
    text, lock = render_requirements(CPU)
    heads = {line.split("==")[0] for line in lock.splitlines() if "==" in line}
    cuda = {head for head in heads if head.startswith(("nvidia", "cuda", "triton"))}

    assert "torch==" in text
    assert (cuda, "torch" in heads) == (set(), False)
    assert {"sympy", "networkx", "filelock", "transformers"} <= heads
    assert "Install the CPU build of torch" in lock
    assert "Install the CPU build" not in usual
    both = find_closure(["torch", "liger-kernel"], cpu=True)
    assert "triton" in {package.name for package in both}


def test_what_the_cpu_build_of_torch_needs() -> None:
    """As its own metadata says, where this environment has that build."""
    if not version("torch").endswith("+cpu"):
        pytest.skip("this is torch's build for GPUs")
    needs = (Requirement(line) for line in requires("torch") or ())
    found = {need.name for need in needs if need.marker is None or need.marker.evaluate()}

    assert found == set(CPU_TORCH_NEEDS)


def test_the_readme_says_what_to_install(render_texts: RenderTexts, sdist: Path) -> None:
    """The compiler and the converter's download where something is converted, and only there."""
    with_gguf = render_texts({})["README.md"]
    without = render_texts({**CPU, "/spec/export/types": []})["README.md"]
    adapter = render_texts({"/spec/export/types": [], "/spec/export/adapter": True})["README.md"]
    parts = ("C++ compiler", "-DGGML_NATIVE=OFF", "FTC_LLAMA_CPP_SDIST", f"({SDIST_MB} MB)")

    for part in parts:
        assert [part in text for text in (with_gguf, adapter, without)] == [True, True, False], part
    assert ["--index-url" in text for text in (with_gguf, without)] == [False, True]
    assert all("needs Python 3.11 to 3.13" in text for text in (with_gguf, without))
    assert round(sdist.stat().st_size / 10**6) == SDIST_MB
