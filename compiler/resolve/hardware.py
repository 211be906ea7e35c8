"""Hardware facts: a GPU by its name in the accelerator table, or what this machine has."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from ftc.compiler.knowledge.hardware.accelerators import (
    LEAST_CAPABILITY,
    Accelerator,
    find_accelerator,
    find_other_maker,
    find_slice,
    find_unified,
    list_smaller,
    suggest,
)
from ftc.compiler.knowledge.hardware.cloud_instances import Instance, find_instance
from ftc.compiler.knowledge.hardware.vague_names import Vague, find_vague
from ftc.compiler.resolve import explanations
from ftc.compiler.resolve.facts import HardwareFacts, Unknown
from ftc.compiler.resolve.machines import Machines, read_machines
from ftc.compiler.resolve.patches import patch_field
from ftc.spec.findings.finding import Finding
from ftc.spec.sections import Hardware, Spec

_GIB: Final = 1024**3
#: The first compute capability with bf16 in hardware and FlashAttention 2 (NVIDIA's Ampere).
_AMPERE: Final = 8.0
#: The separator of two GPU names, and a number of GPUs before or after a name.
_JOINED: Final = re.compile(r"[+&,;/]|\band\b")
#: A number that is neither a part of a name nor an amount of memory.
_LONE: Final = re.compile(
    r"(?<![\w.-])\d{1,3}(?![\w.-])(?!\s*Gi?B?\b)|\d\s*[*\u00d7]|(?<![\w.-])\d{1,3}[xX]\b"
)
#: How many GPUs, without saying which.
_COUNT_ALONE: Final = re.compile(
    r"\s*(\d{1,2})\s*[xX\u00d7]?\s*(?:gpus?|cards?)?\s*", re.IGNORECASE
)
_COUNT: Final = re.compile(r"^\d+\s*[xX\u00d7]\s*|\s*[xX\u00d7]\s*\d+$")

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
        return measure_disk(_cpu(said, origin="spec"))
    if word == "auto":
        gpus = read_gpus()
        return measure_disk(_present(said, gpus) if gpus else _cpu(said, origin="machine"))
    match = find_accelerator(said.gpu)
    if match is None:
        return Unknown(finding=_unknown_name(spec))
    return _named(said, match.accelerator, match.ambiguous)


def has_kernels(facts: HardwareFacts) -> bool:
    """Return whether the locked torch has kernels for the GPU; a CPU needs none."""
    capability = facts.compute_capability
    return capability is None or capability >= _capability(LEAST_CAPABILITY)


def measure_disk(facts: HardwareFacts, *, downloaded: int = 0) -> HardwareFacts:
    """Return the facts with the free disk space here, if they are of this machine and have none.

    What the run needs and has `downloaded` already counts as free. Free space changes all the time,
    so it is measured for each check and not stored in the lock.
    """
    is_this_machine = facts.origin == "machine" or facts.kind == "cpu"
    if facts.disk_free_bytes is not None or not is_this_machine:
        return facts
    return replace(facts, disk_free_bytes=psutil.disk_usage(str(Path.cwd())).free + downloaded)


def describe_device(device: Accelerator, count: int) -> dict[str, Any]:
    """Return the fields of HardwareFacts from a data sheet, for a number of GPUs in one host."""
    return {
        "name": device.name,
        "memory_bytes": device.memory_bytes,
        "compute_capability": _capability(device.compute_capability),
        "bf16": device.bf16,
        "flash_attention_2": device.flash_attention_2,
        "bf16_tflops": device.bf16_tflops,
        "bandwidth_gb_s": device.bandwidth_gb_s,
        "link": link_of(device, count),
    }


def read_gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that NVIDIA's driver reports; none without a driver."""
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
    """Return a GPU from its data sheet, with what the spec says about its host."""
    count = 1 if said.count == "auto" else said.count
    return HardwareFacts(
        **describe_device(device, count),
        kind="gpu",
        origin="spec",
        count=count,
        host_ram_bytes=_bytes(said.ram_gib),
        disk_free_bytes=_bytes(said.disk_gib),
        cores=None,
        also_matches=others,
        nodes=said.nodes,
        network_gbit=said.network_gbit,
    )


def _present(said: Hardware, gpus: Sequence[Gpu]) -> HardwareFacts:
    """Return the GPUs of this machine that have the name of the first, with the least memory."""
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
        link=link_of(device, count),
        host_ram_bytes=_ram(said),
        disk_free_bytes=_bytes(said.disk_gib),
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
        disk_free_bytes=_bytes(said.disk_gib),
        cores=_cores(),
        also_matches=(),
        nodes=said.nodes,
        network_gbit=said.network_gbit,
    )


def link_of(device: Accelerator | None, count: int) -> Link:
    """Return how a number of GPUs in one host are connected."""
    if count < 2:  # noqa: PLR2004 - one GPU has no connection
        return "none"
    return "pcie" if device is None else device.link


def _capability(version: Sequence[int]) -> float:
    """Return a compute capability as one number: (8, 9) is 8.9."""
    return float(f"{version[0]}.{version[1]}")


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else round(gib * _GIB)


def _ram(said: Hardware) -> int:
    """Return the memory of the spec, else of this machine, in whole GiB so that it is stable."""
    if said.ram_gib is not None:
        return round(said.ram_gib * _GIB)
    return round(psutil.virtual_memory().total / _GIB) * _GIB


def _cores() -> int | None:
    """Count the physical cores that this process may use."""
    physical = psutil.cpu_count(logical=False)
    return min(filter(None, (physical, psutil.cpu_count())), default=None)


def _unknown_name(spec: Spec) -> Finding:
    name = spec.hardware.gpu
    other = find_other_maker(name)
    if other is not None:
        return explanations.NO_CUDA.finding(
            message=other.kind,
            help="apple" if other.maker == "Apple" else "",
            pointer="/hardware/gpu",
            name=name,
            maker=other.maker,
        )
    if (unified := find_unified(name)) is not None:
        return explanations.NO_GPU_NAME.finding(
            message="unified", help="unified", pointer="/hardware/gpu", name=name, chip=unified
        )
    if (memory := find_slice(name)) is not None:
        near = list_smaller(memory)
        return explanations.NO_GPU_NAME.finding(
            message="slice",
            help="slice" if near else "whole",
            pointer="/hardware/gpu",
            name=name,
            near=near,
        )
    if (instance := find_instance(name)) is not None:
        return _rented(spec, instance)
    kinds = _list_kinds(name)
    if len(kinds) > 1:
        return explanations.NO_GPU_NAME.finding(
            message="several", help="several", pointer="/hardware/gpu", name=name, near=kinds
        )
    if (machines := _read_machines(spec, name)) is not None:
        section = _write_machines(machines)
        found = explanations.NO_GPU_NAME.finding(
            help=_say_machines(machines),
            pointer="/hardware/gpu",
            fix=({"op": "replace", "path": "/hardware", "value": section},),
            name=name,
            meant=json.dumps(section),
            near=(machines.gpu,),
        )
        return replace(found, fix_safety="safe") if machines.certain else found
    if (number := _COUNT_ALONE.fullmatch(name)) is not None and int(number[1]):
        return explanations.NO_GPU_NAME.finding(
            message="number",
            help="number",
            pointer="/hardware/gpu",
            name=name,
            count=int(number[1]),
        )
    if (vague := find_vague(name)) is not None and not vague.without:
        return _vague(spec, vague)
    return _near(spec)


def _near(spec: Spec) -> Finding:
    """Report an unknown GPU name, with similar known names."""
    name = spec.hardware.gpu
    guess = suggest(name)
    certain = guess.same_chip and _LONE.search(name) is None  # a fix must not drop a number
    return explanations.NO_GPU_NAME.finding(
        help="near" if guess.names else "",
        pointer="/hardware/gpu",
        fix=patch_field(spec, "hardware", "gpu", guess.names[0]) if certain else (),
        name=name,
        near=guess.names,
    )


def _rented(spec: Spec, instance: Instance) -> Finding:
    """Report the name of a cloud instance; a count beside it is the number of instances."""
    name, count = spec.hardware.gpu, spec.hardware.count
    nodes = count if isinstance(count, int) and "/hardware/count" in spec.said else 1
    other = {pointer for pointer in spec.said if pointer.startswith("/hardware/")}
    fix: tuple[dict[str, Any], ...] = ()
    meant: dict[str, Any] | str = ""
    if instance.gpu:
        meant = _write_machines(
            Machines(gpu=instance.gpu, count=instance.count, nodes=nodes, certain=True)
        )
        if other <= {"/hardware/gpu", "/hardware/count"}:
            fix = ({"op": "replace", "path": "/hardware", "value": meant},)
    found = explanations.NO_GPU_NAME.finding(
        message="instance",
        help="instance" if instance.gpu else "",
        pointer="/hardware/gpu",
        fix=fix,
        name=name,
        maker=instance.maker,
        gpu=instance.gpu,
        count=instance.count,
        meant=json.dumps(meant),
    )
    return replace(found, fix_safety="safe") if nodes == 1 else found


def _vague(spec: Spec, vague: Vague) -> Finding:
    """Report a name that says where or on what kind of device the run is, and not on which GPU."""
    name, meant = spec.hardware.gpu, None
    if vague.kind == "cpu":
        meant = "cpu"
    elif vague.kind == "device" and read_gpus():
        meant = "auto"
    listed = bool(vague.gpus) or vague.kind in ("cpu", "device")
    found = explanations.NO_GPU_NAME.finding(
        message=vague.kind,
        help=vague.kind if listed else "place_alone",
        pointer="/hardware/gpu",
        fix=() if meant is None else patch_field(spec, "hardware", "gpu", meant),
        name=name,
        near=vague.gpus,
    )
    return replace(found, fix_safety="safe") if vague.kind == "cpu" else found


def _read_machines(spec: Spec, name: str) -> Machines | None:
    """Return the machines that a name describes, or None if other hardware fields are set.

    The words for a place that rents them, as in "2x T4 on Kaggle", describe nothing else.
    """
    vague = find_vague(name)
    text = vague.without if vague is not None and vague.without else name
    said = {pointer for pointer in spec.said if pointer.startswith("/hardware/")}
    if not said <= {"/hardware/gpu", "/hardware/count"}:
        return None
    count = spec.hardware.count
    before = f"{count}x " if isinstance(count, int) and "/hardware/count" in said else ""
    found = read_machines(f"{before}{text}")
    if found is not None and before and min(found.count, found.nodes) == 1:
        return replace(found, count=found.count * found.nodes, nodes=1)  # 2 of "1x A100" are two
    return found


def _say_machines(machines: Machines) -> str:
    """Return the variant of the help for the section of these machines."""
    if machines.ram_gib or machines.network_gbit:
        return "parts"
    return "nodes" if machines.nodes > 1 else "count" if machines.count > 1 else "near"


def _write_machines(machines: Machines) -> dict[str, Any] | str:
    """Return the section of the hardware, in its short form for one machine."""
    more = {"ram_gib": machines.ram_gib, "network_gbit": machines.network_gbit}
    given = {name: number for name, number in more.items() if number}
    if machines.nodes > 1:
        return {"gpu": machines.gpu, "count": machines.count, "nodes": machines.nodes, **given}
    if given:
        return {"gpu": machines.gpu, "count": machines.count, **given}
    return f"{machines.count}x {machines.gpu}" if machines.count > 1 else machines.gpu


def _list_kinds(name: str) -> tuple[str, ...]:
    """Return the GPUs that a name joins: "A100-80GB + 1x T4" names two."""
    parts = (_COUNT.sub("", part.strip()) for part in _JOINED.split(name))
    found = [find_accelerator(part) for part in parts]
    kinds = (match.accelerator.name for match in found if match is not None)
    return tuple(dict.fromkeys(kinds)) if all(found) else ()
