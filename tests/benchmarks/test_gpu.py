"""The GPU benchmark, as far as it can be tested without a GPU."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gpu.cases import CASES, SHAPES, TINY
from benchmarks.gpu.ledger import LEDGER, append, read, table
from benchmarks.gpu.measurement import make_model, measure
from ftc.compiler.resolve.hardware import read_gpus

ROOT = Path(__file__).parents[2]


def test_every_case_has_a_shape_and_a_name() -> None:
    """Three sizes, three methods, with and without checkpointing, short and long rows."""
    assert {case.shape for case in CASES} == {"0.5B", "3B", "8B"} == SHAPES.keys() - {"tiny"}
    assert {case.method for case in CASES} == {"full", "lora", "qlora"}
    assert {case.checkpointing for case in CASES} == {False, True}
    assert len({case.tokens for case in CASES}) == 2
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.skipif(bool(read_gpus()), reason="this machine has a GPU")
def test_without_a_gpu_it_is_one_sentence(tmp_path: Path) -> None:
    """Exit code 3, and the ledger is not changed."""
    ledger = tmp_path / "ledger.json"
    command = [sys.executable, "-m", "benchmarks.gpu", "--ledger", str(ledger)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr == "no GPU: NVIDIA's driver names none on this machine\n"
    assert not ledger.exists()


def test_the_ledger_grows_and_its_table_names_what_did_not_run(tmp_path: Path) -> None:
    """Entries keep their machine; an error is relative to the measured value."""
    ledger = tmp_path / "ledger.json"
    figures = {"allocated_bytes": 100, "reserved_bytes": 110, "tokens_per_second": 5.0}
    said = {**figures, "allocated_bytes": 102}
    append(ledger, "one", [{"case": "a", "predicted": said, "measured": figures}])
    append(ledger, "two", [{"case": "b", "predicted": said, "refused": "it does not fit"}])
    entries = read(ledger)
    assert [entry["machine"] for entry in entries] == ["one", "two"]
    _, first, second = table(entries)
    assert first.split() == ["a", "+2.00%", "+0.00%", "-", "+0.00%"]
    assert second.split(maxsplit=1) == ["b", "it does not fit"]
    assert isinstance(json.loads(LEDGER.read_text(encoding="utf-8")), list)


@pytest.mark.prove
def test_a_tiny_bundle_is_measured_on_this_cpu(tmp_path: Path) -> None:
    """The bundle really trains; a CPU has no figures of an allocator or a driver."""
    make_model(tmp_path / "model", TINY.shape)
    entry = measure(TINY, tmp_path, hardware="cpu")
    assert "measured" in entry, entry
    measured, predicted = entry["measured"], entry["predicted"]
    assert measured["device_bytes"] > 2**28
    assert measured["tokens_per_second"] > 0
    assert predicted["device_bytes"] > predicted["allocated_bytes"] > 0
    ledger = tmp_path / "ledger.json"
    append(ledger, "cpu", [entry])
    assert read(ledger)[0]["case"] == TINY.name
