"""Hardware facts: a GPU by its name in the accelerator table, or what this machine has."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from ftc.compiler.knowledge.accelerators import Accelerator, find_accelerator, suggest
from ftc.compiler.resolve import pages
from ftc.compiler.resolve.facts import HardwareFacts, Unknown
from ftc.compiler.resolve.said import patch_field
from ftc.spec.finding import Finding
from ftc.spec.sections import Hardware, Spec

_GIB: Final = 1024**3
#: The first compute capability with bf16 in hardware and FlashAttention 2 (NVIDIA's Ampere).
_AMPERE: Final = 8.0
#: Free space is rounded down to a multiple of this.
_DISK_STEP_GIB: Final = 10

Link = Literal["nvlink", "pcie", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU that the driver reports."""

    name: str
    memory_bytes: int
    compute_capability: float


def resolve_hardware(spec: Spec) -> HardwareFacts | Unknown:
    """Return the machine of the spec: `auto` is this one, `cpu` this one without its GPUs."""
    said = spec.hardware
    word = said.gpu.strip().casefold()
    if word == "cpu":
        return _cpu(said, origin="spec")
    if word == "auto":
        gpus = read_gpus()
        return _present(said, gpus) if gpus else _cpu(said, origin="machine")
    match = find_accelerator(said.gpu)
    if match is None:
        return Unknown(finding=_unknown_name(spec))
    return _named(said, match.accelerator, match.ambiguous)


def read_gpus() -> tuple[Gpu, ...]:
    """Ask NVIDIA's driver for the GPUs of this machine; none without a driver."""
    import pynvml  # noqa: PLC0415 - needed for `auto` only

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        count = pynvml.nvmlDeviceGetCount()
        return tuple(_read_gpu(pynvml, index) for index in range(count))
    except pynvml.NVMLError:
        return ()
    finally:
        pynvml.nvmlShutdown()


def _read_gpu(nvml: Any, index: int) -> Gpu:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    name = nvml.nvmlDeviceGetName(handle)
    capability = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    return Gpu(
        name=name.decode() if isinstance(name, bytes) else str(name),
        memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
        compute_capability=_capability(capability),
    )


def _named(said: Hardware, device: Accelerator, others: tuple[str, ...]) -> HardwareFacts:
    """Return a GPU as its data sheet has it; of its host only what the spec says is known."""
    count = 1 if said.count == "auto" else said.count
    capability = device.compute_capability
    return HardwareFacts(
        name=device.name,
        kind="gpu",
        origin="spec",
        count=count,
        memory_bytes=device.memory_bytes,
        compute_capability=None if capability is None else _capability(capability),
        bf16=device.bf16,
        flash_attention_2=device.flash_attention_2,
        bf16_tflops=device.bf16_tflops,
        bandwidth_gb_s=device.bandwidth_gb_s,
        link=_link(device, count),
        host_ram_bytes=_bytes(said.ram_gib),
        disk_free_bytes=_bytes(said.disk_gib),
        cores=None,
        also_matches=others,
        nodes=said.nodes,
        network_gbit=said.network_gbit,
    )


def _present(said: Hardware, gpus: Sequence[Gpu]) -> HardwareFacts:
    """Return the GPUs of this machine: as many as are like the first one, with its least memory."""
    alike = [gpu for gpu in gpus if gpu.name == gpus[0].name]
    capability = alike[0].compute_capability
    match = find_accelerator(alike[0].name)
    device = match.accelerator if match is not None else None
    count = len(alike) if said.count == "auto" else said.count
    return HardwareFacts(
        name=device.name if device is not None else alike[0].name,
        kind="gpu",
        origin="machine",
        count=count,
        memory_bytes=min(gpu.memory_bytes for gpu in alike),
        compute_capability=capability,
        bf16=capability >= _AMPERE,
        flash_attention_2=capability >= _AMPERE,
        bf16_tflops=device.bf16_tflops if device is not None else None,
        bandwidth_gb_s=device.bandwidth_gb_s if device is not None else None,
        link=_link(device, count),
        host_ram_bytes=_ram(said),
        disk_free_bytes=_disk(said),
        cores=_cores(),
        also_matches=(),
        present=len(alike),
        nodes=said.nodes,
        network_gbit=said.network_gbit,
    )


def _cpu(said: Hardware, *, origin: Literal["spec", "machine"]) -> HardwareFacts:
    """Return this machine's processor: `count` is the number of processes."""
    return HardwareFacts(
        name="cpu",
        kind="cpu",
        origin=origin,
        count=1 if said.count == "auto" else said.count,
        memory_bytes=0,
        compute_capability=None,
        bf16=False,
        flash_attention_2=False,
        bf16_tflops=None,
        bandwidth_gb_s=None,
        link="none",
        host_ram_bytes=_ram(said),
        disk_free_bytes=_disk(said),
        cores=_cores(),
        also_matches=(),
        nodes=said.nodes,
        network_gbit=said.network_gbit,
    )


def _link(device: Accelerator | None, count: int) -> Link:
    """Return how the GPUs talk; AMD's fabric is to its GPUs what NVLink is to NVIDIA's."""
    if count < 2:  # noqa: PLR2004 - one GPU has nobody to talk to
        return "none"
    return "pcie" if device is None or device.link == "pcie" else "nvlink"


def _capability(version: Sequence[int]) -> float:
    """Write a compute capability as one number: (8, 9) is 8.9."""
    return float(f"{version[0]}.{version[1]}")


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else round(gib * _GIB)


def _ram(said: Hardware) -> int:
    """Return the spec's memory, else this machine's, in whole GiB so that it is the same twice."""
    if said.ram_gib is not None:
        return round(said.ram_gib * _GIB)
    return round(psutil.virtual_memory().total / _GIB) * _GIB


def _disk(said: Hardware) -> int:
    """Return the spec's space, else what is free here, rounded down to be the same twice."""
    if said.disk_gib is not None:
        return round(said.disk_gib * _GIB)
    free = psutil.disk_usage(str(Path.cwd())).free // _GIB
    return (free // _DISK_STEP_GIB * _DISK_STEP_GIB if free >= _DISK_STEP_GIB else free) * _GIB


def _cores() -> int | None:
    """Count the physical cores that this process may use."""
    physical = psutil.cpu_count(logical=False)
    return min(filter(None, (physical, psutil.cpu_count())), default=None)


def _unknown_name(spec: Spec) -> Finding:
    name = spec.hardware.gpu
    near = suggest(name)
    listed = " or ".join(f"`{word}`" for word in near)
    instead = 'write a name such as `A100-80GB`, `"auto"` for this machine, or `"cpu"`'
    return pages.NO_GPU_NAME.finding(
        message=f"no GPU is known as `{name}`",
        help=f"did you mean {listed}? else {instead}" if near else instead,
        pointer="/hardware/gpu",
        fix=patch_field(spec, "hardware", "gpu", near[0]) if near else (),
    )
