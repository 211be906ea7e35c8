"""The number that a text means, as people write it."""

import pytest

from ftc.spec.values.quantity import read_gbit, read_quantity, read_resource, read_seconds

MEANT = {
    "16": 16,
    "64 GB": 64,
    "64GiB": 64,
    "2 TB": 2048,
    "512 MB": 0.5,
    "10%": 0.1,
    "10 %": 0.1,
    "4k": 4000,
    "4k tokens": 4000,
    "1.5K rows": 1500,
    "0,0002": 0.0002,
    "2,5e-4": 0.00025,
    "1,000": 1000,
    "1.000.000": 1_000_000,
    "1,234.5": 1234.5,
    "1.234,5": 1234.5,
    "1.5": 1.5,
    "3 epochs": 3,
    "tres": 3,
    "Three epochs": 3,
    "dotze": 12,
}
MEANINGLESS = ["", "fast", "tres tristes tigres", "3 + 4", "1,2,3", "1.2.3", "1..2", "1e999", "%"]


@pytest.mark.parametrize("text", MEANT)
def test_meaning(text: str) -> None:
    """Decimal commas, groups of thousands, percentages, units and words."""
    assert read_quantity(text) == MEANT[text]


def test_a_kilo_of_tokens() -> None:
    """Contexts are counted in powers of two."""
    assert read_quantity("4k", kilo=1024) == 4096
    assert read_quantity("4k tokens", kilo=1024) == 4096
    assert read_quantity("64 GB", kilo=1024) == 64


@pytest.mark.parametrize("text", [*MEANINGLESS, "9" * 5000, "9" * 39 + "%" * 5000])
def test_no_meaning(text: str) -> None:
    """What is no number stays without one."""
    assert read_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("24:00", 86400),
        ("24:00:00", 86400),
        ("1-12:00:00", 129600),
        ("90 min", 5400),
        ("1d 12h", 129600),
        ("1.5 hours", 5400),
        ("30s", 30),
        ("24", None),
        ("3 meters", None),
        ("9" * 5000, None),
    ],
)
def test_a_time(text: str, seconds: float | None) -> None:
    """A clock time has hours first; other times have a unit."""
    assert read_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "gbit"),
    [
        ("400Gb/s", 400),
        ("400 Gbps", 400),
        ("100 GbE", 100),
        ("50 GB/s", 400),
        ("1.6 Tb/s", 1600),
        ("800 Mbit/s", 0.8),
        ("100G", 100),
        ("400", None),
        ("400 gnus", None),
        ("9" * 5000 + " Gb/s", None),
    ],
)
def test_a_rate(text: str, gbit: float | None) -> None:
    """A small `b` is a bit and a capital one a byte."""
    assert read_gbit(text) == gbit


@pytest.mark.parametrize(
    ("text", "count", "kind"),
    [
        ("gpu:4", 4, ""),
        ("gpu:a100:4", 4, "a100"),
        ("H100:8", 8, "H100"),
        ("A100-80GB:2", 2, "A100-80GB"),
    ],
)
def test_a_resource(text: str, count: int, kind: str) -> None:
    """Slurm and SkyPilot write the number last."""
    found = read_resource(text)
    assert found is not None
    assert (found.count, found.kind) == (count, kind)


@pytest.mark.parametrize("text", ["4", "24:00", "gpu:", "gpu:a100", "a:b:c:1", "gpu:0"])
def test_no_resource(text: str) -> None:
    """Times and names are none."""
    assert read_resource(text) is None
