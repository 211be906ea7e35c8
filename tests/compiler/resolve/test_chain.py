"""Chained runs: a spec whose model is another bundle, before that one has run and after."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ftc.compiler.pipeline import Outcome, compile_bundle, write
from ftc.compiler.resolve.facts import ModelFacts
from tests.tiny_models import write_model, write_rows


def compile_here(folder: Path, name: str, **sections: Any) -> Outcome:
    """Compile a spec of this name in the folder, and write its bundle where it is sound."""
    path = folder / f"{name}.json"
    spec = {"name": name, "data": "tickets.csv", "hardware": "cpu", **sections}
    path.write_text(json.dumps(spec), encoding="utf-8")
    outcome = compile_bundle(str(path))
    if not outcome.failed:
        write(outcome)
    return outcome


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a model, a table and the compiled bundle of the first run."""
    write_model(tmp_path / "model")
    write_rows(tmp_path)
    assert not compile_here(tmp_path, "first", model="./model").failed
    return tmp_path


def finish(bundle: Path, model: Path) -> None:
    """Play the end of a run: the merged model's files, and the note that it is done."""
    shutil.copytree(model, bundle / "run" / "merged")
    (bundle / "run" / "done").mkdir()
    (bundle / "run" / "done" / "merged.json").write_text("{}", encoding="utf-8")


def codes(outcome: Outcome) -> set[str]:
    """Return the codes of the findings."""
    return {finding.code for finding in outcome.findings}


def facts_of(outcome: Outcome) -> ModelFacts:
    """Return the model's facts."""
    assert outcome.facts is not None
    assert isinstance(outcome.facts.model, ModelFacts)
    return outcome.facts.model


def test_before_the_first_run_its_lock_says_what_will_come(folder: Path) -> None:
    """Facts come from the lock, lengths are counted with the base's tokenizer, scripts wait."""
    first = facts_of(compile_here(folder, "plain", model="./model"))
    shutil.rmtree(folder / "plain")

    outcome = compile_here(folder, "second", model="./first")

    promised = facts_of(outcome)
    assert (promised.origin, promised.path) == ("bundle", "first/run/merged")
    assert promised.parameters == first.parameters
    assert "FTC562" in codes(outcome)
    assert outcome.plan is not None
    scripts = {file.name: file.text for file in outcome.files}
    assert 'MODEL = "../first/run/merged"' in scripts["train.py"]
    assert json.loads(scripts["spec.json"])["model"] == "../first"
    locked = json.loads((folder / "second" / "ftc.lock.json").read_text(encoding="utf-8"))
    assert locked["facts"]["data"]["lengths"]["estimate"] is False


def test_after_the_first_run_the_result_is_the_model(folder: Path) -> None:
    """The files in run/merged are read, and nothing is left to say."""
    finish(folder / "first", folder / "model")

    outcome = compile_here(folder, "second", model="first/")

    assert facts_of(outcome).origin == "folder"
    assert facts_of(outcome).path == "first/run/merged"
    assert "FTC562" not in codes(outcome)


def test_the_bundle_of_a_chained_spec_compiles_by_itself(folder: Path) -> None:
    """The spec that the second bundle carries names the first one from where it lies."""
    outcome = compile_here(folder, "second", model="./first")

    again = compile_bundle(str(folder / "second" / "spec.json"), stop_after="verify")

    assert not again.failed, again.findings
    told = [{file.name: file.text for file in one.files} for one in (outcome, again)]
    assert told[0]["train.py"] == told[1]["train.py"]
    assert json.loads(told[1]["spec.json"])["model"] == "../first"


def test_a_half_written_result_is_none(folder: Path) -> None:
    """Without the note that merging is done, what lies in run/merged may be a part."""
    shutil.copytree(folder / "model", folder / "first" / "run" / "merged")

    assert facts_of(compile_here(folder, "second", model="./first")).origin == "bundle"


@pytest.mark.parametrize("text", ["{broken", "{}", '{"facts": {"model": {}}}'])
def test_a_lock_that_says_nothing_is_a_finding(folder: Path, text: str) -> None:
    """One sentence, and no exception."""
    (folder / "first" / "ftc.lock.json").write_text(text, encoding="utf-8")

    outcome = compile_here(folder, "second", model="./first")

    assert [finding.code for finding in outcome.findings] == ["FTC101"]
    assert "has not run" in outcome.findings[0].message
