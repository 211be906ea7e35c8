"""The table of accelerators, and the names that people use for them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ftc.compiler.knowledge.tables import read_table

__all__ = [
    "LEAST_CAPABILITY",
    "Accelerator",
    "Guess",
    "Match",
    "OtherMaker",
    "all_accelerators",
    "find_accelerator",
    "find_other_maker",
    "find_slice",
    "find_unified",
    "list_smaller",
    "suggest",
]

#: The first compute capability (Turing) with kernels in the CUDA 13 builds of torch, including the
#: locked torch (PyTorch's CUDA support matrix; its issues 172352 and 190385).
LEAST_CAPABILITY: Final = (7, 5)

# Names of makers and product lines, which never distinguish two entries.
_NOISE = frozenset(
    {"nvidia", "geforce", "tesla", "rtx", "gtx", "gpu", "graphics", "card", "generation"}
    | {"edition", "workstation", "server", "tensor", "core"}
)
_LONGEST = 200
_PLURAL = re.compile(r"(?<=\d)s$")
_PROFILE: Final = re.compile(r"\b[1-7]g[.\s_-]?(\d{1,3})gb\b", re.IGNORECASE)
_SLICE: Final = re.compile(r"\bmig\b", re.IGNORECASE)
_NVIDIA = re.compile(r"\b(?:nvidia|geforce|tesla|quadro|titan|rtx|gtx)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """A device according to its data sheet; rates are dense, in 10^12 operations per second.

    All are made by NVIDIA. `memory_gib` is the advertised size. `memory_bytes` is the total that
    PyTorch reports (`memory_basis` says whether it was reported or estimated). `bf16_tflops` is
    None if the device has no bf16. `link` connects the devices of one node: NVLink or PCIe.
    """

    name: str
    memory_gib: int
    memory_bytes: int
    memory_basis: Literal["reported", "estimated"]
    compute_capability: tuple[int, int]
    bf16: bool
    flash_attention_2: bool
    bf16_tflops: float | None
    fp16_tflops: float
    fp32_tflops: float
    bandwidth_gb_s: float
    link: Literal["nvlink", "pcie"]
    source: str

    @property
    def is_laptop(self) -> bool:
        """Whether it is built into a laptop, so that it cannot be rented or added."""
        return "-Laptop" in self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The device that a name means; `ambiguous` holds the other possible names."""

    accelerator: Accelerator
    ambiguous: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """The known names that an unknown one may mean; with `same_chip`, all have the named chip."""

    names: tuple[str, ...]
    same_chip: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherMaker:
    """A maker of accelerators without CUDA; `kind` is "gpu" if they are GPUs, else empty."""

    maker: str
    kind: Literal["gpu", ""]


@cache
def find_accelerator(text: str) -> Match | None:
    """Read a name as people write it ("4090", "A100-80GB", "NVIDIA H100 80GB HBM3"), or None.

    If several devices match, the one with the least memory is taken, because a plan for it fits on
    the others. Among devices with the same memory, the one with the fastest link is the usual one.
    A name may be a plural ("4090s") if it is not the name of another device, such as "L40s".
    """
    words = _words(text)
    found = _list_fitting(words) or _list_fitting(frozenset(_PLURAL.sub("", w) for w in words))
    if not found:
        return None
    found.sort(key=_order)
    return Match(accelerator=found[0], ambiguous=tuple(device.name for device in found[1:]))


@cache
def find_other_maker(text: str, *, whole: bool = False) -> OtherMaker | None:
    """Return the maker of an accelerator by its name; None if it may be NVIDIA's.

    A word of the name must belong to a maker or product; with `whole`, the whole name must.
    """
    name = " ".join(re.findall(r"[a-z0-9]+", text[:_LONGEST].lower()))
    if _NVIDIA.search(name):
        return None
    for maker, pattern in _other_makers():
        if pattern.fullmatch(name) if whole else pattern.search(name):
            return maker
    return None


@cache
def find_unified(text: str) -> str | None:
    """Return the NVIDIA chip of this name whose GPU shares the host's memory, or None."""
    name = " ".join(re.findall(r"[a-z0-9]+", text[:_LONGEST].lower()))
    for entry in _read()["unified"]:
        if re.search(rf"\b(?:{entry['pattern']})\b", name):
            return str(entry["name"])
    return None


def find_slice(text: str) -> int | None:
    """Return the memory in GB of a GPU slice (MIG) with this name, 0 if not given, or None.

    Profiles are named by their sevenths of the GPU and their memory: `1g.10gb` (NVIDIA, MIG user
    guide).
    """
    if (profile := _PROFILE.search(text[:_LONGEST])) is not None:
        return int(profile[1])
    return 0 if _SLICE.search(text[:_LONGEST]) else None


def list_smaller(memory_gib: int) -> tuple[str, ...]:
    """Return the three largest devices of at most this memory that compute in bf16."""
    found = [each for each in _table() if each.bf16 and each.memory_gib <= memory_gib]
    found.sort(key=lambda each: (-each.memory_bytes, each.name))
    return tuple(each.name for each in found if not each.is_laptop)[:3]


def suggest(text: str) -> Guess:
    """Return at most three names that share the model number of an unknown name.

    All of them are supported by the locked torch.
    """
    words = _words(_join_number(text))
    numbers = _digits(words)
    table = {d: e for d, e in _table().items() if d.compute_capability >= LEAST_CAPABILITY}
    chips = {device: frozenset(entry["words"].split()) for device, entry in table.items()}
    near = {device: chip for device, chip in chips.items() if _digits(chip) & numbers}
    same = {device: chip for device, chip in near.items() if chip <= words}
    shared = {device: len(_details(device, table[device]) & words) for device in near}
    found = sorted(
        same or near,
        key=lambda device: (-len(near[device]), -shared[device], *_order(device)),
    )
    return Guess(names=tuple(device.name for device in found[:3]), same_chip=bool(same))


def _details(device: Accelerator, entry: Mapping[str, Any]) -> frozenset[str]:
    """Return the words that tell a device from others of its chip: its memory and its form."""
    return frozenset({f"{device.memory_gib}gb", *entry["qualifiers"].split()})


def all_accelerators() -> tuple[Accelerator, ...]:
    """Return every device of the table, sorted by name."""
    return tuple(_table())


def _list_fitting(words: frozenset[str]) -> list[Accelerator]:
    return [device for device, entry in _table().items() if words and _fits(words, device, entry)]


def _fits(words: frozenset[str], device: Accelerator, entry: Mapping[str, Any]) -> bool:
    """Return whether the words contain all words of the chip, and no words that the entry lacks."""
    chip = frozenset(entry["words"].split())
    size = str(device.memory_gib)
    return chip <= words <= chip | {size, f"{size}gb"} | frozenset(entry["qualifiers"].split())


def _order(device: Accelerator) -> tuple[int, bool, str]:
    """Return a sort key that puts the usual device with the least memory first."""
    return device.memory_bytes, device.link == "pcie", device.name


def _join_number(text: str) -> str:
    """Return a name in lower case with the model number as one word: "a-1o0" becomes "a100"."""
    text = re.sub(r"(?<=\d)o(?=\d)", "0", text[:_LONGEST].lower())
    return re.sub(r"\b([a-z])[\s_-]+(?=\d+\b)", r"\1", text)


def _digits(words: frozenset[str]) -> frozenset[str]:
    """Return the digits in the words, except memory sizes."""
    sized = re.compile(r"\d+gb")
    return frozenset(
        re.sub(r"\D", "", word)
        for word in words
        if re.search(r"\d", word) and not sized.fullmatch(word)
    )


def _words(text: str) -> frozenset[str]:
    """Return lowercase words, with "RTX4090Ti", "80 GiB" and "SXM4" normalised."""
    text = re.sub(r"(?<![a-z0-9])(\d+)\s*(?:gib|gb|g)\b", r" \1gb ", text.lower())
    text = re.sub(r"\b(rtx|gtx)(?=a?\d)", r"\1 ", text)
    text = re.sub(r"(?<=\d{4})(ti|super|d)\b", r" \1", text)
    text = re.sub(r"\bsxm\d\b", "sxm", text)
    text = re.sub(r"\b(?:mobile|notebook)\b", "laptop", text)
    words = frozenset(re.findall(r"[a-z0-9]+", text))
    return words - _NOISE or words


@cache
def _read() -> Mapping[str, Any]:
    data: Mapping[str, Any] = read_table(__name__, "accelerators.json")
    return data


@cache
def _table() -> Mapping[Accelerator, Mapping[str, Any]]:
    return {_device(entry): entry for entry in _read()["accelerators"]}


@cache
def _other_makers() -> tuple[tuple[OtherMaker, re.Pattern[str]], ...]:
    return tuple(
        (
            OtherMaker(maker=entry["maker"], kind=entry["kind"]),
            re.compile(rf"\b(?:{entry['pattern']})(?!\S)"),
        )
        for entry in _read()["other_makers"]
    )


def _number(value: float | None) -> Any:
    """Return a float, so that a figure does not change when it is stored as JSON."""
    return None if value is None else float(value)


def _device(entry: Mapping[str, Any]) -> Accelerator:
    major, minor = entry["compute_capability"]
    return Accelerator(
        name=entry["name"],
        memory_gib=entry["memory_gib"],
        memory_bytes=entry["memory_bytes"],
        memory_basis=entry["memory_basis"],
        compute_capability=(major, minor),
        bf16=entry["bf16"],
        flash_attention_2=entry["flash_attention_2"],
        bf16_tflops=_number(entry["bf16_tflops"]),
        fp16_tflops=_number(entry["fp16_tflops"]),
        fp32_tflops=_number(entry["fp32_tflops"]),
        bandwidth_gb_s=_number(entry["bandwidth_gb_s"]),
        link=entry["link"],
        source=entry["source"],
    )
