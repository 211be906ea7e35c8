"""The table of accelerators, and the names by which people call them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal

__all__ = ["Accelerator", "Match", "all_accelerators", "find_accelerator", "suggest"]

# Words that name a maker or a product line and never tell two entries apart.
_NOISE = frozenset(
    {"nvidia", "amd", "geforce", "tesla", "instinct", "radeon", "rtx", "gtx", "gpu", "graphics"}
    | {"card", "generation", "edition", "workstation", "server", "tensor", "core"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One device as its data sheet gives it; rates are dense, in 10^12 operations per second.

    `memory_gib` is the size as sold, `memory_bytes` what PyTorch reports as the device's total
    (`memory_basis` says whether that was reported or estimated). `bf16_tflops` is None where the
    device computes no bf16; `compute_capability` is None for a device that is not NVIDIA's.
    `link` joins devices of one node: NVLink, AMD's fabric, or PCIe alone.
    """

    name: str
    vendor: Literal["nvidia", "amd"]
    memory_gib: int
    memory_bytes: int
    memory_basis: Literal["reported", "estimated"]
    compute_capability: tuple[int, int] | None
    bf16: bool
    flash_attention_2: bool
    bf16_tflops: float | None
    fp16_tflops: float
    fp32_tflops: float
    bandwidth_gb_s: float
    link: Literal["nvlink", "fabric", "pcie"]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """What a name was taken for; `ambiguous` holds the other names it could have meant."""

    accelerator: Accelerator
    ambiguous: tuple[str, ...]


@cache
def find_accelerator(text: str) -> Match | None:
    """Read a name as people write it ("4090", "A100-80GB", "NVIDIA H100 80GB HBM3"), or None.

    Of several that fit, the one with the least memory is taken, since a plan for it holds on the
    others; of those of one size, the one with the fastest link, since that is the usual one.
    """
    words = _words(text)
    found = [device for device, entry in _table().items() if words and _fits(words, device, entry)]
    if not found:
        return None
    found.sort(key=lambda device: (device.memory_bytes, device.link == "pcie", device.name))
    return Match(accelerator=found[0], ambiguous=tuple(device.name for device in found[1:]))


def suggest(text: str) -> tuple[str, ...]:
    """At most three names close to a name that nothing fits; those of the same chip come first."""
    words = _words(text)
    same = [d.name for d, entry in _table().items() if frozenset(entry["words"].split()) <= words]
    spelled = {" ".join(sorted(_words(device.name))): device.name for device in _table()}
    spelled |= {entry["words"]: device.name for device, entry in _table().items()}
    close = get_close_matches(" ".join(sorted(words)), spelled, n=3, cutoff=0.5)
    return tuple(dict.fromkeys([*same, *(spelled[key] for key in close)]))[:3]


def all_accelerators() -> tuple[Accelerator, ...]:
    """Every device of the table, sorted by name."""
    return tuple(_table())


def _fits(words: frozenset[str], device: Accelerator, entry: Mapping[str, Any]) -> bool:
    """All words of the chip are there, and nothing that this entry does not also carry."""
    chip = frozenset(entry["words"].split())
    size = str(device.memory_gib)
    return chip <= words <= chip | {size, f"{size}gb"} | frozenset(entry["qualifiers"].split())


def _words(text: str) -> frozenset[str]:
    """Lower-case words, with "RTX4090Ti" and "80 GiB" and "SXM4" brought to one form."""
    text = re.sub(r"(?<![a-z0-9])(\d+)\s*(?:gib|gb|g)\b", r" \1gb ", text.lower())
    text = re.sub(r"\b(rtx|gtx)(?=a?\d)", r"\1 ", text)
    text = re.sub(r"(?<=\d{4})(ti|super)\b", r" \1", text)
    text = re.sub(r"\bsxm\d\b", "sxm", text)
    words = frozenset(re.findall(r"[a-z0-9]+", text))
    return words - _NOISE or words


@cache
def _table() -> Mapping[Accelerator, Mapping[str, Any]]:
    text = (files("ftc.compiler.knowledge") / "accelerators.json").read_text(encoding="utf-8")
    return {_device(entry): entry for entry in json.loads(text)["accelerators"]}


def _number(value: float | None) -> Any:
    """Return a float, so that a figure is the same before and after it was stored as JSON."""
    return None if value is None else float(value)


def _device(entry: Mapping[str, Any]) -> Accelerator:
    capability = entry["compute_capability"]
    return Accelerator(
        name=entry["name"],
        vendor=entry["vendor"],
        memory_gib=entry["memory_gib"],
        memory_bytes=entry["memory_bytes"],
        memory_basis=entry["memory_basis"],
        compute_capability=None if capability is None else (capability[0], capability[1]),
        bf16=entry["bf16"],
        flash_attention_2=entry["flash_attention_2"],
        bf16_tflops=_number(entry["bf16_tflops"]),
        fp16_tflops=_number(entry["fp16_tflops"]),
        fp32_tflops=_number(entry["fp32_tflops"]),
        bandwidth_gb_s=_number(entry["bandwidth_gb_s"]),
        link=entry["link"],
        source=entry["source"],
    )
