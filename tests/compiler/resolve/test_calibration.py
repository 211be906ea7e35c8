"""What a pilot measured is read as factors of a plan, or refused with one sentence."""

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.resolve.calibration import read_calibration
from ftc.compiler.resolve.facts import Calibration, HardwareFacts
from ftc.compiler.resolve.hardware import resolve_hardware
from ftc.spec.findings.finding import Finding

GIB = 2**30
PILOT: dict[str, Any] = {
    "version": 1,
    "machine": {"kind": "gpu", "device": "NVIDIA A100-SXM4-80GB", "count": 2, "nodes": 1},
    "planned": {
        "memory_bytes": 42 * GIB,
        "margin_bytes": 2 * GIB,
        "allocated_bytes": 40 * GIB,
        "step_seconds": 2.0,
        "calibration": {"memory": 1.0, "time": 1.0},
    },
    "measured": {"memory_bytes": 36 * GIB, "allocated_bytes": 33 * GIB, "step_seconds": 3},
}


@pytest.fixture
def hardware(make_spec: Any) -> HardwareFacts:
    """Return two A100 of 80 GB."""
    found = resolve_hardware(make_spec(hardware="2x A100-80GB"))
    assert isinstance(found, HardwareFacts)
    return found


def write(path: Path, **parts: dict[str, Any]) -> Path:
    """Write a pilot.json whose parts have other values."""
    pilot = copy.deepcopy(PILOT)
    for name, values in parts.items():
        pilot[name] |= values
    path.write_text(json.dumps(pilot), encoding="utf-8")
    return path


def read(path: Path, hardware: HardwareFacts) -> Calibration:
    """Return factors that are expected to be usable."""
    found = read_calibration(path, hardware)
    assert isinstance(found, Calibration), found
    return found


def test_the_factors(tmp_path: Path, hardware: HardwareFacts) -> None:
    """Measured over planned, the margin left out; the file is named by its hash."""
    path = write(tmp_path / "pilot.json")
    assert read(path, hardware) == Calibration(
        memory=0.9, time=1.5, sha256=hashlib.sha256(path.read_bytes()).hexdigest()
    )


def test_a_calibrated_plan_is_measured_again(tmp_path: Path, hardware: HardwareFacts) -> None:
    """The factors that it was made with are multiplied with the new ones."""
    again = {"calibration": {"memory": 0.5, "time": 2.0}}
    found = read(write(tmp_path / "pilot.json", planned=again), hardware)
    assert (found.memory, found.time) == (0.45, 3.0)


def test_a_plan_without_times(tmp_path: Path, hardware: HardwareFacts) -> None:
    """Memory alone is calibrated."""
    found = read(write(tmp_path / "pilot.json", planned={"step_seconds": None}), hardware)
    assert (found.memory, found.time) == (0.9, None)


@pytest.mark.parametrize(
    "machine",
    [
        {"count": 1},
        {"nodes": 2},
        {"device": "NVIDIA H100 80GB HBM3"},
        {"device": "NVIDIA A100-SXM4-40GB"},
        {"kind": "cpu", "device": "cpu"},
    ],
)
def test_another_machine(tmp_path: Path, hardware: HardwareFacts, machine: dict[str, Any]) -> None:
    """Both machines are named."""
    found = read_calibration(write(tmp_path / "pilot.json", machine=machine), hardware)
    assert isinstance(found, Finding)
    assert (found.code, found.severity, found.pointer) == ("FTC309", "error", "/hardware")
    assert machine.get("device", "A100-SXM4-80GB") in found.message
    assert "the spec is for 2x A100-SXM4-80GB" in found.message


def test_a_word_for_several_cards(tmp_path: Path, make_spec: Any) -> None:
    """The pilot ran on the one that the spec did not mean first."""
    wide = resolve_hardware(make_spec(hardware="2x A100-80GB"))
    assert isinstance(wide, HardwareFacts)
    assert wide.also_matches
    path = write(tmp_path / "pilot.json", machine={"device": wide.also_matches[0]})
    assert isinstance(read_calibration(path, wide), Calibration)


def test_processes_of_a_cpu(tmp_path: Path, make_spec: Any) -> None:
    """The number of processes counts, as the number of GPUs does."""
    machine = {"kind": "cpu", "device": "cpu", "count": 1}
    path = write(tmp_path / "pilot.json", machine=machine)
    one, two = (resolve_hardware(make_spec(hardware=name)) for name in ("cpu", "2x cpu"))
    assert isinstance(one, HardwareFacts)
    assert isinstance(two, HardwareFacts)
    assert isinstance(read_calibration(path, one), Calibration)
    assert isinstance(read_calibration(path, two), Finding)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("\ud800", "not JSON"),
        ("[]", "version 1"),
        ('{"version": 2}', "version 1"),
        ('{"version": true}', "version 1"),
        ('{"version": 1}', "machine"),
        (json.dumps({**PILOT, "measured": {"memory_bytes": 0, "step_seconds": 1}}), "memory_bytes"),
        (
            json.dumps(PILOT).replace('"step_seconds": 3', '"step_seconds": NaN'),
            "not JSON",
        ),
        (json.dumps({**PILOT, "measured": {"memory_bytes": 1, "step_seconds": -1}}), ">"),
        (json.dumps({**PILOT, "measured": {"memory_bytes": 1, "step_seconds": 1}}), "too far"),
    ],
)
def test_what_no_pilot_writes(
    tmp_path: Path, hardware: HardwareFacts, text: str, words: str
) -> None:
    """One error, which says why."""
    path = tmp_path / "pilot.json"
    path.write_bytes(text.encode(errors="surrogatepass"))
    found = read_calibration(path, hardware)
    assert isinstance(found, Finding)
    assert (found.code, found.severity) == ("FTC308", "error")
    assert words in found.message
    assert "pilot.json" in found.help


@pytest.mark.parametrize("name", ["gone.json", "."])
def test_what_cannot_be_read(tmp_path: Path, hardware: HardwareFacts, name: str) -> None:
    """A missing file and a folder are findings too."""
    found = read_calibration(tmp_path / name, hardware)
    assert isinstance(found, Finding)
    assert "cannot be read" in found.message
