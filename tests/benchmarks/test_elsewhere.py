"""Published runs of other code: the accepted errors of their plans."""

import json
import statistics

import pytest

from benchmarks import elsewhere
from benchmarks.elsewhere import ROWS, Compared, compare


@pytest.fixture(scope="module")
def found() -> list[Compared]:
    """Return the errors of all rows."""
    return compare(json.loads(ROWS.read_text(encoding="utf-8")))


def test_memory_is_near_what_was_measured(found: list[Compared]) -> None:
    """Allocated bytes within 3%; the GPU's use, rounded, within 5% in the median."""
    assert len(found) == 70
    allocated = [abs(each.memory) for each in found if each.family.endswith("allocated")]
    used = [abs(each.memory) for each in found if each.family.endswith("device")]
    assert max(allocated) < 0.03
    assert statistics.median(used) < 0.05
    assert max(abs(each.memory) for each in found) < 0.27


def test_short_passes_of_zero_3_take_as_long_as_their_hooks(found: list[Compared]) -> None:
    """They were planned up to 122% too fast."""
    rates = [each.rate for each in found if ", zero3, " in each.family and each.rate is not None]
    assert len(rates) == 17
    assert statistics.median(map(abs, rates)) < 0.15
    assert max(rates) < 0.5


def test_the_families_are_printed(
    found: list[Compared], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line each, with the errors of the memory and of the rate."""
    monkeypatch.setattr(elsewhere, "compare", lambda _: found)
    elsewhere.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12
    assert lines[2].endswith(" " * 33)  # no rate
