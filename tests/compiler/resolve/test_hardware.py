"""Hardware facts come from the table, from the driver, or from the processor."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from ftc.compiler.resolve import hardware
from ftc.compiler.resolve.facts import HardwareFacts, Unknown
from ftc.compiler.resolve.hardware import Gpu, measure_disk, resolve_hardware
from ftc.compiler.resolve.hub.cache import cached_weights

GIB = 1024**3


def known(found: object) -> HardwareFacts:
    """Return facts that are expected to be known."""
    assert isinstance(found, HardwareFacts), found
    return found


def test_a_named_gpu_is_read_from_the_table(make_spec: Any) -> None:
    """What the table has not, such as the host's memory, stays unknown unless said."""
    facts = known(resolve_hardware(make_spec(hardware="2x A100-80GB")))
    assert (facts.kind, facts.origin, facts.count) == ("gpu", "spec", 2)
    assert facts.compute_capability == 8.0
    assert facts.bf16
    assert 79 * GIB < facts.memory_bytes < 81 * GIB
    assert facts.link == "nvlink"
    assert (facts.host_ram_bytes, facts.disk_free_bytes, facts.cores) == (None, None, None)
    said = {"gpu": "RTX-4090", "ram_gib": 64, "disk_gib": 0.5}
    facts = known(resolve_hardware(make_spec(hardware=said)))
    assert (facts.count, facts.link) == (1, "none")
    assert (facts.host_ram_bytes, facts.disk_free_bytes) == (64 * GIB, GIB // 2)


def test_an_unknown_gpu_gets_suggestions_and_a_fix(make_spec: Any) -> None:
    """The fix keeps the count and the form in which the section was written."""
    found = resolve_hardware(make_spec(hardware="2x A100-90GB"))
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC300"
    assert "A100" in found.finding.help
    value = found.finding.fix[0]["value"]
    assert value.startswith("2x A100")
    assert known(resolve_hardware(make_spec(hardware=value))).count == 2
    long = {"gpu": "A100-90GB", "count": 2, "ram_gib": 64}
    found = resolve_hardware(make_spec(hardware=long))
    assert isinstance(found, Unknown)
    assert found.finding.fix[0]["value"] == {**long, "gpu": value.removeprefix("2x ")}


@pytest.mark.parametrize("name", ["GTX 1660", "Quadro P6000", "RTX 9999"])
def test_another_gpu_is_never_a_fix(make_spec: Any, name: str) -> None:
    """Only another spelling of the GPU that is named is offered, and as an unsafe fix."""
    found = resolve_hardware(make_spec(hardware=name))
    assert isinstance(found, Unknown)
    assert (found.finding.fix, found.finding.fix_safety) == ((), "unsafe")


@pytest.mark.parametrize(
    "hardware",
    [
        *("2 nodes of 8x H100", "2x8 H100", "two machines with 8x H100", "2 nodos de 8 H100"),
        *("8x H100, 2 nodes", "2x8xH100", "8xH100x2", "2 nodes, 8 GPUs each, H100"),
        *("16 H100 on 2 nodes", "8 x H100 per node, nodes: 2", "16x H100 on 2 nodes"),
    ],
)
def test_machines_with_several_gpus_are_a_section(make_spec: Any, hardware: str) -> None:
    """The fix keeps both numbers."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    assert facts.finding.fix[0]["value"] == {"gpu": "H100", "count": 8, "nodes": 2}
    machines = known(resolve_hardware(make_spec(hardware=facts.finding.fix[0]["value"])))
    assert (machines.count, machines.nodes) == (8, 2)


@pytest.mark.parametrize(
    ("hardware", "written", "safety"),
    [
        ("H100:8", "8x H100", "safe"),
        ("A100 80GB PCIe, 4 GPUs", "4x A100 80GB PCIe", "safe"),
        ("8 H100 across 2 nodes", {"gpu": "H100", "count": 4, "nodes": 2}, "unsafe"),
        ("p4d.24xlarge", "8x A100-SXM4-40GB", "safe"),
        ("ml.g5.xlarge", "A10G", "safe"),
        ("2x p5.48xlarge", {"gpu": "H100-SXM5-80GB", "count": 8, "nodes": 2}, "unsafe"),
        ("Standard_NC48ads_A100_v4", "2x A100-PCIE-80GB", "safe"),
        ("a3-highgpu-4g", "4x H100-SXM5-80GB", "safe"),
    ],
)
def test_a_machine_is_written_as_its_gpus(
    make_spec: Any, hardware: str, written: Any, safety: str
) -> None:
    """Counts in other places, and names of cloud instances; a guess of a number is unsafe."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    finding = facts.finding
    assert [step["value"] for step in finding.fix] == [written]
    assert finding.fix_safety == safety
    known(resolve_hardware(make_spec(hardware=written)))


def test_a_count_beside_one_gpu_is_the_number_of_gpus(make_spec: Any) -> None:
    """Two times "1x RTX-4090" are two GPUs, not two machines."""
    facts = resolve_hardware(make_spec(hardware={"gpu": "1x RTX-4090", "count": 2}))
    assert isinstance(facts, Unknown)
    assert [step["value"] for step in facts.finding.fix] == ["2x RTX-4090"]


@pytest.mark.parametrize(
    ("hardware", "says"),
    [
        ("GB10", "shares its memory"),
        ("NVIDIA DGX Spark", "shares its memory"),
        ("jetson-orin-nx", "shares its memory"),
        ("p9.48xlarge", "instance of AWS"),
    ],
)
def test_what_is_no_gpu_of_its_own_suggests_none(make_spec: Any, hardware: str, says: str) -> None:
    """Such a name has digits of a GPU in it, which mean nothing."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    assert says in facts.finding.message
    assert not facts.finding.fix


@pytest.mark.parametrize("hardware", ["4", "8x", "2 GPUs", "4 cards"])
def test_a_number_alone_asks_for_the_name(make_spec: Any, hardware: str) -> None:
    """It is no model number: no GPU whose name has this digit was meant."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    assert "how many GPUs" in facts.finding.message
    assert f"`{hardware[0]}x " in facts.finding.help
    assert not facts.finding.fix


@pytest.mark.parametrize(
    ("hardware", "count"), [("8 A100s", 8), ("4 RTX 4090s", 4), ("8xH100s", 8), ("2x L40s", 2)]
)
def test_a_plural_is_the_same_gpu(make_spec: Any, hardware: str, count: int) -> None:
    """Whether it is read at once or by the fix, no number is lost."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    if isinstance(facts, Unknown):
        assert facts.finding.fix_safety == "safe"
        facts = resolve_hardware(make_spec(hardware=facts.finding.fix[0]["value"]))
    assert known(facts).count == count


@pytest.mark.parametrize("hardware", ["17x H100 on 2 racks", "H100, 3 of them"])
def test_a_fix_drops_no_number(make_spec: Any, hardware: str) -> None:
    """Where a number of the name has no field, nothing is proposed."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    assert not facts.finding.fix


@pytest.mark.parametrize(
    "hardware", ["2x A100-80GB + 1x T4", "A100-80GB, T4", "2x A100-80GB and T4 x2"]
)
def test_gpus_of_two_kinds_are_told_as_such(make_spec: Any, hardware: str) -> None:
    """Neither is taken for a misspelling of the other."""
    facts = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(facts, Unknown)
    assert facts.finding.code == "FTC300"
    assert "several kinds (`A100-SXM4-80GB`, `T4`)" in facts.finding.message
    assert not facts.finding.fix


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("H100 MIG 1g.10gb", "`RTX-3080-10GB`"),
        ("nvidia.com/mig-3g.40gb", "`A100-SXM4-40GB`"),
        ("A100-SXM4-40GB MIG 1g.5gb", ""),
        ("A100 MIG", ""),
    ],
)
def test_a_slice_of_a_gpu_is_told_as_such(make_spec: Any, name: str, near: str) -> None:
    """Only whole GPUs with at most the slice's memory are suggested."""
    facts = resolve_hardware(make_spec(hardware=name))
    assert isinstance(facts, Unknown)
    assert (facts.finding.code, facts.finding.fix) == ("FTC300", ())
    assert "a slice of a GPU (MIG)" in facts.finding.message
    assert near in facts.finding.help
    assert "80GB" not in facts.finding.help


@pytest.mark.parametrize(
    ("name", "message", "help_"),
    [
        ("cuda", "does not say which GPU", '`"auto"` for the GPU of this machine'),
        ("cuda:0", "does not say which GPU", "`nvidia-smi -L` prints it"),
        ("0,1", "does not say which GPU", "`nvidia-smi -L` prints it"),
        ("NVIDIA GPU", "does not say which GPU", "`nvidia-smi -L` prints it"),
        ("my laptop", "does not say which GPU", "`nvidia-smi -L` prints it"),
        ("Google Colab (free)", "says where the training runs", "`T4`"),
        ("kaggle notebook", "says where the training runs", "`T4`"),
        ("runpod", "says where the training runs", "`nvidia-smi -L` prints it on that machine"),
        ("24 GB VRAM", "how much memory", "`L4`"),
    ],
)
def test_a_name_of_no_gpu_is_told_as_such(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch, name: str, message: str, help_: str
) -> None:
    """The sentence says what the name means, and what to write."""
    monkeypatch.setattr("ftc.compiler.resolve.hardware.read_gpus", lambda: ())
    found = resolve_hardware(make_spec(hardware=name))
    assert isinstance(found, Unknown)
    assert (found.finding.code, found.finding.fix) == ("FTC300", ())
    assert message in found.finding.message
    assert help_ in found.finding.help


@pytest.mark.parametrize(
    ("name", "meant", "safety"),
    [
        ("cuda", "auto", "unsafe"),
        ("gpu", "auto", "unsafe"),
        ("cpu only", "cpu", "safe"),
        ("no GPU", "cpu", "safe"),
        ("2x T4 on Kaggle", "2x T4", "safe"),
        ("colab T4", "T4", "safe"),
        ("A100 on colab", "A100", "safe"),
    ],
)
def test_what_a_vague_name_means_is_a_fix(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch, name: str, meant: str, safety: str
) -> None:
    """A device of torch is a GPU of this machine where it has one; a place gives nothing away."""
    here = Gpu(name="Tesla T4", memory_bytes=15 * GIB, compute_capability=7.5)
    monkeypatch.setattr("ftc.compiler.resolve.hardware.read_gpus", lambda: (here,))
    found = resolve_hardware(make_spec(hardware=name))
    assert isinstance(found, Unknown)
    assert [step["value"] for step in found.finding.fix] == [meant]
    assert found.finding.fix_safety == safety


def test_cpu_is_this_machine(make_spec: Any) -> None:
    """A processor has memory, cores and no GPU memory; the count is of processes."""
    facts = known(resolve_hardware(make_spec(hardware={"gpu": "cpu", "count": 2})))
    assert (facts.kind, facts.origin, facts.count) == ("cpu", "spec", 2)
    assert facts.memory_bytes == 0
    assert facts.host_ram_bytes is not None
    assert facts.host_ram_bytes % GIB == 0
    assert facts.cores is not None
    assert facts.cores >= 1
    again = known(resolve_hardware(make_spec(hardware={"gpu": "cpu", "count": 2})))
    # other tests write files meanwhile
    assert replace(again, disk_free_bytes=0) == replace(facts, disk_free_bytes=0)


def test_auto_takes_the_gpus_that_are_there(
    make_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GPUs like the first one count, the smallest memory holds, and the table adds its rates."""
    present = (
        Gpu(name="NVIDIA A100-SXM4-80GB", memory_bytes=80 * GIB, compute_capability=8.0),
        Gpu(name="NVIDIA A100-SXM4-80GB", memory_bytes=79 * GIB, compute_capability=8.0),
        Gpu(name="NVIDIA T4", memory_bytes=15 * GIB, compute_capability=7.5),
    )
    monkeypatch.setattr(hardware, "read_gpus", lambda: present)
    facts = known(resolve_hardware(make_spec(hardware="auto")))
    assert (facts.kind, facts.origin, facts.count) == ("gpu", "machine", 2)
    assert (facts.memory_bytes, facts.bf16) == (79 * GIB, True)
    assert facts.bf16_tflops is not None
    monkeypatch.setattr(hardware, "read_gpus", lambda: present[2:])
    facts = known(resolve_hardware(make_spec(hardware="auto")))
    assert (facts.count, facts.bf16, facts.flash_attention_2) == (1, False, False)
    monkeypatch.setattr(hardware, "read_gpus", tuple)
    facts = known(resolve_hardware(make_spec(hardware="auto")))
    assert (facts.kind, facts.origin, facts.count) == ("cpu", "machine", 1)


def test_reading_gpus_never_fails() -> None:
    """With a driver or without one the answer is a tuple."""
    assert isinstance(hardware.read_gpus(), tuple)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("M2 Max", "Apple GPUs are not supported"),
        ("8x MI300X", "AMD GPUs are not supported"),
        ("TPU v5e-8", "Google accelerators are not supported"),
    ],
)
def test_an_accelerator_without_cuda_is_refused(make_spec: Any, name: str, said: str) -> None:
    """The finding names its maker, and no name of the table is offered as a repair."""
    found = resolve_hardware(make_spec(hardware=name))
    assert isinstance(found, Unknown)
    assert found.finding.code == "FTC334"
    assert said in found.finding.message
    assert ("do not run on macOS" in found.finding.help) is ("Apple" in said)
    assert found.finding.fix == ()


def test_what_is_in_the_cache_counts_as_free(
    tmp_path: Path, make_spec: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run does not download it again; two snapshots of one file count once."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--some--model"
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs/one").write_bytes(b"x" * 1000)
    for commit in ("a" * 40, "b" * 40):
        (repository / "snapshots" / commit).mkdir(parents=True)
        (repository / "snapshots" / commit / "model.safetensors").symlink_to(
            repository / "blobs/one"
        )
    assert cached_weights("some/model") == 1000
    assert cached_weights("some/other") == 0
    monkeypatch.setattr(psutil, "disk_usage", lambda _: SimpleNamespace(free=50))
    facts = known(resolve_hardware(make_spec(hardware="cpu")))
    assert measure_disk(replace(facts, disk_free_bytes=None), downloaded=7).disk_free_bytes == 57


@pytest.mark.parametrize(
    ("hardware", "section"),
    [
        (
            "H100x8, 2 nodes, 400Gb IB",
            {"gpu": "H100", "count": 8, "nodes": 2, "network_gbit": 400},
        ),
        ("2 nodes x 8 A100 80GB", {"gpu": "A100 80GB", "count": 8, "nodes": 2}),
        ("1x L4 with 64 GB of RAM", {"gpu": "L4", "count": 1, "ram_gib": 64}),
        ("A100 80GB (4x)", "4x A100 80GB"),
    ],
)
def test_other_parts_of_a_machine_are_kept(make_spec: Any, hardware: str, section: Any) -> None:
    """Its memory and its network are fields, and a number of GPUs may come last."""
    found = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(found, Unknown)
    assert found.finding.fix[0]["value"] == section


@pytest.mark.parametrize(
    ("hardware", "name"),
    [("H100 PCIe 96GB", "H100-PCIE-80GB"), ("A100 80GB of my lab", "A100-SXM4-80GB")],
)
def test_the_most_similar_gpu_comes_first(make_spec: Any, hardware: str, name: str) -> None:
    """The memory and form factor select the card, not only the name of the chip."""
    found = resolve_hardware(make_spec(hardware=hardware))
    assert isinstance(found, Unknown)
    assert f"did you mean `{name}`" in found.finding.help
