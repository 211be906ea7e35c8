"""Chained runs: a spec whose model is another bundle, before that one has run and after."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
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
    (bundle / "run" / "done" / "merge.json").write_text("{}", encoding="utf-8")


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


def write_pairs(folder: Path, numbers: Sequence[int]) -> str:
    """Write answers to compare for these rows of the first run's data, in this order."""
    lines = (folder / "tickets.csv").read_text(encoding="utf-8").splitlines()[1:]
    prompts = [lines[number].split(",")[0] for number in numbers]
    rows = [{"prompt": prompt, "chosen": "yes", "rejected": "no"} for prompt in prompts]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "pairs.jsonl").write_text(text, encoding="utf-8")
    return "pairs.jsonl"


def seen_in(outcome: Outcome) -> str:
    """Return the warning about held-out rows that the first run trains on, "" without one."""
    said = [finding.message for finding in outcome.findings if finding.code == "FTC563"]
    return said[0] if said else ""


def test_held_out_rows_that_the_first_run_will_train_on(folder: Path) -> None:
    """They are counted from both data files; prompts in one order are held out by both alike."""
    dpo: Any = {"model": "./first", "objective": "dpo"}
    mixed = [*range(299, -1, -2), *range(0, 300, 2)]

    other = compile_here(folder, "other", data=write_pairs(folder, mixed), **dpo)
    said = seen_in(other)
    write_pairs(folder, range(300))
    by_label = compile_here(folder, "by-label", data="pairs.jsonl", **dpo)
    plain = {"source": "tickets.csv", "splits": {"stratify": False}}
    compile_here(folder, "plain", model="./model", data=plain)
    dpo["model"] = "./plain"
    alike = compile_here(folder, "alike", data="pairs.jsonl", **dpo)
    seed = compile_here(folder, "seed", data="pairs.jsonl", training={"seed": 7}, **dpo)
    same = compile_here(folder, "same", model="./first")

    assert other.plan is not None
    held = (
        other.plan.decisions.splits.test_rows.value
        + other.plan.decisions.splits.validation_rows.value
    )
    assert "300 of 300 prompts are also in the data of the bundle `first`" in said
    assert f"about {round(0.8 * held)} of {held} held-out rows" in said
    found = [bool(seen_in(one)) for one in (by_label, alike, seed, same)]
    assert found == [True, False, True, False]
    assert not seen_in(compile_here(folder, "none", model="./model"))


def test_held_out_rows_that_the_first_run_trained_on(folder: Path) -> None:
    """The rows that its `prepare.py` wrote are what counts; others are new to the model."""
    finish(folder / "first", folder / "model")
    lines = (folder / "tickets.csv").read_text(encoding="utf-8").splitlines()[1:101]
    (folder / "first/run/data").mkdir()
    (folder / "first/run/data/train.jsonl").write_text(
        "".join(json.dumps({"prompt": f"{line.split(',')[0]}\n"}) + "\n" for line in lines)
    )
    dpo: Any = {"model": "./first", "objective": "dpo", "data": write_pairs(folder, range(50, 150))}

    told = seen_in(compile_here(folder, "second", **dpo))
    write_pairs(folder, range(150, 300))

    assert "50 of 100 prompts are in the rows that the bundle `first` trained on" in told
    assert not seen_in(compile_here(folder, "third", **dpo))
    dpo["data"] = write_pairs(folder, range(50, 150))
    assert not seen_in(compile_here(folder, "allowed", **dpo, allow=["FTC563"]))


@pytest.mark.parametrize("has_run", [False, True])
def test_a_bundle_is_known_by_the_folder_of_its_result_too(folder: Path, *, has_run: bool) -> None:
    """`first` and `first/run/merged` lead to the same findings and the same scripts."""
    if has_run:
        finish(folder / "first", folder / "model")
    mixed = write_pairs(folder, [*range(299, -1, -2), *range(0, 300, 2)])
    names = ("./first", "./first/run/merged/")

    found = [
        compile_here(folder, "second", model=name, objective="dpo", data=mixed) for name in names
    ]

    assert codes(found[0]) == codes(found[1])
    chained = ("FTC563",) if has_run else ("FTC562", "FTC563")
    said = [
        {one.code: (one.message, one.help) for one in outcome.findings if one.code in chained}
        for outcome in found
    ]
    assert said[0] == said[1]
    assert set(said[1]) == set(chained)
    assert ("FTC562" in codes(found[1])) is not has_run
    one, other = (replace(facts_of(outcome), id="") for outcome in found)
    assert one == other
    scripts = [{file.name: file.text for file in outcome.files} for outcome in found]
    assert scripts[0]["train.py"] == scripts[1]["train.py"]
    assert json.loads(scripts[1]["spec.json"])["model"] == "../first/run/merged"


def test_a_result_whose_lock_says_nothing_is_named_by_its_bundle(folder: Path) -> None:
    """The sentence names the bundle that has to run, in whichever form the spec names it."""
    (folder / "first" / "ftc.lock.json").write_text("{}", encoding="utf-8")

    outcome = compile_here(folder, "second", model="first/run/merged")

    assert [finding.code for finding in outcome.findings] == ["FTC101"]
    assert "the bundle `first` has not run" in outcome.findings[0].message
