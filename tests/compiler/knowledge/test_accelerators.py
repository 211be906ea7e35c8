"""The table of accelerators, and the names that find them."""

import json
from importlib.resources import files

import pytest

from ftc.compiler.knowledge.hardware.accelerators import (
    LEAST_CAPABILITY,
    Accelerator,
    Guess,
    all_accelerators,
    find_accelerator,
    find_other_maker,
    suggest,
)

DEVICES = all_accelerators()


def test_entries_are_closed() -> None:
    """Every line has the same keys."""
    text = (files("ftc.compiler.knowledge.hardware") / "accelerators.json").read_text(
        encoding="utf-8"
    )
    entries = json.loads(text)["accelerators"]
    assert len(entries) >= 60
    assert len({entry["name"].casefold() for entry in entries}) == len(entries)
    assert {frozenset(entry) for entry in entries} == {
        frozenset({*Accelerator.__dataclass_fields__, "words", "qualifiers"})
    }


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_facts_are_plausible(device: Accelerator) -> None:
    """The driver leaves 88 to 100 % of the memory; bf16 and FlashAttention 2 need Ampere."""
    assert 0.88 <= device.memory_bytes / (device.memory_gib * 2**30) < 1
    assert device.bf16 == (device.bf16_tflops is not None)
    assert 100 < device.bandwidth_gb_s <= 8000
    ampere = device.compute_capability >= (8, 0)
    assert device.bf16 == device.flash_attention_2 == ampere
    if device.bf16_tflops is not None:
        assert device.bf16_tflops == device.fp16_tflops > device.fp32_tflops


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_a_name_of_the_table_finds_its_entry(device: Accelerator) -> None:
    """The canonical name means that device and no other."""
    match = find_accelerator(device.name)
    assert match is not None
    assert match.accelerator == device
    assert not match.ambiguous or "-PCIE" not in device.name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("4090", "RTX-4090"),
        ("GB300 NVL72", "GB300-279GB"),
        ("GB300-288GB", "GB300-279GB"),
        ("A16", "A16"),
        ("RTX PRO 4500", "RTX-PRO-4500-Blackwell"),
        ("RTX 4090", "RTX-4090"),
        ("rtx4090", "RTX-4090"),
        ("3080ti", "RTX-3080-Ti"),
        ("H100 80GB SXM", "H100-SXM5-80GB"),
        ("nvidia a100 80gb pcie", "A100-PCIE-80GB"),
        ("a100 40 GiB sxm", "A100-SXM4-40GB"),
        ("4060 Ti 16G", "RTX-4060-Ti-16GB"),
        ("a10g", "A10G"),
        ("rtx pro 6000", "RTX-PRO-6000-Blackwell"),
        ("4090s", "RTX-4090"),
        ("L4s", "L4"),
        ("L40s", "L40S"),
        # What NVML reports.
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA A100 80GB PCIe", "A100-PCIE-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"),
        ("NVIDIA H100 PCIe", "H100-PCIE-80GB"),
        ("NVIDIA H100 NVL", "H100-NVL-94GB"),
        ("NVIDIA H200", "H200-SXM-141GB"),
        ("NVIDIA GH200 480GB", "GH200-96GB"),
        ("Tesla V100-SXM2-16GB", "V100-SXM2-16GB"),
        ("Tesla T4", "T4"),
        ("Quadro RTX 6000", "Quadro-RTX-6000"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"),
        ("NVIDIA RTX A6000", "RTX-A6000"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "RTX-4070-Ti-Super"),
        ("NVIDIA TITAN RTX", "TITAN-RTX"),
        ("NVIDIA TITAN V", "TITAN-V"),
        ("NVIDIA L20", "L20"),
        ("NVIDIA B300 SXM6 AC", "B300-270GB"),
        ("NVIDIA GeForce RTX 4090 D", "RTX-4090-D"),
        ("4090d", "RTX-4090-D"),
        ("NVIDIA GeForce RTX 5060 Laptop GPU", "RTX-5060-Laptop"),
    ],
)
def test_names_as_people_and_drivers_write_them(text: str, name: str) -> None:
    """Each of these names exactly one device."""
    match = find_accelerator(text)
    assert match is not None
    assert (match.accelerator.name, match.ambiguous) == (name, ())


@pytest.mark.parametrize(
    ("text", "name", "others"),
    [
        ("a100", "A100-SXM4-40GB", ("A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB")),
        ("A100-80GB", "A100-SXM4-80GB", ("A100-PCIE-80GB",)),
        ("h100", "H100-SXM5-80GB", ("H100-PCIE-80GB",)),
        ("RTX 3080", "RTX-3080-10GB", ("RTX-3080-12GB",)),
        ("rtx 6000", "Quadro-RTX-6000", ("RTX-6000-Ada",)),
    ],
)
def test_an_ambiguous_name_takes_the_smallest(
    text: str, name: str, others: tuple[str, ...]
) -> None:
    """The default holds on the others too, and the others are named."""
    match = find_accelerator(text)
    assert match is not None
    assert (match.accelerator.name, match.ambiguous) == (name, others)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("4090 48GB", "RTX-4090"),
        ("RTX 2080 Laptop GPU", "RTX-2080"),
        ("A-100 90GB", "A100-SXM4-80GB"),
        ("RTX-4O90", "RTX-4090"),
        ("B100", "A100-SXM4-40GB"),
    ],
)
def test_an_unknown_name_is_not_guessed(text: str, first: str) -> None:
    """Nothing is found, and a near name is suggested."""
    assert find_accelerator(text) is None
    assert first in suggest(text).names


@pytest.mark.parametrize(
    "text", ["GTX 1660", "GTX 1650 Ti", "a1000", "h1000", "RTX 9999", "TITAN X"]
)
def test_a_gpu_of_another_number_is_not_suggested(text: str) -> None:
    """Another model number is another machine."""
    assert suggest(text) == Guess(names=(), same_chip=False)


@pytest.mark.parametrize(
    ("text", "same_chip"),
    [("Quadro P6000", False), ("B100", False), ("RTX 4090 Laptop GPU", True), ("a 100-90gb", True)],
)
def test_only_the_chip_that_is_named_is_the_same(text: str, same_chip: bool) -> None:
    """The same digits after other letters are suggested, and are another chip."""
    guess = suggest(text)
    assert guess.names
    assert guess.same_chip is same_chip


@pytest.mark.parametrize("text", ["", " ", "gpu", "nvidia", "-", "ñ", "\x00", "9" * 10_000])
def test_nothing_is_found_in_noise(text: str) -> None:
    """A text that names no device finds none, quickly and without an error."""
    assert find_accelerator(text) is None
    assert len(suggest(text).names) <= 3


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("MI300X", "AMD"),
        ("8x AMD Instinct MI300X", "AMD"),
        ("mi250", "AMD"),
        ("MI355X-288GB", "AMD"),
        ("RX 7900 XTX", "AMD"),
        ("7900XTX", "AMD"),
        ("Radeon Pro W7900", "AMD"),
        ("M2 Max", "Apple"),
        ("Apple M4 Pro 48GB", "Apple"),
        ("M1", "Apple"),
        ("MacBook Pro M3", "Apple"),
        ("mps", "Apple"),
        ("Arc A770", "Intel"),
        ("Intel Arc Pro B60", "Intel"),
        ("Data Center GPU Max 1550", "Intel"),
        ("Gaudi 3", "Intel"),
        ("gaudi2", "Intel"),
        ("TPU v5e-8", "Google"),
        ("v4-32", "Google"),
        ("TPUv6e", "Google"),
        ("Trainium2", "AWS"),
        ("trn1.32xlarge", "AWS"),
        ("Inferentia", "AWS"),
        ("Ascend 910B", "Huawei"),
    ],
)
def test_accelerators_of_other_makers_are_told_from_unknown_names(text: str, maker: str) -> None:
    """None of them is in the table; who makes it is known by its name."""
    found = find_other_maker(text)
    assert found is not None
    assert found.maker == maker
    assert find_accelerator(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *("Tesla M4", "Quadro M4000", "Tesla M40", "nvidia", "GTX 1660 Super", "RTX-4O90", "a1000"),
        *("4090 48GB", "h1000", "A100 on AWS", "L4 on google cloud", "", "gpu", "T4 (Colab)"),
        *("two H100s on bare metal", "GeForce RTX 9999", "B300", "GB300"),
    ],
)
def test_what_may_be_of_nvidia_has_no_other_maker(text: str) -> None:
    """A misspelt or unknown name of NVIDIA's is not taken for another maker's."""
    assert find_other_maker(text) is None


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_the_table_has_no_other_makers(device: Accelerator) -> None:
    """Its names are NVIDIA's, with and without the words that say so."""
    assert find_other_maker(device.name) is None
    assert find_other_maker(" ".join(device.name.split("-"))) is None


@pytest.mark.parametrize("text", ["V101", "GTX 1080", "P1000", "TITAN-X", "V100-64GB"])
def test_no_gpu_without_kernels_is_suggested(text: str) -> None:
    """A suggestion is a GPU that the locked torch runs on."""
    for name in suggest(text).names:
        match = find_accelerator(name)
        assert match is not None
        assert match.accelerator.compute_capability >= LEAST_CAPABILITY
