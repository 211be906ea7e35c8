"""Reads this machine's hardware: GPUs from NVIDIA's driver, memory, disk and cores."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from ftc.compiler.knowledge.hardware.accelerators import LEAST_CAPABILITY, find_accelerator

_GIB: Final = 2**30
# the memory used by the driver and an idle desktop; a GPU with more is in use
_IDLE_BYTES: Final = 1 * _GIB
_DISK_STEP_GIB: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU; `known_as` is its name in the table of accelerators, None where it is not there."""

    index: int
    name: str
    known_as: str | None
    memory_bytes: int
    used_bytes: int
    compute_capability: str

    @property
    def busy(self) -> bool:
        """Whether other processes use memory that a plan needs."""
        return self.used_bytes > _IDLE_BYTES

    @property
    def has_kernels(self) -> bool:
        """Whether the locked torch has kernels for it."""
        major, minor = self.compute_capability.split(".")
        return (int(major), int(minor)) >= LEAST_CAPABILITY


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One computer; `trouble` says why the driver gave no GPUs, None where there is no driver."""

    devices: tuple[Device, ...]
    driver: str | None
    trouble: str | None
    ram_bytes: int
    ram_free_bytes: int
    disk_free_bytes: int
    cores: int | None


def read_machine(folder: Path) -> Machine:
    """Query the driver and the system; `folder` is the folder that a run would write to."""
    memory = psutil.virtual_memory()
    devices, driver, trouble = _read_devices()
    return Machine(
        devices=devices,
        driver=driver,
        trouble=trouble,
        ram_bytes=memory.total,
        ram_free_bytes=memory.available,
        disk_free_bytes=psutil.disk_usage(str(folder)).free,
        cores=psutil.cpu_count(logical=False) or psutil.cpu_count(),
    )


def choose_devices(machine: Machine) -> tuple[Device, ...]:
    """Return the GPUs to run on: of one model, those that are free, else all of that model.

    The model is the one with the most free memory in all, of those that torch has kernels for.
    """
    models: dict[str, list[Device]] = {}
    for device in machine.devices:
        models.setdefault(device.name, []).append(device)
    if not models:
        return ()

    def room(devices: Sequence[Device]) -> tuple[bool, int]:
        free = sum(device.memory_bytes - device.used_bytes for device in devices)
        return devices[0].has_kernels, free

    alike = max(models.values(), key=room)
    return tuple(device for device in alike if not device.busy) or tuple(alike)


def hardware_section(machine: Machine) -> Mapping[str, Any]:
    """Return the `hardware` section of a spec for this machine; `auto` for a GPU that has no name.

    Memory in whole GiB, disk rounded down to tens, so that it is the same a minute later.
    """
    chosen = choose_devices(machine)
    disk = machine.disk_free_bytes // _GIB
    host = {
        "ram_gib": max(1, round(machine.ram_bytes / _GIB)),
        "disk_gib": max(
            1, disk // _DISK_STEP_GIB * _DISK_STEP_GIB if disk > _DISK_STEP_GIB else disk
        ),
    }
    if not chosen:
        return {"gpu": "cpu", **host}
    return {"gpu": chosen[0].known_as or "auto", "count": len(chosen), **host}


def list_notes(machine: Machine) -> tuple[str, ...]:
    """Return notes that are not in the section, one line each: GPUs left out or in use."""
    notes = [] if machine.trouble is None else [machine.trouble]
    chosen = choose_devices(machine)
    others = [device for device in machine.devices if device not in chosen]
    for device in others:
        why = "is in use" if device.busy else "is of another model"
        notes.append(f"GPU {device.index} ({device.name}) {why} and not counted")
    if chosen and others:
        numbers = ",".join(str(device.index) for device in chosen)
        notes.append(f"run with CUDA_VISIBLE_DEVICES={numbers}")
    for device in chosen:
        if device.busy:
            used = f"{device.used_bytes / _GIB:.1f} of {device.memory_bytes / _GIB:.1f} GiB"
            notes.append(f"GPU {device.index} has {used} in use, and a plan counts on all of it")
        if not device.has_kernels:
            notes.append(f"the locked torch has no kernels for {device.name} (FTC333)")
        if device.known_as is None:
            notes.append(f"{device.name} is not in the table, so its speed is not known")
    if any(device.used_bytes >= device.memory_bytes for device in chosen):
        notes.append("no GPU has memory left")
    return tuple(dict.fromkeys(notes))


def machine_data(machine: Machine) -> Mapping[str, Any]:
    """Return all of it as plain data."""
    return {
        "driver": machine.driver,
        "gpus": [
            {
                "index": device.index,
                "name": device.name,
                "known_as": device.known_as,
                "memory_bytes": device.memory_bytes,
                "used_bytes": device.used_bytes,
                "compute_capability": device.compute_capability,
                "busy": device.busy,
            }
            for device in machine.devices
        ],
        "ram_bytes": machine.ram_bytes,
        "ram_free_bytes": machine.ram_free_bytes,
        "disk_free_bytes": machine.disk_free_bytes,
        "cores": machine.cores,
        "notes": list(list_notes(machine)),
        "hardware": hardware_section(machine),
    }


def report_machine(machine: Machine) -> str:
    """Return the machine as text, and the section to paste at the end."""
    lines = [_say_device(device) for device in machine.devices]
    lines = lines or ["GPU       none that NVIDIA's driver reports"]
    if machine.driver is not None:
        lines.append(f"driver    {machine.driver}")
    total, free = machine.ram_bytes / _GIB, machine.ram_free_bytes / _GIB
    lines.append(f"memory    {total:.1f} GiB, {free:.1f} GiB free")
    lines.append(f"disk      {machine.disk_free_bytes / _GIB:.1f} GiB free here")
    lines.append(f"cores     {machine.cores or 'unknown'}")
    lines += [f"note      {note}" for note in list_notes(machine)]
    section = json.dumps(hardware_section(machine), ensure_ascii=False)
    return "\n".join([*lines, "", f'"hardware": {section}'])


def _say_device(device: Device) -> str:
    size, used = device.memory_bytes / _GIB, device.used_bytes / _GIB
    name = device.name if device.known_as is None else f"{device.name} = {device.known_as}"
    return (
        f"GPU {device.index:<5} {name}, {size:.1f} GiB, {used:.1f} GiB in use, "
        f"compute capability {device.compute_capability}"
    )


def _read_devices() -> tuple[tuple[Device, ...], str | None, str | None]:
    """Return the GPUs, the driver's version, and why there are none where a driver failed."""
    import pynvml  # noqa: PLC0415 - needed by this command only

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return (), None, None
    except pynvml.NVMLError as error:
        return (), None, f"NVIDIA's driver does not answer: {error}"
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        count = pynvml.nvmlDeviceGetCount()
        return tuple(_read_device(pynvml, index) for index in range(count)), driver, None
    except pynvml.NVMLError as error:
        return (), None, f"NVIDIA's driver does not answer: {error}"
    finally:
        pynvml.nvmlShutdown()


def _read_device(nvml: Any, index: int) -> Device:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = _text(nvml.nvmlDeviceGetName(handle))
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    match = find_accelerator(name)
    # a name such as "A100" has several sizes: the one that this card has
    sizes = () if match is None else (match.accelerator.name, *match.ambiguous)
    return Device(
        index=index,
        name=name,
        known_as=_nearest(sizes, int(memory.total)),
        memory_bytes=int(memory.total),
        used_bytes=int(memory.used),
        compute_capability=f"{major}.{minor}",
    )


def _nearest(names: Sequence[str], memory_bytes: int) -> str | None:
    """Return the name whose memory is within a tenth of the card's, the nearest of them."""
    found = []
    for name in names:
        match = find_accelerator(name)
        if match is not None:
            away = abs(match.accelerator.memory_bytes - memory_bytes)
            found.append((away, name))
    near = [(away, name) for away, name in found if away <= memory_bytes / 10]
    return min(near)[1] if near else None


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
