"""A spec that compiles offline, a function that calls ftc, and the schemas of its JSON."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from ftc.__main__ import run


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one command line did."""

    code: int
    out: str
    err: str


Call = Callable[..., Result]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs one command line in this process."""

    def run_captured(*arguments: str | Path) -> Result:
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code=code, out=captured.out, err=captured.err)

    return run_captured


SPEC: Mapping[str, Any] = {
    "name": "triage",
    "model": "Qwen/Qwen2.5-0.5B-Instruct",
    "data": {
        "source": "tickets.csv",
        "columns": {"prompt": "message", "completion": "intent"},
    },
    "hardware": "RTX 4090",
    "method": "lora",
}


@pytest.fixture
def spec_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a spec on a model of the built-in table and a small file of messages."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    intents = ("refund", "delivery", "password", "invoice")
    rows = [f"where is order {n} and my {intents[n % 4]}?,{intents[n % 4]}" for n in range(200)]
    (tmp_path / "tickets.csv").write_text("\n".join(["message,intent", *rows]) + "\n")
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC, indent=2) + "\n")
    return path


def read_schema(name: str) -> dict[str, Any]:
    """Return a schema that the package ships."""
    schema: dict[str, Any] = json.loads(files("ftc").joinpath(name).read_text(encoding="utf-8"))
    return schema


@pytest.fixture(scope="session")
def findings_schema() -> dict[str, Any]:
    """Return the schema of `ftc check --format json`."""
    return read_schema("findings.schema.json")


@pytest.fixture(scope="session")
def plan_schema() -> dict[str, Any]:
    """Return the schema of `ftc plan --format json`."""
    return read_schema("plan.schema.json")


@pytest.fixture(scope="session")
def models_schema() -> dict[str, Any]:
    """Return the schema of `ftc models --format json`."""
    return read_schema("models.schema.json")


@pytest.fixture(scope="session")
def rehearsal_schema() -> dict[str, Any]:
    """Return the schema of `ftc rehearse --format json`."""
    return read_schema("rehearsal.schema.json")
