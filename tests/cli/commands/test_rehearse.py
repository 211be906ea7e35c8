"""`ftc rehearse`, up to the start of its processes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource

Call = Callable[..., Any]


def test_a_model_without_its_files(call: Call, spec_file: Path) -> None:
    """A model of the table compiles; to rehearse it its tokenizer must be here."""
    result = call("rehearse", spec_file)
    assert result.code == 3
    assert result.out == ""
    assert result.err.startswith("compile ")
    sentence, helps = result.err.splitlines()[-2:]
    assert sentence.startswith("ftc: a rehearsal needs the config and the tokenizer files of")
    assert "hf download" in helps


@pytest.fixture
def validator(
    rehearsal_schema: dict[str, Any], findings_schema: dict[str, Any]
) -> jsonschema.Draft202012Validator:
    """Return what holds data against the schema of a rehearsal."""
    registry: Registry[Any] = Resource.from_contents(findings_schema) @ Registry()
    return jsonschema.Draft202012Validator(rehearsal_schema, registry=registry)


def test_a_spec_that_does_not_compile(
    call: Call, spec_file: Path, validator: jsonschema.Draft202012Validator
) -> None:
    """The findings are printed, the table has one stage, and the exit code is that of findings."""
    (spec_file.parent / "tickets.csv").unlink()
    result = call("rehearse", spec_file)
    assert result.code == 1
    assert "stopped at compile: the spec does not compile" in result.out
    assert "help: " in result.err
    data = json.loads(call("rehearse", spec_file, "--format", "json").out)
    validator.validate(data)
    assert [stage["name"] for stage in data["stages"]] == ["compile"]
    assert data["failure"]["log"] is None
    assert data["findings"]
    assert not validator.is_valid({**data, "passed": True}), "what failed has not passed"
    assert not validator.is_valid({**data, "stages": [{**data["stages"][0], "status": "done"}]})
