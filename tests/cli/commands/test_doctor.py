"""`ftc doctor`, with a module of the same functions in place of the driver."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ftc.compiler.render.pins import PINS
from ftc.spec.load import load_document
from ftc.spec.sections import Spec
from ftc.spec.validate import validate

Call = Callable[..., Any]
GIB = 2**30
Card = tuple[str, int, int, tuple[int, int]]  # name, total and used bytes, compute capability
A100: Card = ("NVIDIA A100-SXM4-80GB", 85_899_345_920, 0, (8, 0))
BUSY: Card = ("NVIDIA A100-SXM4-80GB", 85_899_345_920, 60 * GIB, (8, 0))
T4: Card = ("Tesla T4", 15_843_721_216, 0, (7, 5))


class NvmlError(Exception):
    """The base of the driver's errors."""


class NoLibraryError(NvmlError):
    """There is no driver."""


@dataclass
class Driver:
    """NVIDIA's library, as nvidia-ml-py names its functions."""

    cards: Sequence[Card]
    failure: Exception | None = None

    def module(self) -> SimpleNamespace:
        """Return what `import pynvml` is to give."""

        def start() -> None:
            if self.failure is not None:
                raise self.failure

        def memory(index: int) -> SimpleNamespace:
            return SimpleNamespace(total=self.cards[index][1], used=self.cards[index][2])

        return SimpleNamespace(
            NVMLError=NvmlError,
            NVMLError_LibraryNotFound=NoLibraryError,
            nvmlInit=start,
            nvmlShutdown=lambda: None,
            nvmlSystemGetDriverVersion=lambda: b"570.1",
            nvmlDeviceGetCount=lambda: len(self.cards),
            nvmlDeviceGetHandleByIndex=lambda index: index,
            nvmlDeviceGetName=lambda index: self.cards[index][0].encode(),
            nvmlDeviceGetMemoryInfo=memory,
            nvmlDeviceGetCudaComputeCapability=lambda index: self.cards[index][3],
        )


Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(call: Call, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Return a function that runs the command on such cards and gives its JSON."""

    def run(*cards: Card, failure: Exception | None = None) -> dict[str, Any]:
        monkeypatch.setitem(sys.modules, "pynvml", Driver(cards, failure).module())
        result = call("doctor", "--format", "json")
        assert (result.code, result.err) == (0, "")
        data: dict[str, Any] = json.loads(result.out)
        return data

    return run


def test_no_driver_is_a_machine_without_gpus(ask: Ask) -> None:
    """No note either: most laptops are so."""
    data = ask(failure=NoLibraryError())
    assert data["gpus"] == data["notes"] == []
    assert data["hardware"]["gpu"] == "cpu"
    assert data["hardware"]["ram_gib"] >= 1
    assert data["cores"] >= 1


def test_a_driver_that_fails_says_so(ask: Ask) -> None:
    """A driver of another version than its library is common after an upgrade."""
    data = ask(failure=NvmlError("Driver/library version mismatch"))
    assert data["hardware"]["gpu"] == "cpu"
    assert data["notes"] == ["NVIDIA's driver does not answer: Driver/library version mismatch"]


def test_one_gpu_has_its_name_in_the_table(ask: Ask) -> None:
    """The driver's name is longer than the table's."""
    data = ask(A100)
    assert data["hardware"]["gpu"] == "A100-SXM4-80GB"
    assert data["hardware"]["count"] == 1
    assert data["notes"] == []


def test_a_busy_gpu_is_left_out_of_many(ask: Ask) -> None:
    """Two of three are free, and the note says how to run on those."""
    data = ask(A100, BUSY, A100)
    assert data["hardware"]["count"] == 2
    assert "GPU 1 (NVIDIA A100-SXM4-80GB) is in use and not counted" in data["notes"]
    assert "run with CUDA_VISIBLE_DEVICES=0,2" in data["notes"]


def test_one_busy_gpu_stays_with_a_warning(ask: Ask) -> None:
    """There is no other; a plan would count on memory that is taken."""
    data = ask(BUSY)
    assert data["hardware"]["count"] == 1
    assert data["notes"] == [
        "GPU 0 has 60.0 of 80.0 GiB in use, and a plan counts on all of it",
    ]


def test_of_two_models_the_larger_is_taken(ask: Ask) -> None:
    """A plan has one kind of GPU."""
    data = ask(T4, A100)
    assert data["hardware"]["gpu"] == "A100-SXM4-80GB"
    assert data["notes"] == [
        "GPU 0 (Tesla T4) is of another model and not counted",
        "run with CUDA_VISIBLE_DEVICES=1",
    ]


def test_a_gpu_that_is_not_in_the_table_is_auto(ask: Ask) -> None:
    """A name that the table lacks, or a slice whose memory is another."""
    data = ask(("NVIDIA Unheard 9000", 20 * GIB, 0, (12, 0)))
    assert data["hardware"]["gpu"] == "auto"
    assert data["notes"] == ["NVIDIA Unheard 9000 is not in the table, so its speed is not known"]
    assert ask(("NVIDIA A100-SXM4-80GB", 10 * GIB, 0, (8, 0)))["hardware"]["gpu"] == "auto"


@pytest.mark.parametrize("cards", [(), (A100, A100), (("NVIDIA Unheard", GIB, 0, (9, 0)),)])
def test_the_section_is_valid_where_it_is_pasted(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cards: tuple[Card, ...]
) -> None:
    """The last line of the text, put into a spec, is read without a finding."""
    monkeypatch.setitem(sys.modules, "pynvml", Driver(cards).module())
    result = call("doctor")
    assert result.code == 0
    pasted = result.out.splitlines()[-1]
    text = '{"name": "x", "model": "gpt2", "data": "x.csv", ' + pasted + "}"
    (tmp_path / "spec.json").write_text(text, encoding="utf-8")
    document = load_document(str(tmp_path / "spec.json"))
    assert not isinstance(document, tuple)
    assert isinstance(validate(document), Spec)


def test_installed_packages_are_held_against_the_pins(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package and one of another version are named; a build tag does not count."""
    installed = {**PINS, "torch": f"{PINS['torch']}+cpu", "trl": "0.9.1"}
    del installed["deepspeed"]

    def find(name: str) -> str:
        if name not in installed:
            raise PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr("ftc.commands.doctor.version", find)
    said = call("doctor").out
    assert f"packages: missing deepspeed; trl 0.9.1 (pinned {PINS['trl']})" in said
    assert "torch" not in said
    data = json.loads(call("doctor", "--format", "json").out)["packages"]
    assert data["deepspeed"] == {"pinned": PINS["deepspeed"], "installed": None}


def test_a_gpu_without_kernels_is_told(ask: Ask) -> None:
    """The section can be pasted, and FTC333 will refuse it."""
    old: Card = ("Tesla V100-SXM2-16GB", 17_059_545_088, 0, (7, 0))
    assert ask(old, T4)["hardware"]["gpu"] == "T4"
    data = ask(old)
    assert data["notes"] == ["the locked torch has no kernels for Tesla V100-SXM2-16GB (FTC333)"]
