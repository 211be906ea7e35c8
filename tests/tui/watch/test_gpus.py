"""GPUs from nvidia-smi, which an executable on PATH imitates, as this machine has no GPU."""

from pathlib import Path

import pytest

from ftc.tui.watch.gpus import GpuLoad, parse_loads, read_loads
from ftc.tui.watch.run import Watched
from ftc.tui.watch.words import find_facts
from tests.tui.watch.folder import BEGAN, Bundle, begin

MIB = 2**20
TABLE = "0, 87, 13312, 24564\n1, 93, 13310, 24564\n"


def place(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put an executable named nvidia-smi before everything else on PATH."""
    path = folder / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_a_table_is_read() -> None:
    """A value that the driver does not support is none; a line that is no GPU is left out."""
    assert parse_loads(TABLE)[1] == GpuLoad(
        index=1, percent=93, used_bytes=13310 * MIB, total_bytes=24564 * MIB
    )
    (gpu,) = parse_loads("0, [N/A], [Not Supported], 81559\nNo devices were found\n\n1, 2\n")
    assert gpu == GpuLoad(index=0, percent=None, used_bytes=None, total_bytes=81559 * MIB)


@pytest.mark.parametrize("script", ["exit 9", "echo NVIDIA-SMI has failed", "printf '\\377,\\n'"])
def test_without_a_driver_nothing_is_said(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tool is there and fails; or it is not there."""
    place(tmp_path, monkeypatch, script)
    assert read_loads() == ()
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert read_loads() == ()


def test_a_run_on_this_machine_shows_its_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two by two, eight in one line; a run that ended or is elsewhere has none."""
    bundle = begin(tmp_path / "b")
    bundle.train_to(40)
    place(tmp_path, monkeypatch, f"printf '{TABLE}'")

    def shown(at: float) -> dict[str, str]:
        run = Watched(bundle.folder).look(BEGAN + at)
        return {fact.name: fact.text for fact in find_facts(run) if "GPU" in fact.name}

    assert shown(81) == {
        "GPU 0": "87% busy, 13.0 GiB of 24.0 GiB",
        "GPU 1": "93% busy, 13.0 GiB of 24.0 GiB",
    }
    place(tmp_path, monkeypatch, f"printf '{TABLE}2, 5, 100, 24564\n'")
    assert shown(81) == {"GPU 0-2": "5 to 93% busy, 13.0 GiB of 24.0 GiB"}
    bundle.note("train", "stopped", 82, code=75, sentence="told to stop")
    assert shown(83) == {}
    elsewhere = Bundle(tmp_path / "other")
    elsewhere.note("train", "began", 0, host="node-7", pid=1)
    assert Watched(elsewhere.folder).look(BEGAN + 5).gpus == ()
