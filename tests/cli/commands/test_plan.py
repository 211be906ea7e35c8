"""`ftc plan`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

Call = Callable[..., Any]
Validate = Callable[[Any], None]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


@pytest.fixture
def validate(plan_schema: dict[str, Any], findings_schema: dict[str, Any]) -> Validate:
    """Return a function that holds data against the plan's schema."""
    registry: Registry[Any] = Resource.from_contents(findings_schema) @ Registry()
    return jsonschema.Draft202012Validator(plan_schema, registry=registry).validate


def test_text(call: Call, spec_file: Path) -> None:
    """The first line is the verdict; each decision stands with its reason."""
    result = call("plan", spec_file)
    assert result.code == 0, result.err
    first, *rest = result.out.splitlines()
    assert first.startswith("triage fits: peak ")
    assert " GiB of " in first
    assert " steps" in first
    assert "Decisions" in rest
    (precision,) = [line for line in rest if line.startswith("  precision ")]
    assert "bf16" in precision
    assert "export and harness not included" in " ".join(result.out.split())


def test_json(call: Call, spec_file: Path, validate: Validate) -> None:
    """Valid by its schema; the batch multiplies out."""
    result = call("plan", spec_file, "--format", "json")
    assert (result.code, result.err) == (0, "")
    data = json.loads(result.out)
    validate(data)
    batch = data["batch"]
    assert batch["micro"] * batch["accumulation"] * batch["world"] == batch["global"]
    assert data["memory"]["per_gpu"]["fits"] is True
    assert data["decisions"]["precision"]["value"] == "bf16"


def test_what_if(call: Call, spec_file: Path) -> None:
    """`--set` plans another machine and leaves the file alone."""
    before = spec_file.read_bytes()
    one = json.loads(call("plan", spec_file, "--format", "json").out)
    two = json.loads(
        call("plan", spec_file, "--format", "json", "--set", "hardware=2x A100-80GB").out
    )
    assert (one["batch"]["world"], two["batch"]["world"]) == (1, 2)
    capacity = [data["memory"]["per_gpu"]["capacity_bytes"] for data in (one, two)]
    assert capacity[0] < capacity[1]
    assert spec_file.read_bytes() == before


def test_a_dotted_path(call: Call, spec_file: Path, validate: Validate) -> None:
    """A key inside a section is set without the rest of the section."""
    arguments = ("--set", "training.epochs=2", "--set", "method.rank=8")
    data = json.loads(call("plan", spec_file, "--format", "json", *arguments).out)
    validate(data)
    assert data["decisions"]["epochs"] | {"because": None} == {
        "value": 2,
        "source": "spec",
        "because": None,
    }
    assert data["decisions"]["lora_rank"]["value"] == 8


def test_what_does_not_fit(call: Call, spec_file: Path, validate: Validate) -> None:
    """Numbers come all the same, the exit code is 1, and the finding goes to stderr."""
    big = ("--set", "model=Qwen/Qwen2.5-72B-Instruct", "--set", "method=full")
    result = call("plan", spec_file, *big)
    assert result.code == 1
    assert result.out.startswith("triage does not fit: peak ")
    assert "about" not in result.out.splitlines()[0]
    assert "\n  time  " not in result.out
    assert "error[FTC4" in result.err
    data = json.loads(call("plan", spec_file, "--format", "json", *big).out)
    validate(data)
    assert data["memory"]["per_gpu"]["fits"] is False


def test_the_time_says_what_it_leaves_out(call: Call) -> None:
    """Answers are planned as fast as transformers generates them, with vLLM too."""
    example = Path(__file__).parents[3] / "examples" / "grpo-vllm" / "spec.json"
    faster = "the gain in speed by vLLM is not planned"
    assert faster in call("plan", example).out
    assert faster not in call("plan", example, "--set", "objective.vllm=off").out


def test_the_time_says_that_compiling_is_left_out(call: Call, spec_file: Path) -> None:
    """What `torch.compile` takes is not planned, and both the time and its reason say so."""
    text = " ".join(call("plan", spec_file, "--set", "training.compile=true").out.split())
    assert "export, harness and compiling the model not included" in text
    assert "the minutes of compiling are not in the planned time" in text


def test_a_price_gives_a_cost(call: Call, spec_file: Path, validate: Validate) -> None:
    """In the first line, in the table, as data, in the picture, and beside what would fit."""
    price = ("--set", "hardware.price_per_hour=2.5")
    data = json.loads(call("plan", spec_file, "--format", "json", *price).out)
    validate(data)
    hours = data["time"]["total_seconds"] / 3600
    assert data["cost"]["total"] == pytest.approx(2.5 * hours, abs=0.006)
    assert data["cost"]["low"] <= data["cost"]["total"] <= data["cost"]["high"]
    shown = call("plan", spec_file, *price).out
    assert f", cost {data['cost']['total']:.2f}" in shown.splitlines()[0]
    assert "at the price in `hardware`" in shown
    assert (
        f", cost {data['cost']['total']:.2f}"
        in call("plan", spec_file, "--format", "svg", *price).out
    )
    without = json.loads(call("plan", spec_file, "--format", "json").out)
    assert without["cost"] is None
    small = (
        *price,
        "--set",
        f"model={LLAMA}",
        "--set",
        "hardware.gpu=RTX 4090",
        "--set",
        "method=full",
    )
    offers = json.loads(call("plan", spec_file, "--format", "json", *small).out)["alternatives"]
    assert offers
    assert all(offer["cost"] is not None for offer in offers)


def test_no_plan_without_facts(call: Call, spec_file: Path, validate: Validate) -> None:
    """A data file that is not there leaves no plan, and JSON that is still valid."""
    (spec_file.parent / "tickets.csv").unlink()
    result = call("plan", spec_file, "--format", "json")
    data = json.loads(result.out)
    validate(data)
    assert result.code == 1
    assert "memory" not in data
    assert data["findings"]


def test_the_schema_can_fail(call: Call, spec_file: Path, validate: Validate) -> None:
    """Numbers without decisions are not a plan."""
    data = json.loads(call("plan", spec_file, "--format", "json").out)
    del data["decisions"]
    with pytest.raises(jsonschema.ValidationError):
        validate(data)


def test_trace(call: Call, spec_file: Path) -> None:
    """The plan's backbone stands beside a trace of the real class, made in another process."""
    pytest.importorskip("transformers")
    result = call("plan", spec_file, "--trace")
    assert result.code == 0, result.err
    table = result.out.partition("Bytes that a layer keeps per token, traced and as planned")[2]
    rows = [line.split() for line in table.splitlines() if line.startswith("Qwen2ForCausalLM")]
    assert [row[1] for row in rows] == ["full", "frozen", "mixed"]
    assert all(abs(float(row[4].rstrip("%"))) < 2 for row in rows[:2])


def test_trace_without_torch(call: Call, spec_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said in one sentence, after the plan itself."""
    monkeypatch.setattr("ftc.report.plan_trace.find_spec", lambda _: None)
    result = call("plan", spec_file, "--trace")
    assert result.code == 3
    assert "triage fits" in result.out
    assert "error: --trace needs torch and transformers in this environment" in result.err


def test_a_pilot_scales_the_plan(call: Call, spec_file: Path, validate: Validate) -> None:
    """By the factors that `decisions.calibration` has; a file that is no pilot's is an error."""
    options = ("--format", "json", "--set", "training.micro_batch=1")
    before = json.loads(call("plan", spec_file, *options).out)
    memory = before["memory"]["per_gpu"]
    planned = {
        "memory_bytes": memory["reserved_bytes"],
        "margin_bytes": memory["reserved_bytes"] - memory["allocated_bytes"],
        "step_seconds": 2.0,
        "calibration": {"memory": 1.0, "time": 1.0},
    }
    found = {"memory_bytes": round(0.8 * memory["allocated_bytes"]), "step_seconds": 3.0}
    machine = {"kind": "gpu", "device": "NVIDIA GeForce RTX 4090", "count": 1, "nodes": 1}
    pilot = {"version": 1, "machine": machine, "planned": planned, "measured": found}
    path = spec_file.parent / "pilot.json"
    path.write_text(json.dumps(pilot))

    result = call("plan", spec_file, *options, "--calibrate", path)
    assert result.code == 0, result.err
    after = json.loads(result.out)
    validate(after)
    assert after["decisions"]["calibration"]["value"] == {"memory": 0.8, "time": 1.5}
    assert after["memory"]["per_gpu"]["allocated_bytes"] == pytest.approx(
        0.8 * memory["allocated_bytes"]
    )
    assert after["time"]["training_seconds"] > 1.4 * before["time"]["training_seconds"]

    path.write_text(json.dumps({**pilot, "machine": {**machine, "count": 8}}))
    refused = call("plan", spec_file, "--calibrate", path)
    assert (refused.code, "FTC309" in refused.err, refused.out) == (1, True, ""), refused.err


def test_a_value_that_set_gives_is_not_shown_in_the_file(call: Call, spec_file: Path) -> None:
    """The finding names `--set`, and has no place in the text."""
    said = call("plan", spec_file, "--set", "hardware=1x T44")
    assert "--set hardware: error[FTC300]" in said.err
    machine = call("plan", spec_file, "--set", "hardware=1x T44", "--format", "json").out
    found = next(each for each in json.loads(machine)["findings"] if each["code"] == "FTC300")
    assert found["line"] is None
