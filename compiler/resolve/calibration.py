"""Reads the measurements of a pilot from its pilot.json as factors for later plans."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from ftc.compiler.knowledge.hardware.accelerators import find_accelerator
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.facts import Calibration, HardwareFacts
from ftc.spec.findings.finding import Finding
from ftc.spec.message import Message, Value, reason_of

_VERSION: Final = 1
#: The bounds of the ratio of measured to planned numbers; a file beyond them is not from a pilot.
_LEAST: Final = 0.02
_MOST: Final = 50.0
_MOST_BYTES: Final = 2**20  # of the file

Size = Annotated[int, msgspec.Meta(gt=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]


class Machine(msgspec.Struct):
    """The machine of the pilot; `count` is the number of processes per node."""

    kind: Literal["gpu", "cpu"]
    device: str
    count: Size
    nodes: Size


class Factors(msgspec.Struct):
    """The factors that scaled the plan of the pilot's bundle."""

    memory: Seconds = 1.0
    time: Seconds = 1.0


class Planned(msgspec.Struct):
    """The plan's numbers: the peak of one process with its margin, and seconds of a step."""

    memory_bytes: Size
    margin_bytes: Annotated[int, msgspec.Meta(ge=0)]
    step_seconds: Seconds | None
    calibration: Factors


class Measured(msgspec.Struct):
    """The same numbers, measured."""

    memory_bytes: Size
    step_seconds: Seconds


class Pilot(msgspec.Struct):
    """The part of pilot.json that a plan is calibrated with."""

    machine: Machine
    planned: Planned
    measured: Measured


def read_calibration(path: Path, hardware: HardwareFacts) -> Calibration | Finding:
    """Return the factors of a pilot.json, or the problem with the file on this hardware."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except OSError as error:
        return _unusable(path, "calibration.unreadable", reason=reason_of(error))
    found = _parse(path, content)
    if isinstance(found, Finding):
        return found
    if not _is_of(found.machine, hardware):
        return explanations.OTHER_MACHINE.finding(
            pointer="/hardware",
            path=str(path),
            found=_describe(found.machine.count, found.machine.device, found.machine.nodes),
            wanted=_describe(max(1, hardware.count), hardware.name, hardware.nodes),
        )
    calibration = Calibration(
        memory=_memory_factor(found),
        time=_time_factor(found),
        sha256=hashlib.sha256(content).hexdigest(),
    )
    if all(_LEAST <= factor <= _MOST for factor in (calibration.memory, calibration.time or 1)):
        return calibration
    return _unusable(path, "calibration.implausible")


def _parse(path: Path, content: bytes) -> Pilot | Finding:
    try:
        data: Any = msgspec.json.decode(content)
    except (ValueError, RecursionError):
        return _unusable(path, "calibration.not_json")
    version = data.get("version") if isinstance(data, dict) else None
    if version != _VERSION or isinstance(version, bool):
        return _unusable(path, "calibration.other_version", version=_VERSION)
    try:
        return msgspec.convert(data, Pilot)
    except msgspec.ValidationError as error:
        return _unusable(path, "calibration.wrong_type", detail=ascii(str(error))[1:-1])


def _memory_factor(found: Pilot) -> float:
    """Return measured over planned bytes without the margin, which a plan adds again."""
    planned = found.planned
    ratio = found.measured.memory_bytes / max(1, planned.memory_bytes - planned.margin_bytes)
    return round(ratio * planned.calibration.memory, 3)


def _time_factor(found: Pilot) -> float | None:
    """Return measured over planned seconds of a step; None if the plan had no time."""
    planned = found.planned
    if planned.step_seconds is None:
        return None
    ratio = found.measured.step_seconds / planned.step_seconds
    return round(ratio * planned.calibration.time, 3)


def _is_of(machine: Machine, hardware: HardwareFacts) -> bool:
    """Return whether a pilot ran on the same number of a device that the spec can mean."""
    if (machine.kind, machine.nodes) != (hardware.kind, hardware.nodes):
        return False
    if machine.count != max(1, hardware.count):
        return False
    if machine.kind == "cpu" or machine.device == hardware.name:
        return True
    match = find_accelerator(machine.device)
    names = {hardware.name, *hardware.also_matches}
    return match is not None and match.accelerator.name in names


def _describe(count: int, device: str, nodes: int) -> str:
    """Return a machine in the notation of a spec."""
    name = f"{count}x {device}"
    return name if nodes == 1 else f"{nodes} nodes of {name}"


def _unusable(path: Path, key: str, **values: Value) -> Finding:
    reason = Message(key, values)
    return explanations.NO_CALIBRATION.finding(pointer="", path=str(path), reason=reason)
