"""The GPU benchmark, as far as it can be tested without a GPU."""

import json
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.gpu.bundles import Room
from benchmarks.gpu.cases import CASES, SHAPES, SPEEDS
from benchmarks.gpu.held import compare
from benchmarks.gpu.interface import check
from benchmarks.gpu.ledger import LEDGER, append, read, table
from benchmarks.gpu.pack import find_lacking, slim_wheel
from benchmarks.gpu.utilisation import count_matrices, share_of_peak, token_operations
from ftc.compiler.knowledge.well_known.models import find_model
from ftc.compiler.plan.time.run import MOST_ELSEWHERE
from ftc.compiler.resolve.hardware import read_gpus
from tests.end_to_end.process import run

ROOT = Path(__file__).parents[2]


def test_every_case_has_a_shape_and_a_name() -> None:
    """Three sizes and methods, five objectives, packed or not, recomputed in every way or not."""
    assert len({case.name for case in CASES}) == len(CASES)
    assert {case.shape for case in CASES} == SHAPES.keys() - {"small", "tiny"}
    assert {case.method for case in CASES} == {"full", "lora", "qlora"}
    assert {case.objective for case in CASES} == {"sft", "dpo", "kto", "reward", "grpo"}
    kept = {str(case.checkpointing) for case in CASES}
    assert kept == {"True", "False", "2", "selective", "offload"}
    assert {case.packed for case in CASES} == {case.varied for case in CASES} == {True, False}
    assert len({case.name for case in SPEEDS}) == len(SPEEDS)


@pytest.mark.prove
def test_every_name_of_a_library_is_looked_up(tmp_path: Path) -> None:
    """Imports, dotted names and named arguments; what exists is not listed."""
    path = tmp_path / "script.py"
    path.write_text(
        "import datasets\n"
        "import datasets.features as kinds\n"
        "from datasets import Dataset, Datasette\n"
        "datasets.load_dataset('json', data_file='x')\n"  # its other words go to a builder
        "datasets.concatenate_datasets([], axes=1)\n"
        "datasets.utils.no_such()\n"
        "kinds.Value('int64')\n"
        "Dataset.from_list([])\n",
        encoding="utf-8",
    )
    _, missing = check([path])
    assert [line.partition(": ")[2] for line in missing] == [
        "datasets.Datasette does not exist",
        "datasets.concatenate_datasets has no argument axes",
        "datasets.utils.no_such does not exist",
    ]


def test_nothing_of_it_needs_the_tests() -> None:
    """The checkout for a GPU machine leaves them out."""
    modules = "benchmarks.gpu.__main__, benchmarks.gpu.interface, benchmarks.gpu.pack"
    code = f"import sys; sys.modules['tests'] = None; import {modules}"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_packed_wheel_has_each_library_twice_and_no_header(tmp_path: Path) -> None:
    """llama.cpp loads `libllama.so`, and that its dependencies by the name with one number."""
    names = [
        "llama_cpp/llama.py",
        "llama_cpp/lib/libllama.so",
        "llama_cpp/lib/libllama.so.0",
        "llama_cpp/lib/libllama.so.0.5.0",
        "lib/libllama.so",
        "include/llama.h",
    ]
    built, slim = tmp_path / "built.whl", tmp_path / "slim.whl"
    with zipfile.ZipFile(built, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    slim_wheel(built, slim)
    with zipfile.ZipFile(slim) as archive:
        assert archive.namelist() == names[:3]


def test_what_packed_wheels_require_is_found_in_their_metadata(tmp_path: Path) -> None:
    """For the Python and system there, without extras and what the machine has."""
    required = ["torch>=2", "Plain_Name", "old; python_version<'3.9'", "more; extra == 'all'"]
    lines = [f"Requires-Dist: {line}" for line in required]
    for name, own in (("one", lines), ("two", ["Requires-Dist: one"])):
        with zipfile.ZipFile(tmp_path / f"{name}-1.0-py3-none-any.whl", "w") as archive:
            text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", *own, "", ""])
            archive.writestr(f"{name}-1.0.dist-info/METADATA", text)
    assert find_lacking(tmp_path, python="3.12") == {"gguf", "plain-name"}


@pytest.mark.skipif(bool(read_gpus()), reason="this machine has a GPU")
def test_without_a_gpu_it_is_one_sentence(tmp_path: Path) -> None:
    """Exit code 3, and the ledger is not changed."""
    ledger = tmp_path / "ledger.json"
    words = [sys.executable, "-m", "benchmarks.gpu", "speed", "--ledger", str(ledger)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr == "no GPU: NVIDIA's driver names none on this machine\n"
    assert not ledger.exists()


def test_the_ledger_grows_and_its_table_names_what_did_not_run(tmp_path: Path) -> None:
    """Entries keep their machine; an error is relative to the measured value."""
    ledger = tmp_path / "ledger.json"
    figures = {"allocated_bytes": 100, "reserved_bytes": 110, "tokens_per_second": 5.0}
    said = {**figures, "allocated_bytes": 102}
    append(ledger, {"machine": "one"}, [{"case": "a", "predicted": said, "measured": figures}])
    append(ledger, {"machine": "two"}, [{"case": "b", "refused": "it does not fit"}])
    append(ledger, {"machine": "two"}, [{"case": "c", "measured": {**figures, "mfu": 0.4}}])
    entries = read(ledger)
    assert [entry["machine"] for entry in entries] == ["one", "two", "two"]
    _, first, second, third = table(entries)
    assert first.split() == ["a", "+2.00%", "+0.00%", "-", "+0.00%", "5", "-"]
    assert second.split(maxsplit=1) == ["b", "it does not fit"]
    assert third.split() == ["c", "-", "-", "-", "-", "5", "40.0%"]
    assert isinstance(json.loads(LEDGER.read_text(encoding="utf-8")), list)


def test_the_operations_of_a_token() -> None:
    """All matrices of Llama-3.1-8B, twice as many operations trained, and attention by length."""
    model = find_model("meta-llama/Llama-3.1-8B")
    assert model is not None
    assert model.shape is not None
    looked_up, norms = model.shape.embedding_parameters, 65 * 4096
    assert count_matrices("8B") == model.shape.parameters - looked_up - norms
    frozen = token_operations("8B", adapter=0, full=False, lengths=[2])
    trained = token_operations("8B", adapter=0, full=True, lengths=[2])
    assert trained - frozen == 2 * count_matrices("8B")
    longer = token_operations("8B", adapter=0, full=False, lengths=[1002])
    assert longer - frozen == 3 * 2 * 1000 * 4096 * 32
    assert share_of_peak(1000, 4e10, 100) == 0.4


@pytest.mark.prove
@pytest.mark.parametrize(
    "only",
    [
        "0.5B lora, kept",
        "3B qlora, recomputed",
        "0.5B full, packed",
        "one in 2",
        "0.5B lora, dpo",
        "8B lora, up to 4096, as planned",
        "0.5B full, up to 1024, as planned",
    ],
)
def test_a_plan_is_what_a_gpu_measured(only: str) -> None:
    """The peak of a pilot on an H200, within the bounds; `check` compares all of them."""
    found = list(compare(LEDGER, only))
    assert found
    for held in found:
        assert held.holds, held
        times = [time for time in (held.steps, held.plain) if time is not None]
        assert all(time <= MOST_ELSEWHERE for time in times), held


def test_runs_share_a_gpu_as_far_as_they_fit() -> None:
    """A second one waits while both are too large together; one too large alone does not."""
    room, order = Room(100), list[str]()

    def hold(name: str, need: int) -> None:
        with room.take(need):
            order.append(f"{name} in")
            assert release.wait(10)
            order.append(f"{name} out")

    release = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(hold, "first", 120)
        while not order:
            time.sleep(0.001)
        second = pool.submit(hold, "second", 10)
        time.sleep(0.05)
        assert order == ["first in"]
        release.set()
        first.result(10)
        second.result(10)
    assert order == ["first in", "first out", "second in", "second out"]


@pytest.mark.prove_all
@pytest.mark.parametrize(
    ("command", "only"),
    [
        ("memory", "tiny full, kept"),
        ("speed", "our settings"),
        ("correctness", "memory"),
        ("correctness", "whole"),
    ],
)
def test_a_miniature_on_this_cpu(tmp_path: Path, command: str, only: str) -> None:
    """The same code trains miniatures to its end, and writes no ledger."""
    ledger = tmp_path / "ledger.json"
    words = ("-m", "benchmarks.gpu", command, "--tiny", "--only", only, "--ledger", str(ledger))
    ended = run(sys.executable, *words, cwd=ROOT)
    assert ended.code == 0, ended.said
    assert "these are no measurements" in ended.out
    assert not ledger.exists()
